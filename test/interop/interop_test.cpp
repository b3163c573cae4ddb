// SPDX-License-Identifier: BSL-1.0
#include "interop_test.hpp"

#include "support/program.hpp"

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <utility>

namespace conch::test {
namespace {

const std::string driver_folder = INTEROP_DRIVER_FOLDER;

/// Owned by GoogleTest.
both_sides& shared = *static_cast<both_sides*>(::testing::AddGlobalTestEnvironment(new both_sides));

/// Why there is no driver; empty if there is one.
std::string build_driver() {
    program build{{"/usr/bin/env", "bash", INTEROP_SOURCES "/build.sh", driver_folder}};
    const ended& end = build.finish(std::chrono::minutes{15});
    if (end.status == 0) {
        return {};
    }
    const std::string said = end.err.substr(0, end.err.find_last_not_of('\n') + 1);
    return said.substr(said.rfind('\n') + 1);
}

std::string next_tag() {
    static int count = 0;
    return ::testing::UnitTest::GetInstance()->current_test_info()->name() +
           ('-' + std::to_string(++count));
}

}  // namespace

// Fails or skips every test.
void both_sides::SetUp() {
    const std::string why = build_driver();
    if (!why.empty()) {
        const char* required = std::getenv("CONCH_REQUIRE_ALL");
        if (required != nullptr && *required != '\0') {
            FAIL() << why;
        }
        std::cout << "SKIPPED: interop with Redisson: " << why << std::endl;
        GTEST_SKIP() << why;
    }
    server_ = std::make_unique<cli::private_redis>(with_conch_user({.tcp = true}));
    java_ = another_java(java_watchdog);
    // Both sides have sent their scripts, so that the tests may count their calls.
    for (const char* command : {"lock", "unlock"}) {
        java_->start("warm-up", command, std::string{"warm-up"}).get();
    }
    const blocking_client c{settings_for(server_->socket_path())};
    blocking_mutex m{c, "warm-up"};
    hold h = m.acquire();
    m.unlock(h);
}

void both_sides::TearDown() {
    java_.reset();
    server_.reset();
}

std::unique_ptr<redisson> both_sides::another_java(std::chrono::milliseconds watchdog) {
    return java_at(server_->tcp_url(), watchdog);
}

std::unique_ptr<redisson> both_sides::java_at(const std::string& urls,
                                              std::chrono::milliseconds watchdog) {
    return std::make_unique<redisson>(driver_folder, urls, watchdog);
}

interop_test::interop_test()
    : both{shared}, raw{both.server().socket_path()}, ours{ours_settings()}, tag_{next_tag()} {}

config interop_test::ours_settings() const {
    config c = settings_for(both.server().socket_path());
    c.max_poll_interval = rare_poll;
    return c;
}

std::vector<std::string> interop_test::fresh_names(int count) const {
    std::vector<std::string> out;
    for (int i = 0; i < count; ++i) {
        out.push_back(fresh("lock" + std::to_string(i)));
    }
    return out;
}

std::string interop_test::value_of(std::future<answer>& asked) {
    if (asked.wait_for(patience) != std::future_status::ready) {
        throw std::runtime_error{"Redisson does not answer"};
    }
    answer a = asked.get();
    if (!a.ok) {
        throw std::runtime_error{"Redisson threw " + a.text};
    }
    return std::move(a.text);
}

hold interop_test::granted(std::future<hold>& asked) {
    if (asked.wait_for(patience) != std::future_status::ready) {
        throw std::runtime_error{"conch is not granted the lock"};
    }
    return asked.get();
}

std::chrono::milliseconds interop_test::lease_left(const std::string& name) {
    return std::chrono::milliseconds{raw.pttl(name)};
}

std::chrono::milliseconds interop_test::permits_left(const std::string& name) {
    const reply now = raw.must({"TIME"});
    const std::string ends =
        raw.must({"ZRANGE", '{' + name + "}:timeout", "0", "0", "WITHSCORES"}).items.at(1).text;
    return std::chrono::milliseconds{std::stoll(ends) - std::stoll(now.items.at(0).text) * 1000 -
                                     std::stoll(now.items.at(1).text) / 1000};
}

void expect_comes_back(time_point crashed, std::chrono::milliseconds left) {
    const duration took = clock::now() - crashed;
    EXPECT_GT(left, 0ms) << "its lease was over when it crashed";
    expect_time("from the crash of a JVM to conch's hold, of a lease", took, left - 2ms);
}

void expect_time(const std::string& what, duration measured, duration least) {
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(measured);
    std::cout << "[ measured ] " << what << ": " << static_cast<double>(micros.count()) / 1000
              << " ms" << std::endl;
    EXPECT_GE(measured, least) << what;
    EXPECT_LT(measured, least + soon) << what;
}

}  // namespace conch::test
