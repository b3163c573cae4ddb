// SPDX-License-Identifier: BSL-1.0
// What Prometheus gets over HTTP of the locks of a program.
#include "support/program.hpp"
#include "support/redis_test.hpp"

#include <conch/prometheus.hpp>

#include <prometheus/exposer.h>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <memory>
#include <stdexcept>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;
using asio::ip::tcp;

/// What a server of this machine answers to GET /metrics.
std::string scrape(unsigned short port) {
    asio::io_context io;
    tcp::socket s{io};
    s.connect({asio::ip::address_v4::loopback(), port});
    const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
    asio::write(s, asio::buffer(request));
    std::string answer;
    error_code ec;
    asio::read(s, asio::dynamic_buffer(answer), ec);  // until the server hangs up
    return answer;
}

struct prometheus_test : redis_test {
    std::string scraped() const {
        return scrape(static_cast<unsigned short>(exposer.GetListeningPorts().at(0)));
    }
    void has(const std::string& answer, const std::string& line) const {
        EXPECT_NE(answer.find("\n" + line + "\n"), std::string::npos) << line << " is not in:\n"
                                                                      << answer;
    }
    config observed() const {
        config c = settings();
        c.observer = counted;
        return c;
    }

    std::shared_ptr<metrics> counted = std::make_shared<metrics>(metrics_options{
        .class_of = [](std::string_view name) { return name.substr(0, name.find(':')); }});
    std::shared_ptr<prometheus::Collectable> shown = prometheus_collectable(counted);
    prometheus::Exposer exposer{"127.0.0.1:0", 1};
};

TEST_F(prometheus_test, what_locks_do_is_scraped_in_buckets_that_add_up) {
    exposer.RegisterCollectable(shown);
    client redis{io, observed()};
    const mutex m{redis, "orders:7"};
    hold held;
    run([&]() -> asio::awaitable<void> {
        held = co_await m.async_lock();
        const hold none = co_await m.async_try_lock();
        EXPECT_FALSE(none);
        const rate_limiter calls{redis, "calls:out", {.limit = 5, .window = 1min}};
        const rate_verdict v = co_await calls.async_try_acquire(3);
        EXPECT_TRUE(v.allowed);
    });
    counted->hold_began({.name = "users:7", .number = 99});
    counted->held({.name = "users:7", .number = 99, .reason = errc::lock_lost});
    for (const duration late : {duration{}, duration{1ms}, duration{2h}}) {
        counted->renewed({.name = "orders:7", .late = late});
    }
    const std::string now = scraped();
    has(now, "# TYPE conch_lock_wait_seconds histogram");
    has(now, R"(conch_lock_wait_seconds_count{lock="orders",outcome="granted"} 1)");
    has(now, R"(conch_lock_wait_seconds_count{lock="orders",outcome="busy"} 1)");
    has(now, R"(conch_lock_wait_seconds_bucket{lock="orders",outcome="granted",le="+Inf"} 1)");
    has(now, R"(conch_lock_acquired_total{lock="orders",contended="false"} 1)");
    has(now, R"(conch_locks_held{lock="orders"} 1)");
    has(now, R"(conch_locks_held_long{lock="orders"} 0)");
    has(now, R"(conch_lock_waiters{lock="orders"} 0)");
    has(now, "# TYPE conch_connection_up gauge");
    has(now, "conch_connection_up 1");
    has(now, "conch_connection_down 0");
    has(now, R"(conch_lock_hold_seconds_count{lock="users",end="lost"} 1)");
    has(now, R"(conch_lock_lost_total{lock="users",reason="lock_lost"} 1)");
    has(now, R"(conch_lock_lost_total{lock="orders",reason="lock_lost"} 0)");
    has(now, R"(conch_rate_permits_total{limit="calls",outcome="granted"} 3)");
    has(now, R"(conch_renewal_lateness_seconds_bucket{le="0.0001"} 1)");
    has(now, R"(conch_renewal_lateness_seconds_bucket{le="0.001"} 2)");
    has(now, R"(conch_renewal_lateness_seconds_bucket{le="3600"} 2)");
    has(now, R"(conch_renewal_lateness_seconds_bucket{le="+Inf"} 3)");
    EXPECT_EQ(now.find(":7"), std::string::npos) << "the name of a lock:\n" << now;
    EXPECT_EQ(now.find(R"(lock="calls")"), std::string::npos) << "a class of limits:\n" << now;
    run([&]() -> asio::awaitable<void> { co_await held.async_unlock(); });
    const std::string then = scraped();
    has(then, R"(conch_locks_held{lock="orders"} 0)");
    has(then, R"(conch_lock_hold_seconds_count{lock="orders",end="released"} 1)");
}

TEST_F(prometheus_test, there_must_be_metrics) {
    EXPECT_THROW(prometheus_collectable(nullptr), std::invalid_argument);
}

TEST_F(prometheus_test, the_example_is_scraped) {
    program example{{std::string{EXAMPLES_FOLDER} + "/example_prometheus", url(), "127.0.0.1:0"}};
    const std::string where = example.wait_for("/metrics\n");
    const auto port = static_cast<unsigned short>(std::stoul(where.substr(where.rfind(':') + 1)));
    const std::string granted = R"(conch_lock_wait_seconds_count{lock="orders",outcome="granted"})";
    EXPECT_TRUE(run_until(io, [&] { return scrape(port).find(granted) != std::string::npos; }));
}

}  // namespace
