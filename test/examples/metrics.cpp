// SPDX-License-Identifier: BSL-1.0
// What a program's locks cost it, without any other library: `metrics [REDIS_URL]`.
#include <boost/asio.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string_view>

#include <conch/conch.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> work(conch::client& redis) {
    for (const char* name : {"orders:7", "orders:8", "orders:9"}) {
        const conch::mutex m{redis, name};
        conch::hold h = co_await m.async_lock({.wait = 10s});
        conch::hold second = co_await m.async_try_lock();  // of the same lock: it is busy
        co_await h.async_unlock();
    }
    co_await redis.async_shutdown();
}

void report(const conch::metrics& metrics) {
    for (const conch::class_metrics& c : metrics.snapshot().classes) {
        std::cout << c.name << ": " << c.acquired_uncontended + c.acquired_contended
                  << " acquired\n";
        for (std::size_t i = 0; i < c.waits.size(); ++i) {
            const auto outcome = static_cast<conch::wait_outcome>(i);
            if (const auto n = c.waits[i].count(); n != 0) {
                std::cout << "  waits that ended " << to_string(outcome) << ": " << n << '\n';
            }
        }
    }
}

int main(int argc, char* argv[]) {
    try {
        asio::io_context io;
        conch::config settings =
            conch::config::from_url(argc > 1 ? argv[1] : "redis://127.0.0.1:6379");
        const auto metrics = std::make_shared<conch::metrics>(conch::metrics_options{
            .class_of = [](std::string_view name) { return name.substr(0, name.find(':')); }});
        settings.observer = metrics;
        conch::client redis{io, settings};
        asio::co_spawn(io, work(redis), [](std::exception_ptr e) {
            if (e) {
                std::rethrow_exception(e);
            }
        });
        io.run();
        report(*metrics);
        return EXIT_SUCCESS;
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return EXIT_FAILURE;
    }
}
