// SPDX-License-Identifier: BSL-1.0
// conch behind the lines of bench/peers/driver.py, with its default options.
#include "event_loop.hpp"
#include "lock_mix.hpp"
#include "report.hpp"
#include "statistics.hpp"

#include <conch/conch.hpp>

#include <unistd.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace conch::bench;

std::uint64_t nanoseconds(steady::time_point t) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count());
}

steady::time_point time_of(std::int64_t ns) {
    return steady::time_point{std::chrono::nanoseconds{ns}};
}

void answer(const report& r) { std::cout << r.json() << std::flush; }

void answer_time(steady::time_point t) {
    report r;
    r.add_count("at", nanoseconds(t));
    answer(r);
}

class driver {
public:
    explicit driver(const std::string& url)
        : input_{context_, ::dup(STDIN_FILENO)}, client_{context_, conch::config::from_url(url)} {}

    void run() {
        asio::co_spawn(context_, serve(), [this](const std::exception_ptr& failure) {
            if (failure) {
                std::rethrow_exception(failure);
            }
            context_.stop();
        });
        context_.run();
    }

private:
    asio::awaitable<void> serve() {
        std::string text;
        for (;;) {
            boost::system::error_code ec;
            const std::size_t n =
                co_await asio::async_read_until(input_, asio::dynamic_buffer(text), '\n',
                                                asio::redirect_error(asio::use_awaitable, ec));
            if (ec) {
                co_return;  // nobody asks any more
            }
            std::istringstream words{text.substr(0, n)};
            text.erase(0, n);
            co_await obey(words);
        }
    }

    asio::awaitable<void> obey(std::istringstream& words) {
        std::string what;
        words >> what;
        if (what == "lock") {
            std::string kind;
            words >> kind;
            hold_ = co_await passed(kind).async_lock();
            answer_time(steady::now());
        } else if (what == "unlock") {
            const auto begin = steady::now();
            co_await hold_.async_unlock();
            answer_time(begin);
        } else if (what == "loop") {
            std::size_t workers = 0;
            std::string locks;
            std::int64_t begin = 0, end = 0;
            words >> workers >> locks >> begin >> end;
            co_await loop(workers, locks, time_of(begin), time_of(end));
        } else {
            throw std::runtime_error{"not understood: " + what};
        }
    }

    conch::mutex passed(const std::string& kind) const {
        if (kind == "fair") {
            return conch::fair_mutex{client_, name_ + ":passed:fair"};
        }
        return {client_, name_ + ":passed"};
    }

    std::string own_name(const std::string& locks, std::size_t worker) const {
        return name_ + ':' + locks + ':' + std::to_string(worker);
    }

    lock_mix choice(const std::string& locks, std::size_t worker) const {
        if (locks == "readers") {
            return {conch::shared_mutex{client_, name_ + ":readers"}, 99, worker};
        }
        if (locks == "only-readers") {
            return lock_mix{conch::shared_mutex{client_, name_ + ":only-readers"}.reader()};
        }
        if (locks == "fair") {
            return lock_mix{conch::fair_mutex{client_, name_ + ":fair"}};
        }
        const std::string own = own_name(locks, worker);
        if (locks == "several") {
            return lock_mix{conch::multi_lock{conch::mutex{client_, own},
                                              conch::mutex{client_, own + ":second"},
                                              conch::mutex{client_, own + ":third"}}};
        }
        if (locks == "permits") {
            return lock_mix{conch::semaphore{client_, own}.permits(1)};
        }
        if (locks == "shared") {
            return lock_mix{conch::mutex{client_, name_ + ":shared"}};
        }
        if (locks == "own") {
            return lock_mix{conch::mutex{client_, own}};
        }
        throw std::runtime_error{"not understood: " + locks};
    }

