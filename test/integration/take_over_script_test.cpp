// SPDX-License-Identifier: BSL-1.0
// The acquire scripts told to take a lock from another field of the same client: by themselves, on
// a server.
#include "support/redis_test.hpp"
#include "wire/script.hpp"

#include <cstdint>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

const std::string uuid = "00000000-0000-0000-0000-000000000000:";
const std::string first = uuid + "1";
const std::string second = uuid + "2";
const std::string another = "11111111-0000-0000-0000-000000000000:1";
const std::string an_hour = "3600000";
const std::string a_minute = "60000";
constexpr std::int64_t minute_ms = 60'000;

/// A family of locks, by its scripts.
struct family {
    const char* name;
    wire::script_id acquire;
    wire::script_id acquire_many;
    wire::script_id release;
};

class take_over_script : public redis_test, public ::testing::WithParamInterface<family> {
protected:
    reply run_script(wire::script_id id, raw_client::words args,
                     const raw_client::words& keys = {"lock"}) {
        args.insert(args.begin(), keys.begin(), keys.end());
        args.insert(args.begin(), {"EVAL", std::string{wire::get_script(id).body},
                                   std::to_string(keys.size())});
        return raw.command(args);
    }
    reply acquire(const std::string& field, const std::string& lease = a_minute) {
        return run_script(GetParam().acquire, {field, lease, "0"}, {"lock", "token"});
    }
    reply take_over(const std::string& field, const std::string& from,
                    const std::string& lease = a_minute) {
        return run_script(GetParam().acquire, {field, lease, "0", from}, {"lock", "token"});
    }
    // Nobody, if it isn't one alone.
    std::string holder() {
        if (raw.must({"TYPE", "lock"}).text == "hash") {
            const auto all = raw.hgetall("lock");
            return all.size() == 1 && all.begin()->second == "1" ? all.begin()->first : "";
        }
        return raw.command({"GET", "lock"}).text;
    }
};

TEST_P(take_over_script, releases_the_one_and_grants_the_other) {
    const reply before = acquire(first);
    raw.reset_calls();
    const reply after = take_over(second, first);
    ASSERT_EQ(after.type, reply::kind::string) << after.text;
    EXPECT_GT(std::stoull(after.text), std::stoull(before.text));
    EXPECT_EQ(holder(), second);
    EXPECT_EQ(raw.calls("publish"), 0u) << "nobody else shall try";
    EXPECT_EQ(run_script(GetParam().release, {first, "channel"}).number, -1);
    EXPECT_EQ(run_script(GetParam().release, {second, "channel"}).number, 0);
}

TEST_P(take_over_script, has_the_lease_that_it_asked_for) {
    acquire(first, an_hour);
    take_over(second, first, a_minute);
    EXPECT_LE(raw.pttl("lock"), minute_ms) << "its client knows of no longer one";
    EXPECT_GT(raw.pttl("lock"), 0);
}

TEST_P(take_over_script, run_again_it_gives_the_same_and_shortens_nothing) {
    acquire(first);
    const reply once = take_over(second, first, an_hour);
    const reply twice = take_over(second, first, a_minute);
    EXPECT_EQ(twice.text, once.text);
    EXPECT_EQ(holder(), second);
    EXPECT_GT(raw.pttl("lock"), minute_ms);
}

TEST_P(take_over_script, takes_nothing_from_anybody_else) {
    acquire(another);
    const reply r = take_over(second, first);
    ASSERT_EQ(r.type, reply::kind::integer);
    EXPECT_GT(r.number, 0);
    EXPECT_LE(r.number, minute_ms);
    EXPECT_EQ(holder(), another);
}

TEST_P(take_over_script, takes_nothing_that_nobody_holds) {
    EXPECT_EQ(take_over(second, first).number, -2);
    EXPECT_FALSE(raw.exists("lock"));
    acquire(first);
    take_over(second, first);
    run_script(GetParam().release, {second, "channel"});
    EXPECT_EQ(take_over(second, first).number, -2) << "a copy that comes late";
    EXPECT_FALSE(raw.exists("lock"));
}

TEST_P(take_over_script, that_fails_leaves_the_holder) {
    raw.must({"RPUSH", "token", "mine"});
    run_script(GetParam().acquire, {first, a_minute, "0"});
    EXPECT_TRUE(take_over(second, first).is_error());
    EXPECT_EQ(holder(), first);
    EXPECT_GT(raw.pttl("lock"), 0);
}

TEST_P(take_over_script, does_so_for_each_of_several_locks) {
    acquire(first);
    const reply r = run_script(GetParam().acquire_many,
                               {"2", second, a_minute, "0", first, second, a_minute, "0", first},
                               {"lock", "token", "other", "token"});
    ASSERT_EQ(r.items.size(), 2u);
    EXPECT_EQ(r.items[0].type, reply::kind::string);
    EXPECT_EQ(r.items[1].number, -2);
    EXPECT_EQ(holder(), second);
}

INSTANTIATE_TEST_SUITE_P(
    families, take_over_script,
    ::testing::Values(family{"mutex", wire::script_id::acquire, wire::script_id::acquire_many,
                             wire::script_id::release},
                      family{"token_mutex", wire::script_id::value_acquire,
                             wire::script_id::value_acquire_many, wire::script_id::value_release}),
    [](const auto& one) { return std::string{one.param.name}; });

}  // namespace
