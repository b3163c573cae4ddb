// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_ONCE_HPP
#define CONCH_ONCE_HPP

#include <conch/client.hpp>
#include <conch/hold.hpp>
#include <conch/impl/check_handler.hpp>
#include <conch/impl/initiate_note.hpp>
#include <conch/impl/locked_section.hpp>
#include <conch/mutex.hpp>
#include <conch/options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace conch {

/// When a job is to run: at `at`, and each `period` before and after that. Trivially destructible.
struct once_schedule {
    /// From one second to a year, in whole milliseconds; less than those is cut off.
    duration period{};
    /// When the first period begins, since 1970, 0:00 UTC, from which all are counted; at least
    /// zero, and less than the period. Of a period of a day, or that divides one, this is a time of
    /// day in UTC (a zone that shifts its clocks would have days without such a time, and with
    /// two). Weeks begin on Thursdays. Other periods begin at another time of each day. Default:
    /// zero.
    duration at{};
};

/// By the clock of the server: milliseconds since 1970.
using planned_time = std::chrono::sys_time<std::chrono::milliseconds>;

/// The run that a host came for.
struct once_due {
    /// When it was planned: the latest time of the schedule that was not in the future when the
    /// host came.
    planned_time planned{};
    /// It is done, or one that was planned later is.
    bool done = false;
};

namespace impl {

template <typename Body>
class once_body;

/// What `once::async_run` tells of a body that returns T.
template <typename T>
struct once_value {
    using type = std::optional<T>;
};
template <>
struct once_value<void> {
    using type = bool;
};

struct due_result {
    using operation_type = note_operation;
    static std::tuple<error_code, once_due> take(note_operation& op);
};
struct noted_result {
    using operation_type = note_operation;
    static std::tuple<error_code> take(note_operation& op) { return {op.ec}; }
};

}  // namespace impl

/// A job that runs once per planned time, on whichever of its hosts comes first: each of them
/// starts it then, by cron or a timer of its own. On the server: a `mutex` of the job's name, with
/// fencing tokens, and beside it a note of the latest planned time that is done, which stays for
/// four periods: the key `conch_done:{NAME}`.
///
/// A host comes for the latest planned time that the clock of the server had reached when the host
/// came. That clock is read with the note, under the lock, and the time that the host has waited is
/// subtracted: hosts whose clocks differ don't run a job twice, and a host that waits beyond the
/// next planned time finds its own one done. But a host that comes before a planned time comes for
/// the one before, and finds that done: let the hosts come later than `at`, by more than the clocks
/// of hosts and servers differ (a job of each day at 2:00 that they start at 2:10, say). Planned
/// times at which nobody came are not made up for. All hosts must use the same schedule: after a
/// change, the job may be run once more, or miss one time.
///
/// A run that doesn't come to its end is not done: the next host, or one that waits for the lock
/// then, runs the job again. So it is where the runner crashes (as soon as its lease has ended),
/// loses the lock, is cancelled, or throws. Then a job may have been done in part. It may have been
/// done in whole, and be run again, where the runner crashed before the server had the note, where
/// the server refused that for long, or where it was lost: in a failover (conch does not wait for
/// replicas to have it), in a restart without data, or as the server evicted it. A runner that is
/// paused for longer than its lease may go on beside the next one. What must not be done twice even
/// so needs `hold::fence()`, or what it changes must bear that.
///
/// A planned time is also passed over once a later one is done, such as where its runner crashed
/// and the lease ended after the next planned time.
///
/// A note of more than one period after the server's present time is none: it was written while
/// that clock was ahead, and the next run replaces it. But planned times that were noted while the
/// clock was ahead by up to a period stay done: the job isn't run again when they come. A failover
/// changes the clock: keep those of the servers together.
///
/// A cheap, copyable handle. Thread safety: safe from any thread, one object too.
class once {
public:
    /// `name`: the Redis key of the lock, 1 byte to 64 KiB. `options`: fenced in any case. Sends
    /// nothing. Throws `std::invalid_argument` for a bad name, schedule or option.
    once(const client& redis, std::string_view name, const once_schedule& schedule,
         const mutex_options& options = {});

