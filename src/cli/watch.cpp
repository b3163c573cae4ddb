// SPDX-License-Identifier: BSL-1.0
#include "cli/commands.hpp"
#include "cli/lock_text.hpp"
#include "cli/one_lock.hpp"
#include "cli/signal_watch.hpp"
#include "cli/text.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/serialize.hpp>

#include <unistd.h>

#include <ctime>
#include <iostream>
#include <limits>

namespace conch::cli {
namespace {

namespace asio = boost::asio;
namespace po = boost::program_options;
using namespace std::chrono_literals;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
constexpr duration pause_between = 250ms;

struct watch_plan {
    server_choice server;
    std::string name;
    std::uint32_t count = std::numeric_limits<std::uint32_t>::max();
    bool json = false;
};

/// One `conch watch`: asks, shows what has changed, pauses.
class watcher {
public:
    explicit watcher(const watch_plan& plan)
        : plan_{plan},
          the_{plan.server, plan.name},
          stream_{the_.io, signals_.duplicate()},
          timer_{the_.io} {}

    int go();

private:
    asio::awaitable<void> conduct();
    asio::awaitable<void> pause();
    void await_signal();
    void look(error_code ec, const lock_status& now);
    void show_change(error_code ec, const lock_status& now, duration former);
    void show_live(const lock_status& now) const;

    const watch_plan& plan_;
    const bool live_ = !plan_.json && ::isatty(STDOUT_FILENO) != 0;
    const signal_watch signals_{{SIGHUP, SIGINT, SIGTERM}};
    asio::cancellation_signal give_up_;
    one_lock the_;
    asio::posix::stream_descriptor stream_;
    asio::steady_timer timer_;

    std::string holder_{};  ///< empty: free
    error_code error_{};
    time_point since_{};  ///< when `holder_` was first seen
    std::uint32_t shown_ = 0;
    int signal_ = 0;
};

std::string time_text(const char* format) {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char text[40];
    return {text, std::strftime(text, sizeof text, format, &parts)};
}

int watcher::go() {
    await_signal();
    the_.run(conduct());
    if (live_) {
        std::cout << "\r\033[K";
    }
    return signal_ != 0 ? exit_code::by_signal + signal_ : exit_code::ok;
}

void watcher::await_signal() {
    stream_.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code ec) {
        const auto signal = signals_.next();
        if (ec || !signal) {
            return;
        }
        signal_ = static_cast<int>(signal->ssi_signo);
        the_.contact.cancel();
        give_up_.emit(asio::cancellation_type::terminal);
        timer_.cancel();
    });
}

asio::awaitable<void> watcher::conduct() {
    const auto [first_error, first] = co_await the_.contact.ask(the_.lock);
    if (first_error && signal_ == 0) {
        stream_.close();
        throw the_.failure(first_error);
    }
    if (signal_ == 0) {
        look(first_error, first);
    }
    while (signal_ == 0 && shown_ < plan_.count && std::cout.good()) {
        co_await pause();
        if (signal_ != 0) {
            break;
        }
        auto token = asio::bind_cancellation_slot(give_up_.slot(), as_result);
        const auto [ec, now] = co_await the_.lock.async_status(token);
        if (signal_ == 0) {
            look(ec, now);
        }
    }
    stream_.close();
}

asio::awaitable<void> watcher::pause() {
    timer_.expires_after(pause_between);
    co_await timer_.async_wait(as_result);
}

void watcher::look(error_code ec, const lock_status& now) {
    if (shown_ == 0 || ec != error_ || (!ec && now.holder != holder_)) {
        const time_point seen = clock::now();
        show_change(ec, now, seen - since_);
        ++shown_;
        error_ = ec;
        if (!ec) {
            holder_ = now.holder;
            since_ = seen;
        }
    }
    if (!ec) {
        show_live(now);
    }
}

void watcher::show_change(error_code ec, const lock_status& now, duration former) {
    if (plan_.json) {
        boost::json::object o;
        o["time"] = time_text("%Y-%m-%dT%H:%M:%SZ");
        if (ec) {
            o["name"] = valid_utf8(plan_.name);
            o["error"] = valid_utf8(the_.failure(ec).what());
        } else {
            for (auto& member : json_of(plan_.name, plan_.server.kind, now)) {
                o[member.key()] = member.value();
            }
        }
        std::cout << printable_json(boost::json::serialize(o)) << '\n' << std::flush;
        return;
    }
    std::cout << (live_ ? "\r\033[K" : "") << time_text("%Y-%m-%d %H:%M:%SZ ")
              << printable(plan_.name) << ": "
              << (ec ? the_.failure(ec).what() : state_of(plan_.name, plan_.server.kind, now));
    if (!holder_.empty() && !ec && !now.permits && now.holder != holder_) {
        std::cout << " (before: " << printable(holder_) << ", seen for " << short_time(former)
                  << ')';
    }
    std::cout << '\n' << std::flush;
}

void watcher::show_live(const lock_status& now) const {
    if (live_) {
        std::cout << "\r\033[K  " << (now.locked ? "held" : "free") << " for "
                  << short_time(clock::now() - since_) << " since first seen";
        if (now.locked) {
            std::cout << ", " << ending_of(now);
        }
        std::cout << std::flush;
    }
}

}  // namespace

int watch(const word_list& words) {
    po::options_description options{"Options"};
    auto add = options.add_options();
    add("json", "one JSON object a line instead of text");
    add("count", po::value<std::string>()->value_name("N"),
        "end after N lines (default: at Ctrl-C)");
    add_lock_options(options);
    add("help,h", "show this");
    const po::variables_map values = parse_words(words, options);
    if (values.count("help") != 0) {
        std::cout
            << "conch watch [OPTION...] NAME: tells who holds the lock NAME, now and at each "
               "change.\n\n"
            << options
            << "\nAsks four times a second, so a shorter hold may be missed. How long somebody has "
               "held the\nlock is counted from when this command first saw it.\n"
               "JSON: time, name, kind, locked, holder, holders, depth, ttl_ms (null: none), "
               "fence, of a\nsemaphore permits; or time, name, error.\n"
               "Exit status: 0 after N lines, 128+N ended by signal N (130: Ctrl-C), 64 wrong "
               "command line,\n69 no Redis, or the key is no lock, 74 the output can't be "
               "written.\n";
        return exit_code::ok;
    }
    watch_plan plan;
    plan.name = lock_name(values);
    plan.json = values.count("json") != 0;
    if (values.count("count") != 0) {
        plan.count = parse_count("--count", text_option(values, "count"), 1'000'000'000);
    }
    plan.server = read_server_options(values);
    expect_one_server(plan.server, "watch");
    return watcher{plan}.go();
}

}  // namespace conch::cli
