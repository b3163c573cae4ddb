// SPDX-License-Identifier: BSL-1.0
// The scripts by themselves, whatever lease they are told: they never shorten a TTL. The engine
// asks for no less than is left of what it knows; others may have raised it since.
#include "support/redis_test.hpp"
#include "wire/script.hpp"

#include <cstdint>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

const std::string owner = "00000000-0000-0000-0000-000000000000:1";
const std::string an_hour = "3600000";
const std::string a_minute = "60000";
constexpr std::int64_t least_of_an_hour = 3'000'000;

/// A family of locks, by its scripts.
struct family {
    const char* name;
    wire::script_id acquire;
    wire::script_id renew;
    wire::script_id nest;
};

class script_ttl : public redis_test, public ::testing::WithParamInterface<family> {
protected:
    reply run_script(wire::script_id id, raw_client::words args) {
        args.insert(args.begin(), {"EVAL", std::string{wire::get_script(id).body}, "1", "lock"});
        return raw.must(args);
    }
    reply acquire(const std::string& lease) {
        return run_script(GetParam().acquire, {owner, lease, "", "0"});
    }
    std::int64_t renew(const std::string& lease) {
        return run_script(GetParam().renew, {owner, lease}).items.at(0).number;
    }
    std::int64_t nest(const std::string& lease) {
        return run_script(GetParam().nest, {owner, "2", lease}).number;
    }
};

TEST_P(script_ttl, is_not_shortened_by_a_renewal) {
    acquire(an_hour);
    EXPECT_EQ(renew(a_minute), 1);
    EXPECT_GT(raw.pttl("lock"), least_of_an_hour);
}

TEST_P(script_ttl, is_not_shortened_by_a_deeper_level) {
    acquire(an_hour);
    EXPECT_EQ(nest(a_minute), 1);
    EXPECT_GT(raw.pttl("lock"), least_of_an_hour);
}

TEST_P(script_ttl, is_not_shortened_by_an_acquire_that_is_sent_again) {
    acquire(an_hour);
    EXPECT_EQ(acquire(a_minute).type, reply::kind::string) << "granted, as the first time";
    EXPECT_GT(raw.pttl("lock"), least_of_an_hour);
}

TEST_P(script_ttl, is_not_changed_by_a_look) {
    acquire(an_hour);
    EXPECT_EQ(renew("0"), 1);
    EXPECT_GT(raw.pttl("lock"), least_of_an_hour);
}

TEST_P(script_ttl, is_raised_by_each_of_them) {
    acquire(a_minute);
    EXPECT_EQ(renew(an_hour), 1);
    EXPECT_GT(raw.pttl("lock"), least_of_an_hour);
    raw.must({"PEXPIRE", "lock", a_minute});
    EXPECT_EQ(nest(an_hour), 1);
    EXPECT_GT(raw.pttl("lock"), least_of_an_hour);
    raw.must({"PEXPIRE", "lock", a_minute});
    acquire(an_hour);
    EXPECT_GT(raw.pttl("lock"), least_of_an_hour);
}

TEST_P(script_ttl, that_somebody_took_away_is_given_back_by_a_renewal) {
    acquire(an_hour);
    raw.must({"PERSIST", "lock"});
    EXPECT_EQ(renew(an_hour), 1);
    EXPECT_GT(raw.pttl("lock"), least_of_an_hour);
}

INSTANTIATE_TEST_SUITE_P(families, script_ttl,
                         ::testing::Values(family{"mutex", wire::script_id::acquire,
                                                  wire::script_id::renew, wire::script_id::nest},
                                           family{"token_mutex", wire::script_id::token_acquire,
                                                  wire::script_id::token_renew,
                                                  wire::script_id::token_nest}),
                         [](const auto& one) { return std::string{one.param.name}; });

}  // namespace
