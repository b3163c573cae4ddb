// SPDX-License-Identifier: BSL-1.0
// A proxy hides a cluster, and refuses scripts with keys of several hash slots: from the first
// refusal on, each hash slot has scripts of its own.
#include "unit/engine/harness.hpp"
#include "unit/wire/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

constexpr std::string_view crosses = "CROSSSLOT Keys in request don't hash to the same slot";

/// Of two hash slots, in no order.
const lines names{"{x}1", "{y}1", "{x}2", "{y}2"};

lines sorted(lines l) {
    std::sort(l.begin(), l.end());
    return l;
}

struct engine_hash_slot : testing::Test {
    engine_hash_slot() {
        h.release(h.grant("warm"));
        h.reply(integer(0));
        h.sent();
        h.engine.join_from(2);
    }

    std::vector<const operation*> lock(const lines& which) {
        std::vector<const operation*> ops;
        h.turn([&] {
            for (const std::string& name : which) {
                ops.push_back(&h.lock(name));
            }
        });
        return ops;
    }

    /// Answers whatever was sent as the proxy does. Returns the keys of each script.
    std::vector<lines> served(const std::string& item) {
        std::vector<lines> keys;
        for (std::vector<command> sent = h.sent_commands(); !sent.empty();
             sent = h.sent_commands()) {
            for (const command& c : sent) {
                keys.push_back(sorted(c.keys));
                h.reply(answer_to(c, item));
            }
        }
        return sorted_lists(keys);
    }

    static std::string answer_to(const command& c, const std::string& item) {
        const auto tag = [](const std::string& key) { return key.substr(0, 3); };
        if (std::any_of(c.keys.begin(), c.keys.end(),
                        [&](const std::string& k) { return tag(k) != tag(c.keys.front()); })) {
            return error(crosses);
        }
        if (c.name == "acquire" || c.name == "release") {
            return item;
        }
        std::string out = join("*", c.keys.size(), "\r\n");
        for (std::size_t i = 0; i < c.keys.size(); ++i) {
            out += item;
        }
        return out;
    }

    static std::vector<lines> sorted_lists(std::vector<lines> l) {
        std::sort(l.begin(), l.end(), [](const lines& a, const lines& b) {
            return a.size() != b.size() ? a.size() > b.size() : a < b;
        });
        return l;
    }

    std::vector<lines> renewed() {
        h.advance(10s);
        return served(integer(1));
    }

    engine_harness h{};
    const std::vector<lines> refused_once{sorted(names), {"{x}1"}, {"{x}2"}, {"{y}1"}, {"{y}2"}};
    const std::vector<lines> by_hash_slot{{"{x}1", "{x}2"}, {"{y}1", "{y}2"}};
};

TEST_F(engine_hash_slot, the_first_renewal_is_refused_and_each_later_one_is_a_script_for_each) {
    h.engine.join_from(100);  // so that none of the acquires is refused
    const auto holds = lock(names);
    EXPECT_EQ(served(granted()).size(), names.size());
    EXPECT_EQ(renewed(), refused_once);
    for (std::uint64_t round = 2; round < 10; ++round) {
        EXPECT_EQ(renewed(), by_hash_slot);
        EXPECT_EQ(h.counters().renewals, round * names.size());
        for (const operation* hold : holds) {
            EXPECT_EQ(lost(hold->view), errc{});
            EXPECT_EQ(valid_until(hold->view), conch::core::lease_end(h.now(), 30s));
        }
    }
    EXPECT_EQ(h.counters().renewal_failures, 0u);
}

TEST_F(engine_hash_slot, acquires_and_releases_remember_it_too) {
    auto holds = lock(names);
    EXPECT_EQ(served(granted()), refused_once);
    const auto release = [&] {
        h.turn([&] {
            for (const operation* hold : holds) {
                ASSERT_TRUE(hold->granted());
                h.release(hold->view);
            }
        });
        return served(integer(0));
    };
    EXPECT_EQ(release().size(), names.size()) << "those of a hash slot are not next to each other";
    holds = lock(sorted(names));
    EXPECT_EQ(served(granted()), by_hash_slot);
    EXPECT_EQ(renewed(), by_hash_slot);
    EXPECT_EQ(release(), by_hash_slot);
}

TEST_F(engine_hash_slot, a_release_may_be_the_first_that_is_refused) {
    h.engine.join_from(100);
    const auto holds = lock(names);
    served(granted());
    h.engine.join_from(2);
    h.turn([&] {
        for (const operation* hold : holds) {
            h.release(hold->view);
        }
    });
    EXPECT_EQ(served(integer(0)), refused_once);
    lock(sorted(names));
    EXPECT_EQ(served(granted()), by_hash_slot);
}

TEST_F(engine_hash_slot, another_connection_changes_nothing) {
    lock(names);
    served(granted());
    h.break_connection();
    h.connect(2, "another server");
    EXPECT_EQ(served(integer(1)), by_hash_slot);
}

TEST_F(engine_hash_slot, a_refusal_for_another_reason_divides_nothing) {
    lock(names);
    h.sent();
    h.reply(error("NOPERM this user has no permissions to access one of the keys"));
    served(granted());
    h.advance(10s);
    EXPECT_EQ(h.sent_commands().at(0).keys.size(), names.size());
}

}  // namespace
