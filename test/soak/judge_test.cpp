// SPDX-License-Identifier: BSL-1.0
// What the judge is told, and what it makes of that.
#include "soak/report.hpp"
#include "soak/witness.hpp"
#include "support/program.hpp"
#include "support/redis_test.hpp"

#include <boost/asio/use_future.hpp>

#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <utility>

namespace {

using namespace conch;
using namespace conch::test;
using namespace conch::soak;
using namespace std::chrono_literals;

class soak_judge : public ::testing::Test {
protected:
    /// "NAME FENCE VALID_UNTIL LEASE", for a hold with so much left of its second.
    static std::string claim(std::uint64_t fence, duration left) {
        const auto until = clock::now() + left;
        return "n " + std::to_string(fence) + ' ' +
               std::to_string(until.time_since_epoch().count()) + ' ' +
               std::to_string(duration{1s}.count());
    }
    witness::answer say(const std::string& line) {
        witness::answer out;
        const auto ask = [&]() -> asio::awaitable<void> { out = co_await speaker.say(line); };
        run_test(io, ask());
        io.restart();
        return out;
    }
    bool passed() const {
        report r;
        r.faults["any"] = {.injected = 1, .survived = 1};
        r.heard = bench.heard();
        return r.passed();
    }

    temporary_folder folder{};
    judge bench{folder.path()};
    asio::io_context io{};
    witness speaker{io, bench.socket_path()};
};

TEST_F(soak_judge, keeps_a_fenced_and_an_unfenced_counter) {
    say("enter w " + claim(1, 1s) + " 0");
    say("write-unfenced " + claim(1, 1s) + " 7");
    say("write " + claim(1, 1s) + " 3");
    const witness::answer seen = say("enter w " + claim(2, 1s) + " 0");
    EXPECT_TRUE(seen.accepted);
    EXPECT_EQ(seen.value, 3u);
    EXPECT_EQ(seen.unfenced, 7u);
}

TEST_F(soak_judge, lets_pass_who_came_one_after_another) {
    for (const std::uint64_t fence : {1u, 2u, 3u}) {
        const witness::answer seen = say("enter w " + claim(fence, 1h) + " 0");
        say("write-unfenced " + claim(fence, 1h) + ' ' + std::to_string(seen.unfenced + 1));
        say("write " + claim(fence, 1h) + ' ' + std::to_string(seen.value + 1));
    }
    EXPECT_TRUE(passed());
    EXPECT_EQ(bench.heard().unfenced.value, 3u);
}

TEST_F(soak_judge, lets_no_overlap_pass) {
    say("enter w " + claim(1, 1h) + " 0");
    say("enter w " + claim(2, 1h) + " 0");
    EXPECT_EQ(bench.heard().resource.overlaps, 1u);
    EXPECT_FALSE(passed());
}

// The fence has hidden nothing: the first one's hold counts as over when the second comes.
TEST_F(soak_judge, lets_no_unfenced_update_be_lost_while_both_holds_are_valid) {
    say("enter w " + claim(1, -1s) + " 0");
    say("enter w " + claim(2, 1h) + " 0");
    say("write-unfenced " + claim(2, 1h) + " 1");
    say("write " + claim(2, 1h) + " 1");
    say("write-unfenced " + claim(1, 1h) + " 1");
    const testimony heard = bench.heard();
    EXPECT_EQ(heard.resource.overlaps, 0u);
    EXPECT_TRUE(heard.resource.sound());
    EXPECT_EQ(heard.unfenced.broken, 1u);
    EXPECT_FALSE(passed());
}

TEST_F(soak_judge, lets_no_hold_be_taken_away_by_a_server_that_has_lost_nothing) {
    say("enter w " + claim(1, 1s) + " 0");
    say("taken " + claim(1, 1s));
    EXPECT_EQ(bench.heard().findings.size(), 1u);
    EXPECT_FALSE(passed());
}

TEST_F(soak_judge, lets_a_server_that_lost_its_data_take_holds_away) {
    const std::string confirmed_before = claim(1, 1s);
    say("enter w " + confirmed_before + " 0");
    bench.data_lost("n", clock::now(), clock::now());
    say("taken " + confirmed_before);
    EXPECT_TRUE(passed());
}

TEST_F(soak_judge, says_first_what_overlapped) {
    say("enter w " + claim(1, 1h) + " 0");
    say("enter w " + claim(2, 1h) + " 0");
    report r;
    r.heard = bench.heard();
    const std::string table = r.table();
    EXPECT_LT(table.find("\noverlaps"), table.find("\nfenced: updates lost"));
    EXPECT_NE(table.find("FOUND  n: the next holder came"), std::string::npos);
}

using soak_tenure = redis_test;

TEST_F(soak_tenure, a_holder_believes_until_its_hold_ends_by_its_clock) {
    run([&]() -> asio::awaitable<void> {
        client c{io, settings()};
        const mutex m{c, "n"};
        hold h = co_await m.async_lock({.lease = 30s});
        const time_point until = h.valid_until();
        const tenure t{"n", std::move(h), 30s};
        EXPECT_EQ(t.believed_until(), until);
        const std::string expected = "n 0 " + std::to_string(until.time_since_epoch().count()) +
                                     ' ' + std::to_string(duration{30s}.count());
        EXPECT_EQ(t.claim(), expected);
    });
}

// Its waiter listens for releases, so that the client looks after its hold at once.
TEST_F(soak_tenure, a_holder_believes_no_longer_than_until_it_is_told_of_a_loss) {
    run([&]() -> asio::awaitable<void> {
        client c{io, settings()};
        const mutex m{c, "n"};
        hold h = co_await m.async_lock({.lease = 1h});
        tenure t{"n", std::move(h), 1h};
        std::future<hold> next =
            m.async_lock(asio::use_future([](error_code, hold other) { return other; }));
        const bool listens = co_await when([&] { return listening("n"); });
        EXPECT_TRUE(listens);
        const time_point before = clock::now();
        co_await m.async_force_unlock();
        const bool lost = co_await when([&] { return !t.held().owns_lock(); });
        EXPECT_TRUE(lost);
        co_await pass(1ms);  // and it is told
        const time_point told = t.believed_until();
        EXPECT_GE(told, before);
        EXPECT_LE(told, clock::now());
        co_await pass(1ms);
        EXPECT_EQ(t.believed_until(), told);
        const std::string claim = t.claim();
        const std::size_t at = claim.rfind(' ');
        const auto lease = std::stoll(claim.substr(at + 1));
        EXPECT_EQ(told - duration{lease}, t.held().valid_until() - 1h)
            << "when the server confirmed the hold for the last time";
        const bool granted =
            co_await when([&] { return next.wait_for(0s) == std::future_status::ready; });
        EXPECT_TRUE(granted);
    });
}

}  // namespace
