// SPDX-License-Identifier: BSL-1.0
// test/examples/server.cpp, which the guide shows: it runs, and does what it says.
#include "support/program.hpp"
#include "support/redis_test.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <signal.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace conch::test;
using asio::ip::tcp;

class example_test : public redis_test {
protected:
    example_test() {
        const std::string& out = example.wait_for("\n");
        port = static_cast<std::uint16_t>(std::stoul(out.substr(out.find(' ') + 1)));
    }

    asio::awaitable<tcp::socket> connect() {
        tcp::socket s{io};
        co_await s.async_connect({asio::ip::address_v4::loopback(), port}, asio::deferred);
        co_return s;
    }

    static asio::awaitable<void> send(tcp::socket& s, std::string text) {
        co_await asio::async_write(s, asio::buffer(text), asio::deferred);
    }

    /// The answer without its newline; empty if the server hangs up instead.
    static asio::awaitable<std::string> receive(tcp::socket& s) {
        std::string text;
        const auto [ec, n] =
            co_await asio::async_read_until(s, asio::dynamic_buffer(text, 200), '\n', as_result);
        co_return ec ? std::string{} : text.substr(0, n - 1);
    }

    asio::awaitable<std::string> settle(std::string order) {
        tcp::socket s = co_await connect();
        co_await send(s, order + "\n");
        std::string answer = co_await receive(s);
        co_return answer;
    }

    static std::uint64_t fence_in(const std::string& answer, const std::string& order) {
        const std::string head = order + " settled under fence ";
        if (!answer.starts_with(head)) {
            ADD_FAILURE() << "not an answer: " << answer;
            return 0;
        }
        return std::stoull(answer.substr(head.size()));
    }

    program example{{EXAMPLE_SERVER_PATH, "0", url()}};
    std::uint16_t port = 0;
};

TEST_F(example_test, it_says_its_port_first) {
    EXPECT_GT(port, 0);
    example.signal(SIGTERM);
    EXPECT_EQ(example.finish().out, "port " + std::to_string(port) + "\n");
}

TEST_F(example_test, an_order_settled_twice_gets_a_greater_fence) {
    run([&]() -> asio::awaitable<void> {
        const std::string first = co_await settle("42");
        const std::string second = co_await settle("42");
        EXPECT_GT(fence_in(first, "42"), 0u);
        EXPECT_GT(fence_in(second, "42"), fence_in(first, "42"));
        EXPECT_FALSE(raw.exists("orders:42")) << "the lock was not released";
    });
}

TEST_F(example_test, two_connections_at_once_both_get_served) {
    run([&]() -> asio::awaitable<void> {
        std::vector<std::uint64_t> fences;
        const auto customer = [&]() -> asio::awaitable<void> {
            const std::string answer = co_await settle("42");
            fences.push_back(fence_in(answer, "42"));
        };
        task_group group{io.get_executor()};
        group.spawn(customer());
        group.spawn(customer());
        co_await group.join();
        EXPECT_EQ(fences.size(), 2u);
        EXPECT_NE(fences.front(), fences.back());
    });
}

TEST_F(example_test, a_silent_connection_does_not_stop_another) {
    run([&]() -> asio::awaitable<void> {
        tcp::socket silent = co_await connect();
        const std::string other = co_await settle("7");
        EXPECT_GT(fence_in(other, "7"), 0u);
        co_await send(silent, "8\n");
        const std::string late = co_await receive(silent);
        EXPECT_GT(fence_in(late, "8"), 0u);
    });
}

TEST_F(example_test, an_order_waits_while_another_server_holds_it) {
    take_as_stranger(raw, "orders:42");
    run([&]() -> asio::awaitable<void> {
        tcp::socket s = co_await connect();
        co_await send(s, "42\n");
        const bool waits = co_await when([&] { return listening("orders:42"); });
        EXPECT_TRUE(waits);
        EXPECT_EQ(s.available(), 0u);
        redisson_release(raw, "orders:42");
        const std::string answer = co_await receive(s);
        EXPECT_GT(fence_in(answer, "42"), 0u);
    });
}

TEST_F(example_test, bad_requests_do_not_end_the_server) {
    run([&]() -> asio::awaitable<void> {
        {
            const tcp::socket gone = co_await connect();
        }
        const std::string too_long = co_await settle(std::string(100, '9'));
        EXPECT_EQ(too_long, "");
        const std::string good = co_await settle("42");
        EXPECT_GT(fence_in(good, "42"), 0u);
    });
}

TEST_F(example_test, sigterm_while_an_order_waits_ends_it_with_0) {
    take_as_stranger(raw, "orders:42");
    run([&]() -> asio::awaitable<void> {
        tcp::socket s = co_await connect();
        co_await send(s, "42\n");
        const bool waits = co_await when([&] { return listening("orders:42"); });
        EXPECT_TRUE(waits);
        example.signal(SIGTERM);
        const std::string answer = co_await receive(s);
        EXPECT_EQ(answer, "42 not settled: the client is closed");
    });
    const ended& end = example.finish();
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(end.err, "");
}

}  // namespace
