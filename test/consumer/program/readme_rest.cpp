// SPDX-License-Identifier: BSL-1.0
// Behind the README's first snippet: a program with the same arguments and words as main.cpp.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>

asio::awaitable<void> charge(std::string order, std::uint64_t fence) {
    if (order == "42" && fence != 0) {
        std::cout << "locked";
    }
    co_return;
}

int main(int, char* argv[]) {
    conch::config settings{};
    settings.unix_path = argv[1];
    settings.operation_timeout = 60s;
    asio::io_context io;
    conch::client redis{io, settings};
    asio::co_spawn(io, settle(redis, "42"), [&](std::exception_ptr failure) {
        std::cout << (failure ? " and failed\n" : " and unlocked\n");
        redis.async_shutdown([](conch::error_code) {});
    });
    io.run();
}
