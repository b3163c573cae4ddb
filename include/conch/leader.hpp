// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_LEADER_HPP
#define CONCH_LEADER_HPP

#include <conch/client.hpp>
#include <conch/impl/check_handler.hpp>
#include <conch/impl/initiate_watch.hpp>
#include <conch/impl/locked_section.hpp>
#include <conch/lock_status.hpp>
#include <conch/mutex.hpp>
#include <conch/options.hpp>

#include <boost/asio/deferred.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace conch {

/// How a candidate campaigns and leads. Trivially destructible.
struct lead_options {
    /// How long a campaign takes at most, as `lock_options::wait`. Default: `forever`.
    duration wait = forever;
    /// As `lock_options::lease`; it is renewed. So long at most does it take until another leads
    /// where a leader crashes, and a poll interval more. Default: `config::default_lease`.
    std::optional<duration> lease{};
    /// A term: the body is then told as before a loss (`errc::max_hold_reached`), and the next in
    /// line leads. As `lock_options::max_hold`. Default: `forever`.
    duration max_hold = forever;
    /// The leader has to report progress so often, by `hold::progress()` of what its body is given;
    /// a stuck one loses the lead. As `lock_options::progress_within`. Default: zero, it need not.
    duration progress_within{};
    /// The body is cancelled so long before the lease ends, as `lock_options::stop_before`.
    std::optional<duration> stop_before{};
    /// Campaign again, 100 ms after a loss of the lead or a campaign that ended because the server
    /// was away, until the body ends without having been told, or the caller cancels. The body then
    /// is called several times, never twice at a time. Default: off, such an end completes the
    /// operation.
    bool again = false;
};

/// An election: of all candidates of one name, in any process, one leads at a time; the others
/// stand in line. On the server it is the lock of a `fair_mutex` with fencing tokens.
///
/// That at most one leads holds as far as a lease does. A leader that is paused, by the system or
/// by its own loop, can't be told: what it changes elsewhere must be protected by `hold::fence()`,
/// which grows with each leader. After a failover two may lead until the first has asked the new
/// master, which it does at once when it is connected, or until its lease ends.
///
/// A cheap, copyable handle. Thread safety: safe from any thread, one object too.
class leader {
public:
    /// `name`: the Redis key, 1 byte to 64 KiB. `options`: fenced in any case. Sends nothing.
    /// Throws `std::invalid_argument` for a bad name or option.
    leader(const client& redis, std::string_view name, const mutex_options& options = {});

    /// Campaigns, runs `body` while leading, and steps down when the body has ended, in whatever
    /// way: with that the next candidate leads, by the same script, and is told by a message.
    ///
    /// `body`: called as `body(hold&)` or `body()`, returns an `asio::awaitable<void>`. Cancelled
    /// (terminal) through its slot when the lead is lost, or is going to be lost in `stop_before`,
    /// or the client shuts down, as the body of `with_lock`; it may take until
    /// `hold::valid_until()` to end its work, and it must be ended by then. It is moved, or copied
    /// if it has a name, and is called on a strand of the handler's associated executor; of the
    /// client's if there is none, or for a future.
    ///
    /// Completion signature: `void(std::exception_ptr)`, once the release was confirmed or
    /// `hold::valid_until()` is reached; the body's exception, or a `system_error`: those of
    /// `mutex::async_lock` (`errc::timed_out`: others lead); `errc::lock_lost` if the lead was
    /// lost, with the cause in `what()`; `errc::client_closed`. Executor: the handler's associated
    /// executor, by default the client's; the handler never runs inside this call.
    /// Cancellation (terminal, partial, total): leaves the line at once (`operation_aborted`);
    /// while leading it goes to the body, whose end and the release are awaited.
    ///
    /// GCC before 12.3: as of `with_lock`, a lambda that owns something needs a name.
    template <typename Body, typename Token = boost::asio::deferred_t>
        requires(!std::convertible_to<Body, const lead_options&>)
    [[nodiscard]] auto async_lead(const lead_options& options, Body&& body,
                                  Token&& token = Token{}) const {
        static_assert(impl::destroyed_once<Body>,
                      "conch::leader: GCC before 12.3 destroys this lambda twice. Give it a name "
                      "first and pass that, without std::move");
        static_assert(std::is_void_v<impl::section_result<std::decay_t<Body>>>,
                      "conch::leader: the body must return boost::asio::awaitable<void>");
        return impl::check_and_initiate<void(std::exception_ptr), Token>(
            impl::initiate_section<void>{
                lock_, terms_of(options), impl::executor_of(lock_.core_),
                std::make_unique<impl::typed_body<void, std::decay_t<Body>>>(
                    std::forward<Body>(body))},
            token);
    }

