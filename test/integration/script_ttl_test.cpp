// SPDX-License-Identifier: BSL-1.0
// The scripts by themselves, whatever lease they are told: they never shorten a TTL, unless they
// are told to. The engine asks for no less than is left of what it knows; others may have raised it
// since.
#include "support/redis_test.hpp"
#include "wire/script.hpp"

#include <cstdint>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

const std::string first_owner = "00000000-0000-0000-0000-000000000000:1";
const std::string one_hour = "3600000";
const std::string one_minute = "60000";
constexpr std::int64_t ttl_minute_ms = 60'000;
constexpr std::int64_t least_of_an_hour = 3'000'000;

/// A family of locks, by its scripts.
struct ttl_family {
    const char* name;
    wire::script_id acquire;
    wire::script_id renew;
    wire::script_id nest;
};

class script_ttl : public redis_test, public ::testing::WithParamInterface<ttl_family> {
protected:
    reply run_script(wire::script_id id, raw_client::words args) {
        args.insert(args.begin(), {"EVAL", std::string{wire::get_script(id).body}, "1", "lock"});
        return raw.must(args);
    }
    reply acquire(const std::string& lease) {
        return run_script(GetParam().acquire, {first_owner, lease, "0"});
    }
    std::int64_t renew(const std::string& lease) {
        return run_script(GetParam().renew, {first_owner, lease}).items.at(0).number;
    }
    std::int64_t nest(const std::string& lease) {
        return run_script(GetParam().nest, {first_owner, "2", lease}).number;
    }
};

TEST_P(script_ttl, is_not_shortened_by_a_renewal) {
    acquire(one_hour);
    EXPECT_GT(renew(one_minute), least_of_an_hour) << "which is told";
    EXPECT_GT(raw.pttl("lock"), least_of_an_hour);
}

TEST_P(script_ttl, is_not_shortened_by_a_deeper_level) {
    acquire(one_hour);
    EXPECT_EQ(nest(one_minute), 1);
    EXPECT_GT(raw.pttl("lock"), least_of_an_hour);
}

TEST_P(script_ttl, is_not_shortened_by_an_acquire_that_is_sent_again) {
    acquire(one_hour);
    EXPECT_EQ(acquire(one_minute).type, reply::kind::string) << "granted, as the first time";
    EXPECT_GT(raw.pttl("lock"), least_of_an_hour);
}

TEST_P(script_ttl, is_not_changed_by_a_look) {
    acquire(one_hour);
    EXPECT_GT(renew("0"), least_of_an_hour) << "which tells of it";
    EXPECT_GT(raw.pttl("lock"), least_of_an_hour);
}

TEST_P(script_ttl, is_raised_by_each_of_them) {
    acquire(one_minute);
    EXPECT_EQ(renew(one_hour), 1);
    EXPECT_GT(raw.pttl("lock"), least_of_an_hour);
    raw.must({"PEXPIRE", "lock", one_minute});
    EXPECT_EQ(nest(one_hour), 1);
    EXPECT_GT(raw.pttl("lock"), least_of_an_hour);
    raw.must({"PEXPIRE", "lock", one_minute});
    acquire(one_hour);
    EXPECT_GT(raw.pttl("lock"), least_of_an_hour);
}

TEST_P(script_ttl, that_somebody_took_away_is_given_back_by_a_renewal) {
    acquire(one_hour);
    raw.must({"PERSIST", "lock"});
    EXPECT_EQ(renew(one_hour), 1);
    EXPECT_GT(raw.pttl("lock"), least_of_an_hour);
}

TEST_P(script_ttl, is_lowered_if_told_so) {
    acquire(one_hour);
    EXPECT_EQ(renew('-' + one_minute), 1);
    EXPECT_LE(raw.pttl("lock"), ttl_minute_ms);
    EXPECT_GT(raw.pttl("lock"), 0);
}

TEST_P(script_ttl, is_not_raised_by_what_lowers_it) {
    acquire(one_minute);
    EXPECT_GT(renew('-' + one_hour), 0);
    EXPECT_LE(raw.pttl("lock"), ttl_minute_ms);
}

TEST_P(script_ttl, that_somebody_took_away_is_given_back_by_what_lowers_it) {
    acquire(one_hour);
    raw.must({"PERSIST", "lock"});
    EXPECT_EQ(renew('-' + one_minute), 1);
    EXPECT_LE(raw.pttl("lock"), ttl_minute_ms);
    EXPECT_GT(raw.pttl("lock"), 0);
}

TEST_P(script_ttl, of_a_stranger_is_not_lowered) {
    acquire(one_hour);
    EXPECT_EQ(run_script(GetParam().renew, {"another", '-' + one_minute}).items.at(0).number, 0);
    EXPECT_GT(raw.pttl("lock"), least_of_an_hour);
}

INSTANTIATE_TEST_SUITE_P(
    families, script_ttl,
    ::testing::Values(ttl_family{"mutex", wire::script_id::acquire, wire::script_id::renew,
                                 wire::script_id::nest},
                      ttl_family{"token_mutex", wire::script_id::value_acquire,
                                 wire::script_id::value_renew, wire::script_id::value_nest}),
    [](const auto& one) { return std::string{one.param.name}; });

}  // namespace
