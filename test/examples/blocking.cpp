// SPDX-License-Identifier: BSL-1.0
// A program of threads, without an event loop of its own: `blocking [REDIS_URL]`.
#include <conch/blocking.hpp>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <future>
#include <iostream>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

// Works until it is told to stop.
void work(const std::stop_token& stop) {
    std::mutex m;
    std::condition_variable_any news;
    std::unique_lock lock{m};
    news.wait(lock, stop, [] { return false; });
}

void lose(conch::blocking_mutex& m) {
    const conch::hold h = m.acquire({.lease = 3s});
    const conch::lost_callback told{
        h, [](conch::error_code why) { std::cout << "lost: " << why.message() << "\n"; }};
    std::jthread worker{[stop = h.stop_token(500ms)] { work(stop); }};
    m.force_unlock();  // as an operator may
    worker.join();     // the work has ended, as nobody protects it any more
}

void call_supplier(conch::blocking_client& redis) {
    conch::blocking_rate_limiter calls{redis, "supplier:calls", {.limit = 2, .window = 60s}};
    for (int i = 0; i < 2; ++i) {
        calls.acquire({.wait = 5s});  // throws errc::timed_out if that is too short
    }
    const bool more = calls.try_acquire().allowed;
    std::cout << (more ? "a third call" : "no third call within a minute") << "\n";
}

int run(const char* url) {
    conch::blocking_client redis{conch::config::from_url(url)};
    conch::blocking_mutex m{redis, "counter", {.fenced = true}};
    int counter = 0;
    const auto count = [&] {
        const std::scoped_lock guard{m};
        ++counter;
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            try {
                count();
            } catch (const conch::system_error& e) {  // no server, for instance
                std::cerr << e.what() << "\n";
            }
        });
    }
    for (std::thread& t : threads) {
        t.join();
    }
    std::cout << "counted to " << counter << "\n";

    std::future<conch::hold> later = m.acquire_future({.wait = 2s});
    conch::hold h = later.get();  // throws what acquire() would
    const bool busy = !m.try_lock_for(20ms);
    std::cout << (busy ? "busy for others" : "two holders!") << "\n";
    m.unlock(h);  // throws if the lock had been lost
    lose(m);
    call_supplier(redis);
    return 0;
}

int main(int argc, char* argv[]) {
    try {
        return run(argc > 1 ? argv[1] : "redis://127.0.0.1");
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\n";
        return 1;
    }
}
