// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_BUILT_WITH_HPP
#define CONCH_IMPL_BUILT_WITH_HPP

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/version.hpp>

#include <string>

// The compiled library and the program that uses it both contain Asio, and meet in one io_context.
// So what decides the layout of Asio's classes, or how they use each other, must be the same for
// both. It is part of the type of the functions that make a client and start an operation: a
// difference is a link error that names both. Macros without such an effect
// (BOOST_ASIO_NO_DEPRECATED, BOOST_ASIO_NO_TS_EXECUTORS, BOOST_ASIO_SEPARATE_COMPILATION) and the
// language standard may differ.
namespace conch::impl {

template <int MajorMinor>
struct boost_version;
template <int Blocks>
struct recycling;

/// Every setting that isn't Asio's default, Boost's version and the standard library's string.
template <typename... Settings>
struct built_with {};

using this_build = built_with<
#ifndef BOOST_ASIO_HAS_THREADS
    struct without_threads,
#endif
#ifdef BOOST_ASIO_ENABLE_HANDLER_TRACKING
    struct with_handler_tracking,
#endif
#ifdef BOOST_ASIO_ENABLE_BUFFER_DEBUGGING
    struct with_buffer_debugging,
#endif
#ifdef BOOST_ASIO_USE_TS_EXECUTOR_AS_DEFAULT
    struct with_ts_executor,
#endif
#ifdef BOOST_ASIO_HAS_IO_URING_AS_DEFAULT
    struct with_io_uring,
#endif
#ifndef BOOST_ASIO_HAS_EPOLL
    struct without_epoll,
#endif
#ifndef BOOST_ASIO_HAS_TIMERFD
    struct without_timerfd,
#endif
#ifdef BOOST_ASIO_NO_TYPEID
    struct without_typeid,
#endif
#ifdef BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING
    struct without_recycling,
#endif
#if BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE != 2
    recycling<BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE>,
#endif
    boost_version<BOOST_VERSION / 100>, std::string>;

}  // namespace conch::impl

#endif
