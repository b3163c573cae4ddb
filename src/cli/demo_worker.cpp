// SPDX-License-Identifier: BSL-1.0
#include "cli/command_error.hpp"
#include "cli/commands.hpp"
#include "cli/contact.hpp"
#include "cli/demo_board.hpp"
#include "cli/text.hpp"

#include <conch/conch.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <charconv>
#include <deque>
#include <exception>
#include <string>

namespace conch::cli {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr auto with_error = asio::as_tuple(asio::use_awaitable);
constexpr auto flag_period = 5ms;  ///< how often the parent's flags are looked at
constexpr auto drain_limit = 5s;  ///< how long the coroutines may take to end
constexpr int turns_inside = 3;   ///< of the event loop, between read and write
constexpr auto relaxed = std::memory_order_relaxed;

void add_one(std::atomic<std::uint64_t>& count) noexcept {
    count.store(count.load(relaxed) + 1, relaxed);
}

/// One process of the demo: one event loop, one client, many coroutines that want one lock.
class worker {
public:
    worker(demo_board& board, std::uint32_t index, const server_choice& server)
        : board_{board},
          mine_{board.workers[index]},
          index_{index},
          server_{server},
          redis_{io_, server.settings},
          lock_{redis_, board.lock_name.get(), {.fenced = true, .fence_ttl = 60s}},
          contact_{io_, redis_, server} {}

    int go();

private:
    asio::awaitable<void> conduct();
    asio::awaitable<void> contend(std::uint32_t number);
    asio::awaitable<void> protected_section(std::uint32_t number, std::uint64_t fence);
    asio::awaitable<bool> connected();
    asio::awaitable<void> pause();

    bool stopping() const noexcept { return failed_ || board_.stop.load(relaxed); }
    void fail(error_code ec);
    void fail(int exit_status, const std::string& text);

    demo_board& board_;
    worker_record& mine_;
    const std::uint32_t index_;
    const server_choice& server_;
    std::deque<asio::cancellation_signal> waiting_;  ///< one for each coroutine, outlives them
    asio::io_context io_{1};
    asio::steady_timer timer_{io_};
    client redis_;
    mutex lock_;
    first_contact contact_;
    std::uint32_t running_ = 0;
    bool failed_ = false;
    int exit_status_ = exit_code::ok;
};

int worker::go() {
    asio::co_spawn(io_, conduct(), [](std::exception_ptr error) {
        if (error) {
            std::rethrow_exception(error);
        }
    });
    io_.run();
    return exit_status_;
}

asio::awaitable<void> worker::conduct() {
    const bool ready = co_await connected();
    if (ready) {
        mine_.state.store(worker_state::ready);
        while (!board_.go.load() && !stopping()) {
            co_await pause();
        }
        for (std::uint32_t i = 0; i < board_.coroutines; ++i) {
            waiting_.emplace_back();
            ++running_;
            asio::co_spawn(io_, contend(i), [this](std::exception_ptr error) {
                --running_;
                if (error) {
                    std::rethrow_exception(error);
                }
            });
        }
        while (!stopping()) {
            co_await pause();
        }
        // Only acquires are cancelled: who is inside goes on, and releases.
        for (asio::cancellation_signal& s : waiting_) {
            s.emit(asio::cancellation_type::terminal);
        }
        const time_point limit = clock::now() + drain_limit;
        while (running_ != 0 && clock::now() < limit) {
            co_await pause();
        }
        if (running_ != 0) {
            fail(exit_code::software, "coroutines did not end within 5 s");
        }
    }
    co_await redis_.async_shutdown(with_error);
}

// A server that can't be reached is told before anything starts.
asio::awaitable<bool> worker::connected() {
    const auto [ec, state] = co_await contact_.ask(lock_);
    if (ec) {
        fail(ec);
    }
    co_return !ec;
}

asio::awaitable<void> worker::contend(std::uint32_t number) {
    const lock_options options;
    while (!stopping()) {
        const time_point asked = clock::now();
        auto token = asio::bind_cancellation_slot(waiting_[number].slot(), with_error);
        auto [ec, held] = co_await lock_.async_lock(options, token);
        if (ec) {
            if (!stopping()) {
                fail(ec);
            }
            co_return;
        }
        if (!stopping()) {
            mine_.waits.add(clock::now() - asked);
            add_one(mine_.acquisitions);
            co_await protected_section(number, held.fence());
        }
        const auto [unlock_error] = co_await held.async_unlock(with_error);
        if (unlock_error) {
            add_one(mine_.lost_holds);
            fail(unlock_error);
        }
    }
}

asio::awaitable<void> worker::protected_section(std::uint32_t number, std::uint64_t fence) {
    if (board_.inside.fetch_add(1) != 0) {
        add_one(mine_.overlaps);
    }
    if (fence <= board_.last_fence.load()) {
        add_one(mine_.fence_errors);
    }
    board_.last_fence.store(fence);
    const std::uint64_t process = std::uint64_t{index_} + 1;
    const std::uint64_t me = process << 32U | number;
    const std::uint64_t before = board_.last_holder.load();
    if (before != 0 && before != me) {
        add_one(before >> 32U == process ? mine_.local_hand_offs : mine_.remote_hand_offs);
    }
    board_.last_holder.store(me);

    const std::uint64_t value = board_.counter.load();
    for (int i = 0; i < turns_inside; ++i) {
        co_await asio::post(io_, asio::use_awaitable);
    }
    board_.counter.store(value + 1);
    add_one(mine_.increments);
    board_.inside.fetch_sub(1);
}

asio::awaitable<void> worker::pause() {
    timer_.expires_after(flag_period);
    co_await timer_.async_wait(with_error);
}

void worker::fail(error_code ec) {
    fail(exit_status_for(ec), explain(ec, redis_.last_server_error(), server_label(server_)));
}

void worker::fail(int exit_status, const std::string& text) {
    if (!failed_) {
        failed_ = true;
        exit_status_ = exit_status;
        mine_.error.set(text);
    }
}

std::uint32_t number_in(const word_list& words, std::size_t at) {
    std::uint32_t value = most_processes;
    if (at < words.size()) {
        std::from_chars(words[at].data(), words[at].data() + words[at].size(), value);
    }
    return value;
}

}  // namespace

int demo_worker(const word_list& words) {
    const shared_board board{static_cast<int>(number_in(words, 0))};
    const std::uint32_t index = number_in(words, 1);
    if (index >= board->processes) {
        throw command_error(exit_code::usage, "this command is for \"conch demo\" alone");
    }
    worker_record& record = board->workers[index];
    int status = exit_code::software;
    try {
        server_choice server{.settings = config::from_url(board->server_url.get())};
        server.settings.client_name = "conch-demo";
        worker self{*board, index, server};
        status = self.go();
    } catch (const std::exception& e) {
        record.error.set(std::string{"unexpected: "} + e.what());
    }
    record.state.store(worker_state::ended);
    return status;
}

}  // namespace conch::cli
