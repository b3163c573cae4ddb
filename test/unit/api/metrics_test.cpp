// SPDX-License-Identifier: BSL-1.0
// What conch::metrics counts of what an observer is told.
#include "api/age_counts.hpp"

#include <conch/error.hpp>
#include <conch/metrics.hpp>

#include <boost/asio/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace conch;
using namespace std::chrono_literals;

std::string_view before_colon(std::string_view name) { return name.substr(0, name.find(':')); }

const time_point start = clock::now();

void wait(metrics& m, std::string_view name, duration d, error_code result = {},
          std::uint64_t number = 0, bool contended = false, lock_memo* memo = nullptr) {
    m.wait_began({.name = name, .began = start, .memo = memo});
    m.waited({.name = name,
              .number = number,
              .began = start,
              .ended = start + d,
              .contended = contended,
              .result = result,
              .memo = memo});
}

void hold(metrics& m, std::string_view name, duration d, error_code reason = {},
          lock_memo* memo = nullptr) {
    m.hold_began({.name = name, .number = 1, .began = start, .memo = memo});
    m.held({.name = name,
            .number = 1,
            .began = start,
            .ended = start + d,
            .reason = reason,
            .memo = memo});
}

std::vector<std::string> names_of(const metrics_snapshot& s) {
    std::vector<std::string> names;
    for (const class_metrics& c : s.classes) {
        names.push_back(c.name);
    }
    return names;
}

std::uint64_t waits_of(const class_metrics& c, wait_outcome o) {
    return c.waits[static_cast<std::size_t>(o)].count();
}

TEST(metrics, has_one_class_where_nobody_names_others) {
    metrics m;
    EXPECT_EQ(names_of(m.snapshot()), std::vector<std::string>{"all"});
    hold(m, "orders:1", 1s);
    hold(m, "users:2", 2s);
    const metrics_snapshot s = m.snapshot();
    ASSERT_EQ(s.classes.size(), 1U);
    EXPECT_EQ(s.classes[0].holds[0].count(), 2U);
    EXPECT_EQ(s.classes[0].holds[0].sum, 3s);
}

TEST(metrics, tells_the_outcomes_of_waits_apart) {
    metrics m;
    wait(m, "a", 1ms, {}, 7);
    wait(m, "a", 1ms);
    wait(m, "a", 1ms, errc::timed_out);
    wait(m, "a", 1ms, boost::asio::error::operation_aborted);
    wait(m, "a", 1ms, errc::not_connected);
    wait(m, "a", 1ms, errc::deadlock);
    wait(m, "a", 1ms, errc::wrong_type);
    const class_metrics c = m.snapshot().classes.at(0);
    for (std::size_t i = 0; i < c.waits.size(); ++i) {
        EXPECT_EQ(c.waits[i].count(), 1U) << to_string(static_cast<wait_outcome>(i));
    }
    EXPECT_EQ(c.acquired_uncontended, 1U);
    EXPECT_EQ(c.acquired_contended, 0U);
    EXPECT_EQ(to_string(wait_outcome::failed), "failed");
}

TEST(metrics, tells_contended_acquisitions_apart) {
    metrics m;
    wait(m, "a", 1ms, {}, 7, true);
    wait(m, "a", 1ms, errc::timed_out, 0, true);
    const class_metrics c = m.snapshot().classes.at(0);
    EXPECT_EQ(c.acquired_contended, 1U);
    EXPECT_EQ(c.acquired_uncontended, 0U);
}

TEST(metrics, tells_the_ends_of_holds_and_the_reasons_of_losses_apart) {
    metrics m;
    hold(m, "a", 1s);
    hold(m, "a", 1s, errc::client_closed);
    for (const errc why : {errc::lease_expired, errc::renewal_refused, errc::lock_lost,
                           errc::lost_in_failover, errc::max_hold_reached, errc::no_progress}) {
        hold(m, "a", 1s, why);
    }
    const class_metrics c = m.snapshot().classes.at(0);
    EXPECT_EQ(c.holds[static_cast<std::size_t>(hold_end::released)].count(), 1U);
    EXPECT_EQ(c.holds[static_cast<std::size_t>(hold_end::lost)].count(), 6U);
    EXPECT_EQ(c.holds[static_cast<std::size_t>(hold_end::closed)].count(), 1U);
    EXPECT_EQ(c.lost, (std::array<std::uint64_t, 6>{1, 1, 1, 1, 1, 1}));
    EXPECT_EQ(to_string(loss_reason::max_hold_reached), "max_hold_reached");
    EXPECT_EQ(to_string(loss_reason::no_progress), "no_progress");
}

