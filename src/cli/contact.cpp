// SPDX-License-Identifier: BSL-1.0
#include "cli/contact.hpp"

#include "cli/command_error.hpp"
#include "cli/server_url.hpp"
#include "cli/text.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace conch::cli {
namespace {

namespace asio = boost::asio;
namespace po = boost::program_options;
using namespace std::chrono_literals;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
constexpr duration glance = 50ms;

const char* option_of(lock_kind kind) noexcept {
    switch (kind) {
        case lock_kind::plain: return "--plain";
        case lock_kind::fair: return "--fair";
        case lock_kind::leader: return "--lead";
        case lock_kind::reader: return "--shared";
        case lock_kind::writer: return "--rw";
        case lock_kind::semaphore: return "a semaphore (--at-most, --semaphore)";
        case lock_kind::usual: break;
    }
    return "";
}

lock_kind kind_in(const po::variables_map& values) {
    const bool plain = values.count("plain") != 0;
    const bool reader = values.count("shared") != 0;
    const bool shared = reader || values.count("rw") != 0;
    const bool fair = values.count("fair") != 0;
    const bool leads = values.count("lead") != 0;
    const bool semaphore = values.count("semaphore") + values.count("at-most") != 0;
    if (plain + fair + leads + shared + semaphore > 1) {
        throw usage_error(
            "--plain, --fair, --lead, a read-write lock (--rw, --shared) and a semaphore "
            "(--at-most, --semaphore) exclude each other");
    }
    return plain       ? lock_kind::plain
           : fair      ? lock_kind::fair
           : leads     ? lock_kind::leader
           : reader    ? lock_kind::reader
           : shared    ? lock_kind::writer
           : semaphore ? lock_kind::semaphore
                       : lock_kind::usual;
}

void read_servers(const po::variables_map& values, server_choice& server) {
    server.kind = kind_in(values);
    const bool given = values.count("redis") != 0;
    const std::string source = given ? "--redis" : "$CONCH_REDIS";
    const word_list urls = given ? values["redis"].as<word_list>() : urls_of_environment();
    for (const std::string& url : urls) {
        if (url.empty()) {
            throw usage_error("--redis must not be empty");
        }
        const config c = server_of(url, source);
        if (&url == &urls.front()) {
            server.settings = c;
            server.given_url = given || std::getenv("CONCH_REDIS") != nullptr ? url : "";
        } else {
            server.others.push_back(c);
        }
    }
    // Databases of one server are lost with it.
    std::vector<std::string> labels;
    const auto add = [&](config c) {
        c.database = 0;
        labels.push_back(c.url());
    };
    add(server.settings);
    std::ranges::for_each(server.others, add);
    std::sort(labels.begin(), labels.end());
    if (const auto same = std::adjacent_find(labels.begin(), labels.end()); same != labels.end()) {
        throw usage_error(source + ' ' + in_quotes(*same) +
                          " is there twice: each is to be a server of its own");
    }
    if (urls.size() > quorum_mutex::max_clients) {
        throw usage_error(source + ": there are more than " +
                          std::to_string(quorum_mutex::max_clients) + " servers");
    }
    if (server.kind != lock_kind::usual && !server.others.empty()) {
        throw usage_error(std::string{option_of(server.kind)} + " goes with one server only");
    }
}

bool is_single(const server_choice& server) {
    return server.others.empty() && !server.settings.sentinel && !server.settings.cluster;
}

}  // namespace

void add_server_options(po::options_description& options) {
    auto add = options.add_options();
    add("redis", po::value<word_list>()->value_name("URL"),
        "the server (default: $CONCH_REDIS, then redis://127.0.0.1:6379), in a form that \"conch "
        "help\" tells; others can see a password here, not in $CONCH_REDIS; run, hold, status "
        "and release take several (in $CONCH_REDIS with spaces between): a lock on a majority of "
        "independent servers");
    add("connect-timeout", po::value<std::string>()->value_name("SECS"),
        "how long the server's first answer may take (default: 5, but 0.5 if connecting to a "
        "single server fails); with Sentinel or Cluster longer than a failover");
}

