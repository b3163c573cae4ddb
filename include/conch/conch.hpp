// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_CONCH_HPP
#define CONCH_CONCH_HPP

#include <conch/blocking.hpp>
#include <conch/client.hpp>
#include <conch/clock.hpp>
#include <conch/config.hpp>
#include <conch/counting_semaphore.hpp>
#include <conch/error.hpp>
#include <conch/fair_mutex.hpp>
#include <conch/guarded.hpp>
#include <conch/hold.hpp>
#include <conch/inspector.hpp>
#include <conch/latch.hpp>
#include <conch/leader.hpp>
#include <conch/lock_status.hpp>
#include <conch/lost_callback.hpp>
#include <conch/metrics.hpp>
#include <conch/multi_lock.hpp>
#include <conch/mutex.hpp>
#include <conch/observer.hpp>
#include <conch/once.hpp>
#include <conch/options.hpp>
#include <conch/owner.hpp>
#include <conch/printable.hpp>
#include <conch/quorum_mutex.hpp>
#include <conch/rate.hpp>
#include <conch/rate_limited.hpp>
#include <conch/rate_limiter.hpp>
#include <conch/semaphore.hpp>
#include <conch/server_reply.hpp>
#include <conch/shared_mutex.hpp>
#include <conch/stats.hpp>
#include <conch/tls.hpp>
#include <conch/token_mutex.hpp>
#include <conch/with_lock.hpp>

/// Distributed locks for asynchronous programs, on Boost.Asio and Redis.
namespace conch {}

#endif
