// SPDX-License-Identifier: BSL-1.0
// What Prometheus gets over HTTP of the locks of a program, and the dashboard makes of it.
#include "support/program.hpp"
#include "support/redis_test.hpp"

#include <conch/prometheus.hpp>

#include <prometheus/exposer.h>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>
#include <boost/url/encode.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;
using asio::ip::tcp;

/// What a server of this machine answers to GET.
std::string get(unsigned short port, const std::string& path) {
    asio::io_context io;
    tcp::socket s{io};
    s.connect({asio::ip::address_v4::loopback(), port});
    const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
    asio::write(s, asio::buffer(request));
    std::string answer;
    error_code ec;
    asio::read(s, asio::dynamic_buffer(answer), ec);  // until the server hangs up
    return answer;
}

/// The port at the end of `text`.
unsigned short port_in(const std::string& text) {
    return static_cast<unsigned short>(std::stoul(text.substr(text.rfind(':') + 1)));
}

struct prometheus_test : redis_test {
    unsigned short port() const {
        return static_cast<unsigned short>(exposer.GetListeningPorts().at(0));
    }
    std::string scraped() const { return get(port(), "/metrics"); }
    void has(const std::string& answer, const std::string& line) const {
        EXPECT_NE(answer.find("\n" + line + "\n"), std::string::npos) << line << " is not in:\n"
                                                                      << answer;
    }
    config observed() const {
        config c = settings();
        c.observer = counted;
        return c;
    }

    static metrics_options with_classes() {
        return {.class_of = [](std::string_view name) { return name.substr(0, name.find(':')); }};
    }

    std::shared_ptr<metrics> counted = std::make_shared<metrics>(with_classes());
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
    const std::string granted = R"(conch_lock_wait_seconds_count{lock="orders",outcome="granted"})";
    EXPECT_TRUE(run_until(
        io, [&] { return get(port_in(where), "/metrics").find(granted) != std::string::npos; }));
}

/// A real Prometheus that scrapes a program twice a second.
class real_prometheus {
public:
    explicit real_prometheus(unsigned short scraped) {
        const std::string file = folder_.path() + "/prometheus.yml";
        std::ofstream{file} << "global: {scrape_interval: 500ms}\n"
                               "scrape_configs:\n"
                               "  - {job_name: billing, static_configs: [{targets: ['127.0.0.1:"
                            << scraped << "']}]}\n";
        program_.emplace(std::vector<std::string>{"/bin/sh", "-c",
                                                  "exec prometheus --config.file=" + file +
                                                      " --storage.tsdb.path=" + folder_.path() +
                                                      "/data --web.listen-address=127.0.0.1:0"});
        program_->wait_for_error("Server is ready to receive web requests.");
        // It may tell that before it tells where it listens, and then:
        std::string said = program_->wait_for_error("TLS is disabled.");
        said = said.substr(said.find("address=", said.find("\"Listening on\"")));
        port_ = port_in(said.substr(0, said.find_first_of(" \n")));
    }

    /// The values of an expression, by the labels of each as JSON.
    std::map<std::string, double> ask(const std::string& expression) const {
        const std::string answer =
            get(port_, "/api/v1/query?query=" +
                           boost::urls::encode(expression, boost::urls::unreserved_chars));
        const boost::json::value said = boost::json::parse(answer.substr(answer.find("\r\n\r\n")));
        std::map<std::string, double> values;
        for (const auto& one : said.at_pointer("/data/result").as_array()) {
            values[boost::json::serialize(one.at("metric"))] =
                std::stod(std::string{one.at("value").as_array().at(1).as_string()});
        }
        return values;
    }

private:
    temporary_folder folder_;
    std::optional<program> program_;
    unsigned short port_ = 0;
};

