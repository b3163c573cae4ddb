// SPDX-License-Identifier: BSL-1.0
// A user's program: `consumer SOCKET` takes a lock on the Redis server at a unix socket, finds it
// busy, gives it back, and says so.
#include <conch/conch.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>
#include <stdexcept>

namespace asio = boost::asio;
using namespace std::chrono_literals;

void require(bool fact, const char* what) {
    if (!fact) {
        throw std::runtime_error{what};
    }
}

asio::awaitable<void> use(conch::client& redis) {
    conch::mutex m{redis, "consumer", {.fenced = true}};
    conch::hold h = co_await m.async_lock({.wait = 2s, .lease = 20s});
    require(h.owns_lock() && h.fence() > 0, "a hold owns its lock and has a fence");
    require(h.remaining() > 0s && h.remaining() <= 20s, "a hold knows its lease");

    const conch::lock_status status = co_await m.async_status();
    require(status.locked && status.holder.starts_with(redis.id()), "the server knows the holder");
    const conch::hold second = co_await m.async_try_lock();
    require(!second, "a second try finds the lock busy");

    co_await h.async_unlock();
    const conch::lock_status after = co_await m.async_status();
    require(!after.locked, "an unlocked lock is free");
    co_await redis.async_shutdown();
}

int main(int argc, char* argv[]) {
    if (argc != 2) {
        return 64;
    }
    conch::config settings = conch::config::from_url("redis://ignored.invalid/1");
    settings.unix_path = argv[1];
    settings.operation_timeout = 60s;
    asio::io_context io;
    conch::client redis{io, settings};
    int status = 1;
    asio::co_spawn(io, use(redis), [&](std::exception_ptr failure) {
        try {
            if (failure) {
                std::rethrow_exception(failure);
            }
            std::cout << "locked and unlocked\n";
            status = 0;
        } catch (const std::exception& e) {
            std::cerr << "consumer: " << e.what() << '\n';
            io.stop();
        }
    });
    io.run();
    return status;
}