TEST(metrics, a_bucket_has_its_bound_in_it) {
    metrics m;
    for (const duration d :
         {0ns, duration{100us}, duration{100us} + 1ns, duration{1h}, duration{1h} + 1ns}) {
        wait(m, "a", d);
    }
    const auto counts = m.snapshot().classes.at(0).waits[1].counts;
    EXPECT_EQ(counts[0], 2U);
    EXPECT_EQ(counts[1], 1U);
    EXPECT_EQ(counts[counts.size() - 2], 1U);
    EXPECT_EQ(counts[counts.size() - 1], 1U);
}

TEST(metrics, knows_who_waits_and_who_holds_now) {
    metrics m;
    m.wait_began({.name = "a", .began = start});
    m.wait_began({.name = "a", .began = start});
    m.hold_began({.name = "a", .number = 1, .began = start});
    EXPECT_EQ(m.snapshot().classes.at(0).waiting_now, 2U);
    EXPECT_EQ(m.snapshot().classes.at(0).held_now, 1U);
    m.waited({.name = "a", .began = start, .ended = start});
    m.held({.name = "a", .number = 1, .began = start, .ended = start});
    EXPECT_EQ(m.snapshot().classes.at(0).waiting_now, 1U);
    EXPECT_EQ(m.snapshot().classes.at(0).held_now, 0U);
}

TEST(metrics, a_hold_is_long_after_an_hour) {
    metrics m;
    const time_point then = start - 61min;
    m.hold_began({.name = "a", .number = 1, .began = then});
    m.hold_began({.name = "a", .number = 2, .began = then});
    m.hold_began({.name = "a", .number = 3, .began = start - 50min});
    EXPECT_EQ(m.snapshot().classes.at(0).held_long_now, 2U);
    m.held({.name = "a", .number = 1, .began = then, .ended = start});
    EXPECT_EQ(m.snapshot().classes.at(0).held_long_now, 1U);
    EXPECT_EQ(m.snapshot().classes.at(0).held_now, 2U);
}

TEST(metrics, counts_renewals_and_permits) {
    metrics m{{.class_of = &before_colon}};
    m.renewed({.name = "a", .late = 0ns});
    m.renewed({.name = "b", .late = 2s});
    m.rate_asked({.name = "api:1", .permits = 3, .granted = true});
    m.rate_asked({.name = "api:2", .permits = 2});
    m.rate_asked({.name = "api:2", .permits = 2, .result = errc::timed_out});
    m.rate_asked({.name = "api:2", .permits = 1, .result = errc::not_connected});
    const metrics_snapshot s = m.snapshot();
    EXPECT_EQ(s.renewal_lateness.count(), 2U);
    EXPECT_EQ(s.renewal_lateness.sum, 2s);
    ASSERT_EQ(names_of(s), std::vector<std::string>{"api"});
    EXPECT_EQ(s.classes[0].rate_permits, (std::array<std::uint64_t, 3>{3, 4, 1}));
    EXPECT_FALSE(s.classes[0].has_locks());
}

TEST(metrics, a_class_has_locks_from_the_first_wait_or_hold_on) {
    metrics waited_for{{.class_of = &before_colon}};
    waited_for.wait_began({.name = "a:1"});
    EXPECT_TRUE(waited_for.snapshot().classes.at(0).has_locks());
    waited_for.waited({.name = "a:1", .result = errc::timed_out});
    EXPECT_TRUE(waited_for.snapshot().classes.at(0).has_locks());
    metrics nested{{.class_of = &before_colon}};
    nested.hold_began({.name = "a:1"});
    EXPECT_TRUE(nested.snapshot().classes.at(0).has_locks());
    nested.held({.name = "a:1"});
    EXPECT_TRUE(nested.snapshot().classes.at(0).has_locks());
}