    /// Acquires the lock, runs `body` unless the planned time that this call came for is done,
    /// notes that it is, and releases the lock. Who comes while another runs it waits for its end,
    /// and then finds it done; or runs it, if the other didn't come to its end. Let `.wait` be less
    /// than the period, so that not more and more calls wait for a run that takes long.
    ///
    /// `options`: of the lock, as of `with_lock`; with `.wait = 0s` it isn't waited for. `body`: as
    /// of `with_lock`, but it must leave the hold where it is. It is called on a strand of the
    /// handler's associated executor; of the client's if there is none, or for a future. If it
    /// returns, the run is done, unless the hold was lost or the body was told to end meanwhile: by
    /// a cancellation, or as the hold was going to be lost. It counts as not done even if the body
    /// took no notice of that.
    ///
    /// Completion signature, where T is what the body returns: `void(std::exception_ptr,
    /// std::optional<T>)`, `void(std::exception_ptr, bool)` if that is void; empty, or false: it
    /// was done before, and the body wasn't called. It completes once the note and the release were
    /// confirmed; where the server does not confirm the note, as the lease ends, or a lease later
    /// if the server renews that; where not the release, after `config::operation_timeout`, or as
    /// the lease ends. Errors: the body's exception, or a `system_error`: `errc::not_noted`: the
    /// body has come to its end, but that can't be noted, and the job may be run again (what() says
    /// why, with the words of the server); `errc::lock_lost`, `errc::client_closed`: the body may
    /// have run, and it may count as not done; those of `mutex::async_lock` (`errc::timed_out`:
    /// another runs it still) and of `async_due`: the body wasn't called. Executor: the handler's
    /// associated executor, by default the client's; the handler never runs inside this call.
    /// Cancellation (terminal, partial, total): while waiting for the lock, as `mutex::async_lock`;
    /// later it goes to the body, whose end and the release are awaited, and the run is not done.
    /// Too late for that, the note may be there though the caller gets `operation_aborted`.
    ///
    /// Default token: `use_awaitable`; Boost 1.81 can't await a deferred operation that completes
    /// so. GCC before 12.3: as of `with_lock`, a lambda that owns something needs a name.
    template <typename Body, typename Token = boost::asio::use_awaitable_t<>>
        requires(!std::convertible_to<Body, const lock_options&>)
    [[nodiscard]] auto async_run(const lock_options& options, Body&& body,
                                 Token&& token = Token{}) const {
        static_assert(impl::destroyed_once<Body>,
                      "conch::once: GCC before 12.3 destroys this lambda twice. Give it a name "
                      "first and pass that, without std::move");
        using body_type = impl::once_body<std::decay_t<Body>>;
        using value = typename body_type::value;
        return impl::check_and_initiate<void(std::exception_ptr, value), Token>(
            impl::initiate_section<value>{lock_, impl::section_terms{options, nullptr},
                                          impl::executor_of(lock_.core_),
                                          std::make_unique<impl::typed_body<value, body_type>>(
                                              body_type{*this, std::forward<Body>(body)})},
            token);
    }

    /// The same with the default options.
    template <typename Body, typename Token = boost::asio::use_awaitable_t<>>
        requires(!std::convertible_to<Body, const lock_options&>)
    [[nodiscard]] auto async_run(Body&& body, Token&& token = Token{}) const {
        return async_run(lock_options{}, std::forward<Body>(body), std::forward<Token>(token));
    }