    /// Sets the numbers of what has some, the first time.
    asio::awaitable<void> prepare(std::string locks, std::size_t workers) {
        for (std::size_t& i = prepared_[locks]; i < workers; ++i) {
            const std::string own = own_name(locks, i);
            if (locks == "permits") {
                const conch::semaphore one{client_, own};
                co_await one.async_try_set_permits(1);
            } else if (locks == "counters") {
                const conch::counting_semaphore one{client_, own};
                co_await one.async_try_set(1);
            } else if (locks == "latches") {
                const conch::latch one{client_, own};
                co_await one.async_try_set_count(std::numeric_limits<std::int32_t>::max());
            }
        }
    }

    asio::awaitable<void> worker(const std::string& locks, std::size_t i, std::uint64_t& got) {
        if (locks == "counters") {
            return take(conch::counting_semaphore{client_, own_name(locks, i)}, got);
        }
        if (locks == "latches") {
            return count_down(conch::latch{client_, own_name(locks, i)}, got);
        }
        return work(choice(locks, i), got);
    }

    asio::awaitable<void> loop(std::size_t workers, std::string locks, steady::time_point begin,
                               steady::time_point end) {
        std::vector<std::uint64_t> got(workers);
        pairs_us_.clear();
        longest_wait_us_ = 0;
        end_ = end;
        left_ = workers;
        co_await prepare(locks, workers);
        timer_.expires_at(begin);
        co_await timer_.async_wait(asio::use_awaitable);
        timer_.expires_at(steady::time_point::max());
        for (std::size_t i = 0; i < workers; ++i) {
            asio::co_spawn(context_, worker(locks, i, got[i]),
                           [this](const std::exception_ptr& failure) {
                               if (failure) {
                                   std::rethrow_exception(failure);
                               }
                               if (--left_ == 0) {
                                   timer_.cancel();
                               }
                           });
        }
        while (left_ > 0) {
            boost::system::error_code ec;
            co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        }
        report r;
        r.add_series("got", {got.begin(), got.end()});
        r.add("p50_us", percentile(pairs_us_, 50));
        r.add("p99_us", percentile(pairs_us_, 99));
        r.add("longest_wait_us", longest_wait_us_);
        answer(r);
    }

    asio::awaitable<void> work(lock_mix locks, std::uint64_t& got) {
        auto asked = steady::now();
        while (asked < end_) {
            conch::hold h = co_await locks.next().async_lock();
            const auto granted = steady::now();
            co_await h.async_unlock();
            asked = released(asked, granted, got);
        }
    }
    asio::awaitable<void> take(conch::counting_semaphore one, std::uint64_t& got) {
        auto asked = steady::now();
        while (asked < end_) {
            co_await one.async_acquire();
            const auto granted = steady::now();
            co_await one.async_release();
            asked = released(asked, granted, got);
        }
    }
    asio::awaitable<void> count_down(conch::latch one, std::uint64_t& got) {
        auto asked = steady::now();
        while (asked < end_) {
            co_await one.async_count_down();
            asked = released(asked, asked, got);
        }
    }

    /// When that is.
    steady::time_point released(steady::time_point asked, steady::time_point granted,
                                std::uint64_t& got) {
        const auto now = steady::now();
        longest_wait_us_ = std::max(longest_wait_us_, microseconds(granted - asked));
        pairs_us_.push_back(microseconds(now - asked));
        got += now <= end_ ? 1 : 0;
        return now;
    }

    const std::string name_ = "conch-peers:conch";
    asio::io_context context_{1};
    asio::posix::stream_descriptor input_;
    conch::client client_;
    conch::hold hold_;
    std::map<std::string, std::size_t> prepared_;
    asio::steady_timer timer_{context_};
    steady::time_point end_{};
    std::size_t left_ = 0;
    std::vector<double> pairs_us_;
    double longest_wait_us_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc != 2) {
            throw std::runtime_error{"usage: conch_peer URL"};
        }
        driver d{argv[1]};
        std::cout << "{\"driver\":\"conch " CONCH_PEER_VERSION "\"}" << std::endl;
        d.run();
        return 0;
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
