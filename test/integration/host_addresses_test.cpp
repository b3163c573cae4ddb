// SPDX-License-Identifier: BSL-1.0
// A host name that stands for several addresses.
#include "support/attempt.hpp"
#include "support/name_server.hpp"
#include "support/redis_test.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
namespace {

using namespace conch;
using namespace conch::test;

/// Accepts, as far as the kernel does that, and says nothing.
class silent_listener {
public:
    explicit silent_listener(std::uint16_t port) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_port = htons(port);
        ::inet_pton(AF_INET, silent_address, &at.sin_addr);
        const auto* const address = reinterpret_cast<const sockaddr*>(&at);
        listens_ = ::bind(fd_, address, sizeof at) == 0 && ::listen(fd_, 64) == 0;
    }
    ~silent_listener() { ::close(fd_); }
    silent_listener(const silent_listener&) = delete;
    silent_listener& operator=(const silent_listener&) = delete;

    bool listens() const noexcept { return listens_; }

private:
    int fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool listens_ = false;
};

TEST(host_zone_test, an_address_of_version_6_may_have_one) {
    const cli::private_redis server{{.tcp = true, .arguments = {"--bind", "127.0.0.1", "-::1"}}};
    asio::io_context io;
    const auto lock_at = [&](const std::string& host) {
        client c{io, config::from_url("redis://" + host + ':' + std::to_string(server.port()))};
        const lock_attempt a = start_lock(mutex{c, "m"}, {.wait = 10s});
        EXPECT_TRUE(run_until(io, [&] { return a.done(); }));
        return a.ec();
    };
    if (lock_at("[::1]") == errc::not_connected) {
        GTEST_SKIP() << "no IPv6 here";
    }
    EXPECT_EQ(lock_at("[::1%251]"), error_code{});
}

struct host_addresses_test : redis_test {
    host_addresses_test() : redis_test{{.tcp = true}} {}
};

TEST_F(host_addresses_test, one_that_never_answers_is_left_for_the_next) {
    const silent_listener silent{server.port()};
    ASSERT_TRUE(silent.listens());
    config s = settings();
    s.unix_path.clear();
    s.host = two_addresses;
    s.port = server.port();
    s.connect_timeout = 300ms;
    s.operation_timeout = 10s;
    client c{io, s};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "m"};
        hold h = co_await m.async_lock();
        EXPECT_TRUE(raw.exists("m"));
        co_await h.async_unlock();
    });
}

}  // namespace
