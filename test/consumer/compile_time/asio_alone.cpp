// SPDX-License-Identifier: BSL-1.0
// Talks to Redis with Asio alone: `asio_alone HOST PORT` sends a PING and waits a moment, three
// times, or until SIGINT.
#include <boost/asio.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> ping(std::string host, std::string port) {
    const auto executor = co_await asio::this_coro::executor;
    asio::ip::tcp::resolver resolver{executor};
    const auto places = co_await resolver.async_resolve(host, port, asio::use_awaitable);
    asio::ip::tcp::socket redis{executor};
    co_await asio::async_connect(redis, places, asio::use_awaitable);
    asio::steady_timer pause{executor};
    std::string answers;
    for (int i = 0; i < 3; ++i) {
        constexpr std::string_view command = "*1\r\n$4\r\nPING\r\n";
        co_await asio::async_write(redis, asio::buffer(command), asio::use_awaitable);
        const std::size_t size = co_await asio::async_read_until(
            redis, asio::dynamic_buffer(answers), "\r\n", asio::use_awaitable);
        std::cout << answers.substr(0, size - 2) << '\n';
        answers.erase(0, size);
        pause.expires_after(10ms);
        co_await pause.async_wait(asio::use_awaitable);
    }
}

int main(int argc, char* argv[]) {
    if (argc != 3) {
        return 64;
    }
    asio::io_context io;
    asio::signal_set signals{io, SIGINT};
    signals.async_wait([&](boost::system::error_code, int) { io.stop(); });
    int status = 1;
    asio::co_spawn(io, ping(argv[1], argv[2]), [&](std::exception_ptr failure) {
        signals.cancel();
        try {
            if (failure) {
                std::rethrow_exception(failure);
            }
            status = 0;
        } catch (const std::exception& e) {
            std::cerr << e.what() << '\n';
        }
    });
    io.run();
    return status;
}