void add_lock_options(po::options_description& options) {
    add_server_options(options);
    auto add = options.add_options();
    add("plain", "the lock is a plain key with a token (SET NX PX), as of redis-py or redsync");
    add("fair", "the lock is a fair one, as Redisson's: first come, first served");
    add("rw", "the lock is a read-write lock, as Redisson's; run and hold take it for writing");
    add("semaphore",
        "NAME is a semaphore whose permits have leases, as Redisson's RPermitExpirableSemaphore; "
        "run and hold take one of them");
}

config with_log(config settings, log_sink sink) {
    settings.log = std::move(sink);
    settings.least_log_level = log_level::warning;
    return settings;
}

void expect_one_server(const server_choice& server, std::string_view command) {
    if (!server.others.empty()) {
        throw usage_error("\"conch " + std::string{command} + "\" takes one server");
    }
}

std::string server_label(const server_choice& server) {
    std::string text = server.settings.url();
    for (const config& c : server.others) {
        text += ", " + c.url();
    }
    return text;
}

server_choice read_server_options(const po::variables_map& values) {
    server_choice server;
    read_servers(values, server);
    if (const auto limit = seconds_option(values, "connect-timeout", 10ms, 1h)) {
        server.first_answer = *limit;
        server.after_failure = server.first_answer;
    }
    // `first_contact` loses its patience before the library does.
    auto& patience = server.settings.operation_timeout;
    patience = std::max(patience, server.first_answer + 1s);
    return server;
}

void server_choice::be_patient(duration wait) {
    settings.operation_timeout = std::max(settings.operation_timeout, wait);
    if (wait > 0ns) {
        after_refusal = wait;
    }
}

first_contact::first_contact(asio::io_context& io, const client& redis, const server_choice& server)
    : redis_{redis}, server_{server}, timer_{io} {}

asio::awaitable<first_contact::holder> first_contact::ask(const mutex& lock,
                                                         const status_options& options) {
    start();
    holder result;
    do {
        auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
        auto [ec, status] = co_await lock.async_status(options, token);
        result = {ec, std::move(status)};
        // A quorum's answer is that of a moment.
    } while (result.first == errc::not_connected && !server_.others.empty() && !too_late_);
    end();
    if (too_late_ && result.first) {
        result.first = errc::not_connected;
    }
    co_return result;
}

asio::awaitable<first_contact::verdict> first_contact::ask(const rate_limiter& limiter,
                                                           std::uint64_t permits) {
    start();
    auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
    const auto [ec, said] = co_await limiter.async_try_acquire(permits, token);
    end();
    const bool not_counted = redis_.stats().connects == 0 || is_answer(redis_.last_server_error());
    const errc unanswered = not_counted ? errc::not_connected : errc::outcome_unknown;
    const verdict result{too_late_ && ec ? error_code{unanswered} : ec, said};
    co_return result;
}

asio::awaitable<error_code> first_contact::reach() {
    start();
    const inspector server{redis_};
    const std::vector<std::string> clock{"TIME"};
    auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
    const auto [ec, reply] = co_await server.async_ask(clock, 0, token);
    end();
    const error_code why = too_late_ && ec ? error_code{errc::not_connected} : ec;
    co_return why;
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
        const duration left = start + limit() - clock::now();
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

duration first_contact::limit() const {
    const std::string words = redis_.last_server_error();
    duration most = server_.first_answer;
    // A server that was reached and can't serve yet, as it loads its data, is there.
    // One of many servers may be dead.
    if (is_single(server_) && redis_.stats().connects == 0 && !words.empty()) {
        most = std::min(most, server_.after_failure);
    }
    return is_answer(words) ? std::min(most, server_.after_refusal) : most;
}

}  // namespace conch::cli