    /// The same with the default options.
    template <typename Body, typename Token = boost::asio::deferred_t>
        requires(!std::convertible_to<Body, const lead_options&>)
    [[nodiscard]] auto async_lead(Body&& body, Token&& token = Token{}) const {
        return async_lead(lead_options{}, std::forward<Body>(body), std::forward<Token>(token));
    }

    /// Asks who leads: `lock_status::holder`, one word for each time that somebody leads, and its
    /// `fence`; with `status_options::clients` also its host, process and service, and how many
    /// stand in line (`waiting_clients`). Nobody leads: not `locked`.
    ///
    /// Completion signature, executor, errors, cancellation: as `mutex::async_status`.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_leader(const status_options& options, Token&& token = Token{}) const {
        return lock_.async_status(options, std::forward<Token>(token));
    }

    /// The same with the default options.
    template <typename Token = boost::asio::deferred_t>
        requires(!std::convertible_to<Token, const status_options&>)
    [[nodiscard]] auto async_leader(Token&& token = Token{}) const {
        return lock_.async_status(std::forward<Token>(token));
    }

    /// Completes when another leads than `known` says, or nobody does any more: at once, if that is
    /// so already. Watching is no campaign, and needs none. To hear of all that can be heard of,
    /// call it again with what it gave; who leads for less than a poll interval may be missed.
    ///
    /// It is told by a message when a leader steps down and when one begins; a crash is found
    /// within `config::max_poll_interval` after the lease's end, which is also how often the server
    /// is asked. It survives reconnects and failovers.
    ///
    /// `known`: what this or `async_leader` gave last; its `holder` alone counts. `options`: as of
    /// `async_leader`. Completion signature: `void(error_code,
    /// lock_status)`. Executor: the handler's associated executor, by default the client's. Errors:
    /// `errc::not_connected`, where no server answered for `config::operation_timeout`; who leads
    /// is unknown then, and it may be called again with the same. `errc::client_closed`,
    /// `errc::overloaded`, the server's. Cancellation (terminal, partial, total):
    /// `operation_aborted`.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_watch_leader(const lock_status& known, const status_options& options,
                                          Token&& token = Token{}) const {
        return impl::async_watch(lock_.core_, lock_.spec_, known, options,
                                 std::forward<Token>(token));
    }

    /// The same with the default options.
    template <typename Token = boost::asio::deferred_t>
        requires(!std::convertible_to<Token, const status_options&>)
    [[nodiscard]] auto async_watch_leader(const lock_status& known, Token&& token = Token{}) const {
        return async_watch_leader(known, status_options{}, std::forward<Token>(token));
    }

    /// The same, where nobody is known to lead. No default argument: GCC 12 destroys an aggregate
    /// twice in an expression with co_await.
    template <typename Token = boost::asio::deferred_t>
        requires(!std::convertible_to<Token, const lock_status&>)
    [[nodiscard]] auto async_watch_leader(Token&& token = Token{}) const {
        const lock_status nobody{};
        return async_watch_leader(nobody, status_options{}, std::forward<Token>(token));
    }

    /// The lock that is the lead: whoever holds it leads.
    const mutex& lock() const noexcept { return lock_; }
    /// The name that it was made with; lives as long as this leader or a copy of it.
    std::string_view name() const noexcept { return lock_.name(); }
    /// As `mutex::label`.
    std::string label() const { return lock_.label(); }

private:
    static impl::section_terms terms_of(const lead_options& o) {
        return {.lock = {.wait = o.wait,
                         .lease = o.lease,
                         .renew = true,
                         .max_hold = o.max_hold,
                         .progress_within = o.progress_within,
                         .stop_before = o.stop_before},
                .again = o.again};
    }

    mutex lock_;
};

}  // namespace conch

#endif
