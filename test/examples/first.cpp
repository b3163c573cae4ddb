// SPDX-License-Identifier: BSL-1.0
// The README's first program: `example_first [URL]`.
#include <conch/conch.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> settle(conch::client& redis) {
    conch::mutex m{redis, "orders:7"};
    conch::hold h = co_await m.async_lock({.wait = 2s});  // throws if it is not granted by then
    std::cout << "settling order 7\n";                    // nobody else does while h is valid
    co_await h.async_unlock();                            // throws if the lock was lost meanwhile
}

int main(int argc, char** argv) {
    const auto server = conch::config::from_url(argc > 1 ? argv[1] : "redis://127.0.0.1:6379");
    asio::io_context io;
    conch::client redis{io, server};
    int status = 0;
    asio::co_spawn(io, settle(redis), [&](std::exception_ptr error) {
        try {
            if (error) {
                std::rethrow_exception(error);
            }
        } catch (const std::exception& e) {
            std::cerr << e.what() << " (" << server.url() << ": " << redis.last_server_error()
                      << ")\n";
            status = 1;
        }
        redis.async_shutdown([](conch::error_code) {});  // else run() never returns
    });
    io.run();
    return status;
}
