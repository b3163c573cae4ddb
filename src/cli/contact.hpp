// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_CONTACT_HPP
#define CONCH_SRC_CLI_CONTACT_HPP

#include "cli/command_line.hpp"

#include <conch/conch.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conch::cli {

enum class lock_kind : std::uint8_t {
    usual,   ///< `mutex`, or `quorum_mutex`
    plain,   ///< `token_mutex`
    fair,    ///< `fair_mutex`
    leader,  ///< that of `leader`
    writer,  ///< `shared_mutex`
    reader,
    semaphore,  ///< a permit of `semaphore`
};

/// Which server, and how long it may take to answer for the first time.
struct server_choice {
    config settings{};
    /// Of the first server, by --redis or $CONCH_REDIS, with its password; empty: by neither.
    std::string given_url{};
    duration first_answer = std::chrono::seconds{5};
    /// The same once an attempt to connect to a single server has failed (refused, no such host):
    /// whoever mistyped the URL need not wait. `first_answer`, if the user gave that.
    duration after_failure = std::chrono::milliseconds{500};
    /// The same once the server has refused for now: as long as the user waits.
    duration after_refusal = forever;
    /// Not empty: the lock is that of a quorum, of these servers and the first.
    std::vector<config> others{};
    lock_kind kind = lock_kind::usual;

    /// Of a command that waits for so long, or asks once (zero). A server that has answered once
    /// and goes away is waited for too.
    void be_patient(duration wait);
};

/// Adds --redis and --connect-timeout.
void add_server_options(boost::program_options::options_description& options);
/// Adds these, --plain, --fair, --rw and --semaphore: for what concerns a lock.
void add_lock_options(boost::program_options::options_description& options);
/// Reads them, and $CONCH_REDIS. Throws `usage_error`.
server_choice read_server_options(const boost::program_options::variables_map& values);
/// Throws `usage_error` where there are several, which a `command` can't use.
void expect_one_server(const server_choice& server, std::string_view command);
/// Of all of them, for messages.
std::string server_label(const server_choice& server);

/// The settings, with a reader for the library's warnings.
config with_log(config settings, log_sink sink);

/// The first question to the server. It finds out early whether there is a server at all; what
/// comes later may be as patient as the library is.
class first_contact {
public:
    using holder = std::pair<error_code, lock_status>;
    using verdict = std::pair<error_code, rate_verdict>;

    /// All of them outlive this object, and the event loop's run.
    first_contact(boost::asio::io_context& io, const client& redis, const server_choice& server);

    /// Who holds the lock? One question, once: `errc::not_connected` when the time is up,
    /// `operation_aborted` after `cancel()`.
    boost::asio::awaitable<holder> ask(const mutex& lock, const status_options& options = {});
    /// Are there permits? The same, but for `errc::outcome_unknown` when the time is up and the
    /// server, which has refused nothing, may have counted them.
    boost::asio::awaitable<verdict> ask(const rate_limiter& limiter, std::uint64_t permits);
    /// Is there a server? The same.
    boost::asio::awaitable<error_code> reach();
    void cancel();

private:
    void start();
    void end();
    boost::asio::awaitable<void> lose_patience();
    duration limit() const;

    const client& redis_;
    const server_choice& server_;
    boost::asio::cancellation_signal give_up_;
    boost::asio::steady_timer timer_;
    bool answered_ = false;
    bool too_late_ = false;
};

}  // namespace conch::cli

#endif