TEST(metrics, classes_are_the_users_and_limited_in_number) {
    metrics m{{.class_of = &before_colon, .max_classes = 2}};
    EXPECT_TRUE(m.snapshot().classes.empty());
    for (const char* name : {"b:1", "a:1", "b:2", "c:1", "d:1", "a:2"}) {
        hold(m, name, 1s);
    }
    const metrics_snapshot s = m.snapshot();
    EXPECT_EQ(names_of(s), (std::vector<std::string>{"b", "a", "other"}));
    for (const class_metrics& c : s.classes) {
        EXPECT_EQ(c.holds[0].count(), 2U) << c.name;
    }
}

TEST(metrics, what_is_no_class_is_other) {
    const std::string longest(64, 'x');
    metrics m{{.class_of = [](std::string_view name) {
        return name == "throws" ? throw std::runtime_error{"no class"} : name;
    }}};
    for (const std::string& name :
         {std::string{}, longest + 'x', std::string{"a\n"}, std::string{"\xc3\xa4"},
          std::string{"throws"}, std::string{"other"}, longest}) {
        hold(m, name, 1s);
    }
    const metrics_snapshot s = m.snapshot();
    EXPECT_EQ(names_of(s), (std::vector<std::string>{longest, "other"}));
    EXPECT_EQ(s.classes.at(1).holds[0].count(), 6U);
}

TEST(metrics, asks_once_for_the_class_of_a_lock_with_a_memo) {
    int asked = 0;
    metrics m{{.class_of =
                   [&](std::string_view name) {
                       ++asked;
                       return before_colon(name);
                   },
               .max_classes = 1}};
    lock_memo orders{0};
    lock_memo users{0};
    for (int i = 0; i < 3; ++i) {
        wait(m, "orders:1", 1ms, {}, 1, false, &orders);
        hold(m, "orders:1", 1s, {}, &orders);
        hold(m, "users:1", 1s, {}, &users);
    }
    EXPECT_EQ(asked, 2);
    EXPECT_EQ(m.class_of(hold_span{.name = "users:1", .memo = &users}), "other");
    const metrics_snapshot s = m.snapshot();
    ASSERT_EQ(names_of(s), (std::vector<std::string>{"orders", "other"}));
    EXPECT_EQ(s.classes[0].holds[0].count(), 3U);
    EXPECT_EQ(s.classes[0].acquired_uncontended, 3U);
    EXPECT_EQ(s.classes[1].holds[0].count(), 3U);
}

TEST(metrics, a_memo_of_others_tells_nothing) {
    metrics first{{.class_of = [](std::string_view) { return "first"; }}};
    metrics second{{.class_of = &before_colon}};
    hold(second, "users:1", 1s);
    lock_memo memo{0};
    for (int i = 0; i < 2; ++i) {
        hold(first, "orders:1", 1s, {}, &memo);
        hold(second, "orders:1", 1s, {}, &memo);
    }
    memo = ~0U;
    hold(second, "orders:1", 1s, {}, &memo);
    EXPECT_EQ(names_of(first.snapshot()), std::vector<std::string>{"first"});
    const metrics_snapshot s = second.snapshot();
    ASSERT_EQ(names_of(s), (std::vector<std::string>{"users", "orders"}));
    EXPECT_EQ(s.classes[1].holds[0].count(), 3U);
}

TEST(metrics, a_class_function_that_throws_is_asked_again) {
    bool throws = true;
    metrics m{{.class_of = [&](std::string_view name) {
        return throws ? throw std::runtime_error{"not now"} : before_colon(name);
    }}};
    lock_memo memo{0};
    hold(m, "orders:1", 1s, {}, &memo);
    throws = false;
    hold(m, "orders:1", 1s, {}, &memo);
    EXPECT_EQ(names_of(m.snapshot()), (std::vector<std::string>{"orders", "other"}));
}

TEST(metrics, many_classes_are_kept_apart) {
    metrics m{{.class_of = &before_colon, .max_classes = 1000}};
    for (int turn = 0; turn < 2; ++turn) {
        for (int i = 0; i < 1000; ++i) {
            hold(m, std::to_string(i) + ":x", 1s);
        }
    }
    const metrics_snapshot s = m.snapshot();
    ASSERT_EQ(s.classes.size(), 1000U);
    EXPECT_TRUE(std::all_of(s.classes.begin(), s.classes.end(),
                            [](const class_metrics& c) { return c.holds[0].count() == 2; }));
}