/// What the panels of the dashboard ask for, by their titles, with all that can be chosen.
std::map<std::string, std::string> panels() {
    std::ifstream file{CONCH_PAGES "/grafana.json"};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    const boost::json::value dashboard = boost::json::parse(text);
    std::map<std::string, std::string> asked;
    for (const auto& panel : dashboard.at("panels").as_array()) {
        int number = 0;
        for (const auto& target : panel.at("targets").as_array()) {
            std::string expression{target.at("expr").as_string()};
            expression = std::regex_replace(expression, std::regex{R"(\$__rate_interval)"}, "5m");
            expression = std::regex_replace(expression, std::regex{R"("\$[a-z]+")"}, "\".*\"");
            asked[std::string{panel.at("title").as_string()} + ' ' + std::to_string(++number)] =
                expression;
        }
    }
    return asked;
}

TEST_F(prometheus_test, each_panel_of_the_dashboard_shows_something_in_a_real_prometheus) {
    if (std::system("command -v prometheus >/dev/null") != 0) {
        const char* const required = std::getenv("CONCH_REQUIRE_ALL");
        ASSERT_TRUE(required == nullptr || *required == '\0') << "no prometheus";
        GTEST_SKIP() << "no prometheus";
    }
    metrics_options soon_long = with_classes();
    soon_long.long_hold = 1s;  // an hour, to the dashboard
    counted = std::make_shared<metrics>(soon_long);
    shown = prometheus_collectable(counted);
    exposer.RegisterCollectable(shown);
    client redis{io, observed()};
    const mutex orders{redis, "orders:7"};
    const mutex users{redis, "users:7"};
    const rate_limiter calls{redis, "calls:out", {.limit = 1'000, .window = 1min}};
    const real_prometheus shows{port()};
    hold kept;
    run([&]() -> asio::awaitable<void> {
        const mutex other{redis, "users:8"};
        kept = co_await other.async_lock({.lease = 3s});
    });

    std::map<std::string, std::map<std::string, double>> seen;
    const auto shows_all = [&] {
        run([&]() -> asio::awaitable<void> {
            hold h = co_await orders.async_lock();
            const hold none = co_await orders.async_try_lock();
            EXPECT_FALSE(none);
            co_await h.async_unlock();
            co_await calls.async_try_acquire();
            const hold lost = co_await users.async_lock({.lease = 600ms});
            raw.must({"DEL", "users:7"});
            co_await lost.async_wait_lost(asio::as_tuple(asio::use_awaitable));
        });
        bool all = true;
        for (const auto& [title, expression] : panels()) {
            seen[title] = shows.ask(expression);
            all = all && !seen[title].empty() &&
                  std::none_of(seen[title].begin(), seen[title].end(),
                               [](const auto& one) { return std::isnan(one.second); });
        }
        return all && seen["Held beyond an hour 1"][R"({})"] >= 1;
    };
    EXPECT_TRUE(run_until(io, shows_all, 60s));
    EXPECT_GE(seen["Held now 1"][R"({})"], 1);
    EXPECT_EQ(seen["Waiting now 1"][R"({})"], 0);
    EXPECT_GT(seen["Lost in an hour 1"][R"({})"], 0);
    EXPECT_GT(seen["Locks lost by reason 1"][R"({"reason":"lock_lost"})"], 0);
    EXPECT_GT(seen["Acquires by outcome 1"][R"({"outcome":"busy"})"], 0);
    EXPECT_GT(seen["Wait p99 by class 1"][R"({"lock":"orders"})"], 0);
    EXPECT_GT(seen["Renewal lateness 1"][R"({})"], 0);
    EXPECT_GE(seen["Held beyond an hour 1"][R"({})"], 1) << "that of users:8";
    const std::string scraped_at = "\"instance\":\"127.0.0.1:" + std::to_string(port()) + "\"";
    EXPECT_GE(seen["Holds beyond an hour, by class 1"]['{' + scraped_at + R"(,"lock":"users"})"],
              1);
    EXPECT_GT(seen["Permits of rate limits 1"][R"({"limit":"calls","outcome":"granted"})"], 0);
    EXPECT_EQ(seen["Connections to servers 1"][R"({})"], 1);
}

}  // namespace
