// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_CLIENT_HPP
#define CONCH_CLIENT_HPP

#include <conch/config.hpp>
#include <conch/impl/initiate.hpp>
#include <conch/options.hpp>
#include <conch/stats.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/execution_context.hpp>

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

namespace conch {

/// One connection to one Redis server (one more for locks with `mutex_options::replicas`, and one
/// to a sentinel, where sentinels say which server it is; of a cluster, to each master in use, and
/// one to the node that is asked who has which slots), shared by any number of mutexes and holds:
/// make one for a program, not one for a call. All I/O runs on the given executor.
///
/// Owns no thread, but each host whose addresses are searched for has a detached one until the
/// search is over, which nothing can stop: it touches neither the client nor the executor, and the
/// end of neither the client nor the program waits for it.
///
/// Connects on first use, and again whenever the connection is lost. Thread safety: safe from any
/// thread, on an `io_context` with any number of threads. Whatever is pending when the execution
/// context is destroyed is dropped, its handlers not called; client, mutexes and holds may outlive
/// it, and other threads may use them meanwhile, but they do nothing then.
///
/// Fork: client, connection and holds stay the parent's, which calls `notify_fork(fork_prepare)`
/// and `notify_fork(fork_parent)` of the `io_context` around `fork()`, while no other thread
/// uses it. A child must not run the inherited context before `notify_fork(fork_child)`, nor use an
/// inherited client: every new operation of it, of its mutexes and of its holds ends in
/// `errc::forked` there, what was pending never ends, and destructors release nothing. A client
/// made in the child is a client like any other.
///
/// A cancellation signal may be emitted on any thread between the start of an operation and the
/// next use or the end of its slot; one that comes after the operation's end does nothing.
class client {
public:
    /// Throws `std::invalid_argument` for a setting out of its range. Sends nothing.
    explicit client(boost::asio::any_io_executor executor, config settings = {})
        : client{std::move(executor), std::move(settings), impl::this_build{}} {}

    /// The same, on the executor of an execution context such as `io_context`.
    template <typename Context>
        requires std::derived_from<Context, boost::asio::execution_context>
    explicit client(Context& context, config settings = {})
        : client{boost::asio::any_io_executor{context.get_executor()}, std::move(settings)} {}

    /// Takes over the connection and all that goes on over it; the other may only be assigned to or
    /// destroyed.
    client(client&&) noexcept = default;
    /// Shuts this client down in the background, as the destructor does, and takes over the other.
    client& operator=(client&& other) noexcept;
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    /// Shuts down in the background: pending operations fail with `errc::client_closed`, holds are
    /// released, the connection is closed, and `io_context::run()` may return.
    ~client();

    /// Fails every pending operation with `errc::client_closed` (in a drain, what concerns a hold
    /// goes on, but for nested acquisitions), completes the `async_wait_lost` of
    /// every hold with it (the form with a time: that much before the end), waits up to
    /// `options.drain` for their owners to release them, releases the rest, closes the connection,
    /// then completes; `config::response_timeout` after the drain at the latest.
    /// `io_context::run()` may return then.
    ///
    /// Called again, it may only shorten the drain; the destructor leaves it as it is. Completion
    /// signature: `void(error_code)`. Executor: the handler's associated executor, by default the
    /// client's. Errors: none. Cancellation (terminal, partial, total): the caller gets
    /// `operation_aborted`; the shutdown goes on.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_shutdown(const shutdown_options& options = {},
                                      Token&& token = Token{}) {
        return impl::async_simple(impl::request::shutdown, core_, nullptr, options.drain,
                                  std::forward<Token>(token));
    }

    /// The same, without a drain.
    template <typename Token>
        requires(!std::convertible_to<Token, const shutdown_options&>)
    [[nodiscard]] auto async_shutdown(Token&& token) {
        return async_shutdown(shutdown_options{}, std::forward<Token>(token));
    }

    /// The counters as of the last turn of the event loop.
    conch::stats stats() const;

    /// The words of the server's last error, or of the last failed attempt to connect; empty if
    /// there was none. They may be of long ago: a later success does not clear them. Never holds a
    /// password, nor anything that a terminal obeys (`printable`).
    std::string last_server_error() const;

    /// The cycle for which this client last ended an acquire as `errc::deadlock`: "\"a\" is held
    /// by conch:bills:web-2:4711:5c1e0a8e, which waits for \"b\", held by ..."; the last one named
    /// is this client. Empty: there was none. Nothing in it is anything that a terminal obeys.
    std::string last_deadlock() const;

    /// The first part of every owner field that this client writes.
    const std::string& id() const noexcept;

    /// The executor that it was made with.
    boost::asio::any_io_executor get_executor() const noexcept;

private:
    client(boost::asio::any_io_executor executor, config settings, impl::this_build);

    friend class mutex;
    friend class quorum_mutex;
    friend class rate_limiter;
    friend class counting_semaphore;
    friend class semaphore;
    friend class latch;
    friend class inspector;
    friend class impl::mutex_source;
    impl::core_ptr core_;
};

}  // namespace conch

#endif
