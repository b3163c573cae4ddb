// SPDX-License-Identifier: BSL-1.0
// What most tests include, read by the compiler once. Sanitized and quick builds use it; a build
// without it finds the file that forgets an include.
#ifndef CONCH_TEST_SUPPORT_PRECOMPILED_HPP
#define CONCH_TEST_SUPPORT_PRECOMPILED_HPP

#include <conch/conch.hpp>

#include <gtest/gtest.h>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#endif
