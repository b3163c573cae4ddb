// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_WITH_LOCK_HPP
#define CONCH_WITH_LOCK_HPP

#include <conch/impl/locked_section.hpp>
#include <conch/mutex.hpp>
#include <conch/options.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace conch {

/// Acquires the lock, runs `body` and releases the lock, whatever way the body ends: by return, by
/// an exception, or cancelled.
///
/// `body`: called as `body(hold&)` or `body()`, returns an `asio::awaitable<T>` whose T is void, or
/// default constructible and move assignable. It is moved, or copied if it has a name, and lives
/// until its coroutine has ended; `std::ref(body)` keeps it where it is. It runs on a strand of the
/// caller's executor. A hold that it moves out of its argument is its own to release.
/// `options.owner` must outlive the body.
///
/// Returns an `asio::awaitable<T>` with the body's result, once the release was confirmed or
/// `hold::valid_until()` is reached. Errors, as `system_error`: those of `mutex::async_lock`;
/// `errc::lock_lost` if the hold was lost, or was going to be lost in
/// `lock_options::stop_before`: the body is then cancelled (terminal) through its slot, and
/// awaited; `errc::client_closed` if the client shuts down and the body still runs `stop_before`
/// ahead of the end of `shutdown_options::drain` (a tenth of the drain at most), likewise. The
/// body's own exception wins over both, unless it is the `operation_aborted` of that cancellation.
/// `what()` names the lock, its server and, if it was lost, the cause.
///
/// Cancellation (terminal, and what else the awaiting coroutine lets through): while waiting for
/// the lock, as `mutex::async_lock`; later it goes to the body, and the release is awaited
/// nevertheless.
///
/// GCC before 12.3 destroys a lambda with captures twice when it is written into an expression with
/// `co_await`: there a body must be trivially destructible (no captures, or references and plain
/// values only) or be passed by its name. Thread safety: safe from any thread.
template <typename Body>
auto with_lock(const mutex& m, const lock_options& options, Body&& body) {
    static_assert(impl::destroyed_once<Body>,
                  "conch::with_lock: GCC before 12.3 destroys this lambda twice. Give it a name "
                  "first and pass that, without std::move: auto body = [...](conch::hold&) {...}; "
                  "co_await with_lock(m, options, body); or std::ref(body) if it can't be copied");
    using result = impl::section_result<std::decay_t<Body>>;
    return impl::run_locked_section<result>(
        m, impl::section_guard::called_here(m, {options, nullptr, false}),
        std::make_unique<impl::typed_body<result, std::decay_t<Body>>>(std::forward<Body>(body)));
}

/// The same with the default options.
template <typename Body>
auto with_lock(const mutex& m, Body&& body) {
    return with_lock(m, lock_options{}, std::forward<Body>(body));
}

}  // namespace conch

#endif