TEST(metrics, connections_are_up_down_or_in_no_gauge) {
    using enum connection_state;
    metrics m;
    const auto gauges_after = [&](connection_state before, connection_state now) {
        m.connection_changed({.server = "127.0.0.1:6379", .before = before, .now = now});
        const metrics_snapshot s = m.snapshot();
        return std::array{s.connections_up, s.connections_down};
    };
    using gauges = std::array<std::uint64_t, 2>;
    EXPECT_EQ(gauges_after(unused, down), (gauges{0, 1}));
    EXPECT_EQ(gauges_after(unused, down), (gauges{0, 2})) << "another client's";
    EXPECT_EQ(gauges_after(down, up), (gauges{1, 1}));
    EXPECT_EQ(gauges_after(up, down), (gauges{0, 2}));
    EXPECT_EQ(gauges_after(down, up), (gauges{1, 1}));
    EXPECT_EQ(gauges_after(up, unused), (gauges{0, 1}));
    EXPECT_EQ(gauges_after(down, unused), (gauges{0, 0}));
}

TEST(metrics, refuses_options_out_of_their_range) {
    EXPECT_THROW(metrics({.max_classes = 0}), std::invalid_argument);
    EXPECT_THROW(metrics({.max_classes = 1001}), std::invalid_argument);
    EXPECT_THROW(metrics({.long_hold = 999ms}), std::invalid_argument);
    EXPECT_THROW(metrics({.long_hold = 8761h}), std::invalid_argument);
}

TEST(metrics, may_be_shared_by_clients_on_several_threads) {
    metrics m{{.class_of = &before_colon, .max_classes = 3}};
    std::array<lock_memo, 5> memos{};
    std::vector<std::jthread> clients;
    for (int i = 0; i < 4; ++i) {
        clients.emplace_back([&m, &memos, i] {
            for (int j = 0; j < 500; ++j) {
                const auto lock = static_cast<std::size_t>((i + j) % 5);
                const std::string name = std::to_string(lock) + ":x";
                wait(m, name, 1ms, {}, 1, false, &memos[lock]);
                hold(m, name, 1s, {}, &memos[lock]);
                if (j % 100 == 0) {
                    EXPECT_LE(m.snapshot().classes.size(), 4U);
                }
            }
        });
    }
    clients.clear();
    const metrics_snapshot s = m.snapshot();
    ASSERT_EQ(s.classes.size(), 4U);
    std::uint64_t waits = 0;
    for (const class_metrics& c : s.classes) {
        waits += waits_of(c, wait_outcome::granted);
        EXPECT_EQ(c.held_now, 0U);
        EXPECT_EQ(c.held_long_now, 0U);
        EXPECT_EQ(c.holds[0].count(), waits_of(c, wait_outcome::granted));
    }
    EXPECT_EQ(waits, 2000U);
}

TEST(age_counts, a_unit_of_a_round_before_does_not_count) {
    impl::age_counts ages{1s};
    const time_point zero{};
    ages.began(zero + 1s);
    EXPECT_EQ(ages.young(zero + 60s), 1);
    EXPECT_EQ(ages.young(zero + 61s), 0);
    ages.began(zero + 129s);  // the same place
    EXPECT_EQ(ages.young(zero + 129s), 1);
    EXPECT_EQ(ages.young(zero + 188s), 1);
    ages.ended(zero + 1s, 129s);
    EXPECT_EQ(ages.young(zero + 130s), 1) << "the old one was not taken for the new one";
    ages.ended(zero + 129s, 1s);
    EXPECT_EQ(ages.young(zero + 130s), 0);
    EXPECT_EQ(ages.young(zero + 10'000s), 0);
}

TEST(age_counts, who_is_told_a_round_late_does_not_count_in_the_place_of_another) {
    impl::age_counts ages{1s};
    const time_point zero{};
    ages.began(zero + 200s);
    ages.began(zero + 60s);  // the place of 188
    EXPECT_EQ(ages.young(zero + 200s), 1);
    ages.ended(zero + 60s, 141s);
    EXPECT_EQ(ages.young(zero + 201s), 1);
}

}  // namespace
