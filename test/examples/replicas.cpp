// SPDX-License-Identifier: BSL-1.0
// A lock that replicas must have before it is granted: `replicas [REDIS_URL]`.
#include <boost/asio.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>

#include <conch/conch.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> settle(conch::client& redis) {
    conch::mutex m{redis, "orders:7", {.replicas = {.at_least = 1, .within = 100ms}}};
    try {
        conch::hold h = co_await m.async_lock({.wait = 2s});
        std::cout << (h.owns_lock() ? "held, and a replica has it\n" : "not held!\n");
        co_await h.async_unlock();
    } catch (const conch::system_error& e) {
        if (e.code() != conch::errc::not_replicated) {
            throw;
        }
        std::cout << "not held: " << e.code().message() << "\n";
    }
}

asio::awaitable<void> run(conch::client& redis) {
    co_await settle(redis);
    co_await redis.async_shutdown();
}

int main(int argc, char* argv[]) {
    asio::io_context io;
    conch::client redis{io, conch::config::from_url(argc > 1 ? argv[1] : "redis://127.0.0.1")};
    int status = EXIT_SUCCESS;
    asio::co_spawn(io, run(redis), [&](std::exception_ptr failure) {
        if (failure) {
            status = EXIT_FAILURE;
            redis.async_shutdown([](conch::error_code) {});
        }
    });
    io.run();
    return status;
}
