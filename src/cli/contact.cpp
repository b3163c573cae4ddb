// SPDX-License-Identifier: BSL-1.0
#include "cli/contact.hpp"

#include "cli/server_url.hpp"
#include "cli/text.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <string>

namespace conch::cli {
namespace {

namespace asio = boost::asio;
namespace po = boost::program_options;
using namespace std::chrono_literals;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
constexpr duration glance = 50ms;

}  // namespace

void add_server_options(po::options_description& options) {
    auto add = options.add_options();
    add("redis", po::value<std::string>()->value_name("URL"),
        "the server (default: $CONCH_REDIS, then redis://127.0.0.1:6379); others can see a "
        "password "
        "here, not in $CONCH_REDIS");
    add("connect-timeout", po::value<std::string>()->value_name("SECS"),
        "how long the server's first answer may take (default: 5, but 0.5 if connecting fails)");
}

void add_lock_options(po::options_description& options) {
    add_server_options(options);
    auto add = options.add_options();
    add("plain", "the lock is a plain key with a token (SET NX PX), as of redis-py or redsync");
}

config with_log(config settings, log_sink sink) {
    settings.log = std::move(sink);
    settings.least_log_level = log_level::warning;
    return settings;
}

mutex lock_of(const client& redis, const std::string& name, const mutex_options& kind,
              const server_choice& server) {
    return server.plain ? token_mutex{redis, name, kind} : mutex{redis, name, kind};
}

server_choice read_server_options(const po::variables_map& values) {
    server_choice server;
    server.settings = choose_server(text_option(values, "redis"));
    server.plain = values.count("plain") != 0;
    if (const auto limit = seconds_option(values, "connect-timeout", 10ms, 1h)) {
        server.first_answer = *limit;
        server.after_failure = server.first_answer;
    }
    // `first_contact` loses its patience before the library does.
    auto& patience = server.settings.operation_timeout;
    patience = std::max(patience, server.first_answer + 1s);
    return server;
}

first_contact::first_contact(asio::io_context& io, const client& redis, const server_choice& server)
    : redis_{redis}, server_{server}, timer_{io} {}

asio::awaitable<first_contact::holder> first_contact::ask(const mutex& lock) {
    start();
    auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
    auto [ec, status] = co_await lock.async_status(token);
    end();
    holder result{too_late_ && ec ? error_code{errc::not_connected} : ec, std::move(status)};
    co_return result;
}

asio::awaitable<first_contact::verdict> first_contact::ask(const rate_limiter& limiter,
                                                           std::uint64_t permits) {
    start();
    auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
    const auto [ec, said] = co_await limiter.async_try_acquire(permits, token);
    end();
    const errc unanswered =
        redis_.stats().connects == 0 ? errc::not_connected : errc::outcome_unknown;
    const verdict result{too_late_ && ec ? error_code{unanswered} : ec, said};
    co_return result;
}

void first_contact::start() {
    asio::co_spawn(timer_.get_executor(), lose_patience(), asio::detached);
}

void first_contact::end() {
    answered_ = true;
    timer_.cancel();
}

void first_contact::cancel() { give_up_.emit(asio::cancellation_type::terminal); }

asio::awaitable<void> first_contact::lose_patience() {
    const time_point start = clock::now();
    for (;;) {
        // A server that was reached and can't serve yet, as it loads its data, is there.
        const bool failed = redis_.stats().connects == 0 && !redis_.last_server_error().empty();
        const duration limit =
            failed ? std::min(server_.after_failure, server_.first_answer) : server_.first_answer;
        const duration left = start + limit - clock::now();
        if (answered_ || left <= 0ns) {
            break;
        }
        timer_.expires_after(std::min(left, glance));
        co_await timer_.async_wait(as_result);
    }
    if (!answered_) {
        too_late_ = true;
        cancel();
    }
}

}  // namespace conch::cli
