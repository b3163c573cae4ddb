// SPDX-License-Identifier: BSL-1.0
// A process whose coroutines visit a number on the server, all at once with other processes and
// with threads of Redisson, which do the same ("visit" of Driver.java). Its output is how many
// times they met whom they should not have met.
//
//     conch_interop_visitors SOCKET KIND NAME DATA LIMIT COROUTINES TIMES
//
// KIND:
//   fair, write, multi  have the lock NAME alone (NAME+NAME: two of them), and change the number in
//                       DATA from even over odd to even
//   read                share it, and see an even number that nobody changes
//   permits, leased     take one of LIMIT permits, and count themselves in and out
//   latch               LIMIT visitors wait for each other, at one latch after the other
// They begin when the latch DATA/gate opens, and are woken by messages, or not in time.
#include "support/raw_client.hpp"
#include "support/redis_test.hpp"

#include <conch/conch.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <cstdint>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class visitors {
public:
    explicit visitors(const std::vector<std::string>& words)
        : raw_{words.at(1)},
          kind_{words.at(2)},
          name_{words.at(3)},
          data_{words.at(4)},
          limit_{std::stoi(words.at(5))},
          coroutines_{std::stoi(words.at(6))},
          times_{std::stoi(words.at(7))},
          redis_{io_, settings(words.at(1))} {}

    /// How many times one met whom it should not have met.
    int run() {
        int running = coroutines_;
        for (int i = 0; i < coroutines_; ++i) {
            asio::co_spawn(io_, visit_often(), [&](std::exception_ptr e) {
                failure_ = e ? e : failure_;
                if (--running == 0) {
                    redis_.async_shutdown([](error_code) {});
                }
            });
        }
        io_.run();
        if (failure_) {
            std::rethrow_exception(failure_);
        }
        return met_;
    }

private:
    static config settings(const std::string& socket) {
        config c = settings_for(socket);
        c.max_poll_interval = 60s;
        c.max_passes = 1;  // else one process might be done before the others have come
        return c;
    }

    std::int64_t number() { return std::stoll(raw_.get(data_).value_or("0")); }
    void set(std::int64_t n) { raw_.must({"SET", data_, std::to_string(n)}); }
    void expect(bool right) { met_ += right ? 0 : 1; }
    /// Others of this process may go on.
    static auto give_way() { return asio::post(asio::deferred); }

    mutex lock() const {
        if (kind_ == "fair") {
            return fair_mutex{redis_, name_};
        }
        if (kind_ == "read" || kind_ == "write") {
            const shared_mutex m{redis_, name_};
            return kind_ == "read" ? m.reader() : m.writer();
        }
        if (kind_ == "leased") {
            return semaphore{redis_, name_}.permits(1);
        }
        const auto plus = name_.find('+');
        if (kind_ != "multi" || plus == name_.npos) {
            throw std::invalid_argument{"no such kind: " + kind_};
        }
        return multi_lock{mutex{redis_, name_.substr(0, plus)},
                          mutex{redis_, name_.substr(plus + 1)}};
    }

    asio::awaitable<void> visit_often() {
        const latch gate{redis_, data_ + "/gate"};
        co_await gate.async_wait();
        for (int i = 0; i < times_; ++i) {
            if (kind_ == "latch") {
                co_await meet(i);
            } else if (kind_ == "permits") {
                const counting_semaphore permits{redis_, name_};
                co_await permits.async_acquire();
                co_await visit();
                co_await permits.async_release();
            } else {
                hold h = co_await lock().async_lock();
                co_await visit();
                co_await h.async_unlock();
            }
        }
    }

    asio::awaitable<void> meet(int round) {
        const latch all{redis_, name_ + '/' + std::to_string(round)};
        raw_.must({"INCR", data_});
        co_await all.async_count_down();
        co_await all.async_wait();
        expect(number() >= std::int64_t{limit_} * (round + 1));
    }

    asio::awaitable<void> visit() {
        if (kind_ == "permits" || kind_ == "leased") {
            expect(raw_.must({"INCR", data_}).number <= limit_);
            co_await give_way();
            raw_.must({"DECR", data_});
        } else {
            const std::int64_t seen = number();
            expect(seen % 2 == 0);
            const std::int64_t changed = kind_ == "read" ? seen : seen + 1;
            if (kind_ != "read") {
                set(changed);
            }
            co_await give_way();
            expect(number() == changed);
            if (kind_ != "read") {
                set(seen + 2);
            }
        }
        raw_.must({"RPUSH", data_ + "/visitors", "conch"});
    }

    asio::io_context io_{};
    raw_client raw_;
    const std::string kind_;
    const std::string name_;
    const std::string data_;
    const int limit_;
    const int coroutines_;
    const int times_;
    client redis_;
    std::exception_ptr failure_{};
    int met_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        visitors all{{argv, argv + argc}};
        std::cout << all.run() << std::endl;
        return 0;
    } catch (const std::exception& e) {
        std::cerr << e.what() << std::endl;
        return 1;
    }
}