    /// Asks, under the lock, which run its holder came for and whether that is done: for those to
    /// whom a body is of no use. `h`: a hold of this name, of a `mutex`, acquired with the same
    /// client. `came`: when its holder came, before it began to acquire the lock.
    ///
    /// Completion signature: `void(error_code, once_due)`, after `config::operation_timeout` at the
    /// latest, and no later than at `hold::valid_until()`. Executor: the handler's associated
    /// executor, by default the client's. Errors: `errc::not_owner` (empty, another's, or of
    /// another kind of lock), `errc::already_released`, the reasons of a loss,
    /// `errc::client_closed`, `errc::overloaded`; `errc::not_connected`, or
    /// `errc::server_unavailable` (such as in a cluster, while the hash slot of the name moves),
    /// after `config::operation_timeout`; `errc::wrong_type` and other errors of the server.
    /// Cancellation (terminal, partial, total): `operation_aborted`.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_due(const hold& h, time_point came, Token&& token = Token{}) const {
        impl::once_note question = note_;
        question.came = came;
        return impl::async_note<void(error_code, once_due), impl::due_result>(
            core_of(h), h.view_, lock_.spec_, question, std::forward<Token>(token));
    }

    /// Notes that the run that was planned then is done; a note of a later one stays. The server
    /// does so only while this hold has the lock. May be repeated.
    ///
    /// `planned`: after 1970, 0:00 UTC, and not more than a period after the server's present time.
    ///
    /// Completion signature: `void(error_code)`. Errors: `errc::invalid_planned_time`: nothing was
    /// noted, nor sent, but where the server tells that it is too late a time;
    /// `errc::out_of_memory`, `errc::server_unavailable`, `errc::not_connected`, after the length
    /// of a lease: so long it is tried, if the hold stays good, however long the server is away.
    /// The first of a hold that is on its way is never `errc::overloaded`. The rest as of
    /// `async_due`. After an error of a loss or of a time that is over, or a cancellation, the note
    /// may be there.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_set_done(const hold& h, planned_time planned,
                                      Token&& token = Token{}) const {
        impl::once_note done = note_;
        done.done_ms = planned.time_since_epoch().count();
        return impl::async_note<void(error_code), impl::noted_result>(
            core_of(h), h.view_, lock_.spec_, done, std::forward<Token>(token));
    }

    /// The name that it was made with; lives as long as this object or a copy of it.
    std::string_view name() const noexcept { return lock_.name(); }
    /// As `mutex::label`.
    std::string label() const { return lock_.label(); }

private:
    /// None if the hold is another client's.
    impl::core_ptr core_of(const hold& h) const {
        return h.core_ == lock_.core_ ? h.core_ : nullptr;
    }

    /// The body has run, but the note failed so: throws what `async_run` tells of that.
    [[noreturn]] void fail(error_code of_note) const;

    mutex lock_;
    impl::once_note note_;

    template <typename Body>
    friend class impl::once_body;
};

namespace impl {

/// Calls the body if it is due, and notes that it is done.
template <typename Body>
class once_body : public knows_section {
public:
    using result = section_result<Body>;
    using value = typename once_value<result>::type;

    template <typename B>
    once_body(const once& job, B&& body) : job_{job}, body_{std::forward<B>(body)} {}

    boost::asio::awaitable<value> operator()(hold& h, section_guard& section) {
        const once_due due =
            co_await job_.async_due(h, section.began_at(), boost::asio::use_awaitable);
        value ran{};
        if (due.done) {
            co_return ran;
        }
        if constexpr (std::is_void_v<result>) {
            co_await start_section(body_, h);
            ran = true;
        } else {
            result made = co_await start_section(body_, h);
            ran = std::move(made);
        }
        // The body may have come to its end anywhere.
        const boost::asio::any_io_executor strand = co_await boost::asio::this_coro::executor;
        co_await boost::asio::post(strand, boost::asio::use_awaitable);
        if (section.end_body()) {  // it may have come to no more than this end
            throw system_error{boost::asio::error::operation_aborted};
        }
        const auto [ec] = co_await job_.async_set_done(
            h, due.planned, boost::asio::as_tuple(boost::asio::use_awaitable));
        if (ec) {
            job_.fail(ec);
        }
        co_return ran;
    }

private:
    once job_;
    Body body_;
};

}  // namespace impl

}  // namespace conch

#endif
