// SPDX-License-Identifier: BSL-1.0
// A program of threads, without an event loop of its own: `blocking [REDIS_URL]`.
#include <conch/blocking.hpp>

#include <exception>
#include <future>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

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
