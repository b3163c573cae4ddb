// SPDX-License-Identifier: BSL-1.0
// Locks that Prometheus can watch: `prometheus [REDIS_URL [ADDRESS:PORT]]`. Says where, and works
// until SIGINT or SIGTERM.
#include <prometheus/exposer.h>
#include <boost/asio.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include <conch/conch.hpp>
#include <conch/prometheus.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

std::shared_ptr<conch::metrics> make_metrics() {
    // "orders" of "orders:4711": never the name itself, of which there are too many.
    return std::make_shared<conch::metrics>(conch::metrics_options{
        .class_of = [](std::string_view name) { return name.substr(0, name.find(':')); }});
}

asio::awaitable<void> work(conch::client& redis, int worker) {
    asio::steady_timer pause{co_await asio::this_coro::executor};
    for (int order = 0;; ++order) {
        conch::mutex m{redis, "orders:" + std::to_string((order + worker) % 3)};
        conch::hold h = co_await m.async_lock({.wait = 10s});
        pause.expires_after(10ms);  // what the lock is for
        co_await pause.async_wait(asio::use_awaitable);
        co_await h.async_unlock();
    }
}

int main(int argc, char* argv[]) {
    try {
        asio::io_context io;
        conch::config settings =
            conch::config::from_url(argc > 1 ? argv[1] : "redis://127.0.0.1:6379");
        const auto metrics = make_metrics();
        settings.observer = metrics;
        conch::client redis{io, settings};

        prometheus::Exposer exposer{argc > 2 ? argv[2] : "127.0.0.1:9464"};
        const auto counted = conch::prometheus_collectable(metrics);  // the exposer doesn't keep it
        exposer.RegisterCollectable(counted);
        std::cout << "http://127.0.0.1:" << exposer.GetListeningPorts().front() << "/metrics"
                  << std::endl;

        asio::signal_set signals{io, SIGINT, SIGTERM};
        signals.async_wait([&](boost::system::error_code, int) { io.stop(); });
        for (int worker = 0; worker < 4; ++worker) {
            asio::co_spawn(io, work(redis, worker), [](std::exception_ptr e) {
                if (e) {
                    std::rethrow_exception(e);
                }
            });
        }
        io.run();
        return EXIT_SUCCESS;
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return EXIT_FAILURE;
    }
}
