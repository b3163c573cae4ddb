// SPDX-License-Identifier: BSL-1.0
// The scripts never shorten a TTL, unless they are told to, and who takes a lock over from another
// field of its client gets the lease that it asked for.
#include "sim/redis/lua_host.hpp"
#include "sim/scripts/player.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace {

using namespace conch;
using namespace conch::sim;
using namespace conch::sim::test;
using wire::script_id;

constexpr std::int64_t minute_us = 60'000'000;

/// A family of locks, by its scripts.
struct family {
    const char* name;
    script_id acquire;
    script_id renew;
    script_id nest;
};

void PrintTo(const family& f, std::ostream* out) { *out << f.name; }

class ttl_scripts : public ::testing::TestWithParam<family> {
protected:
    std::string acquire(const std::string& field, const std::string& lease,
                        const words& from = {}) {
        words args{field, lease, "0"};
        args.insert(args.end(), from.begin(), from.end());
        return p.ask(call_of(GetParam().acquire, {"lock"}, args));
    }
    std::string renew(const std::string& lease) {
        return p.ask(call_of(GetParam().renew, {"lock"}, {mine, lease}));
    }
    std::string nest(const std::string& lease) {
        return p.ask(call_of(GetParam().nest, {"lock"}, {mine, "2", lease}));
    }
    std::string ttl() { return p.ask({"PTTL", "lock"}); }
    static std::string told(const std::string& number) { return ":" + number + "\r\n"; }

    script_player p{};
};

TEST_P(ttl_scripts, a_renewal_does_not_shorten_what_is_left_and_tells_it) {
    acquire(mine, one_hour);
    EXPECT_EQ(renew(one_minute), "*1\r\n" + told(one_hour));
    EXPECT_EQ(ttl(), told(one_hour));
}

TEST_P(ttl_scripts, a_check_tells_what_is_left_even_if_that_is_hardly_anything) {
    acquire(mine, "2");
    EXPECT_EQ(renew("0"), "*1\r\n" + told("2"));
    p.now_us += 1000;
    EXPECT_EQ(renew("0"), "*1\r\n" + told("2")) << "1 would be: no TTL, or as was asked for";
    p.now_us += 1000;
    EXPECT_EQ(renew("0"), "*1\r\n" + told("2")) << "it ends in this millisecond";
}

TEST_P(ttl_scripts, a_deeper_level_does_not_shorten_what_is_left) {
    acquire(mine, one_hour);
    EXPECT_EQ(nest(one_minute), told("1"));
    EXPECT_EQ(ttl(), told(one_hour));
}

TEST_P(ttl_scripts, both_raise_what_is_less) {
    acquire(mine, one_minute);
    EXPECT_EQ(renew(one_hour), "*1\r\n" + told("1"));
    EXPECT_EQ(ttl(), told(one_hour));
    p.now_us += minute_us;
    EXPECT_EQ(nest(one_hour), told("1"));
    EXPECT_EQ(ttl(), told(one_hour));
}

TEST_P(ttl_scripts, who_takes_over_gets_the_lease_that_it_asked_for) {
    acquire(mine, one_hour);
    EXPECT_EQ(acquire(other, one_minute, {mine}), "$0\r\n\r\n");
    EXPECT_EQ(ttl(), told(one_minute)) << "its client knows of no longer one";
}

TEST_P(ttl_scripts, an_acquire_that_is_sent_again_shortens_nothing) {
    acquire(mine, one_hour);
    EXPECT_EQ(acquire(mine, one_minute), "$0\r\n\r\n");
    EXPECT_EQ(ttl(), told(one_hour));
}

TEST_P(ttl_scripts, an_acquire_that_is_sent_again_begins_its_lease_anew) {
    acquire(mine, one_minute);
    p.now_us += minute_us / 2;
    EXPECT_EQ(acquire(mine, one_minute), "$0\r\n\r\n");
    EXPECT_EQ(ttl(), told(one_minute));
}

TEST_P(ttl_scripts, nobody_takes_over_from_who_does_not_hold_it) {
    EXPECT_EQ(acquire(other, one_minute, {mine}), told("-2"));
    EXPECT_EQ(p.ask({"EXISTS", "lock"}), told("0"));
    acquire("a stranger:1", one_hour);
    EXPECT_EQ(acquire(other, one_minute, {mine}), told(one_hour));
    EXPECT_EQ(ttl(), told(one_hour));
}

// A stranger took its end away. Who was told to come back at once would ask without a pause.
TEST(shared_scripts, a_waiting_writer_without_end_keeps_readers_off_for_an_unknown_time) {
    script_player p;
    p.ask({"SET", "conch_rw_writer:{lock}", "1", "PX", "3000"});
    const words read =
        call_of(script_id::shared_read, {"lock", "lock:timeout", "conch_rw_writer:{lock}"},
                {mine, one_hour});
    EXPECT_EQ(p.ask(read), ":3000\r\n");
    p.ask({"PERSIST", "conch_rw_writer:{lock}"});
    EXPECT_EQ(p.ask(read), ":-1\r\n");
}

TEST(shared_scripts, a_check_tells_what_is_left_of_a_read_hold_even_if_that_is_hardly_anything) {
    script_player p;
    p.ask(call_of(script_id::shared_read, {"lock", "lock:timeout", "conch_rw_writer:{lock}"},
                  {mine, "1"}));
    EXPECT_EQ(p.ask(call_of(script_id::shared_renew, {"lock", "lock:timeout"}, {mine, "0"})),
              "*1\r\n:2\r\n");
}

/// A lock that two readers have, the first one for longer, and whose expiry a stranger took away.
class endless_shared_scripts : public ::testing::Test {
protected:
    endless_shared_scripts() {
        read(mine, one_hour);
        read(other, one_minute);
        p.ask({"PERSIST", "lock"});
    }
    std::string read(const std::string& field, const std::string& lease) {
        return p.ask(call_of(script_id::shared_read,
                             {"lock", deadline_of(field), "conch_rw_writer:{lock}"},
                             {field, lease}));
    }
    std::string renew_other() {
        return p.ask(
            call_of(script_id::shared_renew, {"lock", deadline_of(other)}, {other, one_minute}));
    }
    static std::string deadline_of(const std::string& field) { return "{lock}:" + field; }
    std::string ttl() { return p.ask({"PTTL", "lock"}); }

    script_player p{};
};

TEST_F(endless_shared_scripts, no_reader_gives_it_an_end_that_is_too_soon_for_another) {
    read(other, one_minute);
    EXPECT_EQ(ttl(), ":-1\r\n");
    renew_other();
    EXPECT_EQ(ttl(), ":-1\r\n");
    p.ask(call_of(script_id::renew, {"lock"}, {other, one_minute}));
    EXPECT_EQ(ttl(), ":-1\r\n") << "where its keys are at two servers";
}

// As who may not read hashes.
TEST_F(endless_shared_scripts, a_renewal_that_can_not_look_at_it_renews_the_other_locks) {
    p.ask(call_of(script_id::acquire, {"b"}, {mine, one_minute, "0"}));
    for (const std::size_t looks : {2, 3}) {
        lua_host::instance().fail_call(looks, "NOPERM this user has no permissions");
        EXPECT_EQ(p.ask(call_of(script_id::renew, {"lock", "b"}, {other, "0", mine, one_hour})),
                  "*2\r\n:1\r\n:1\r\n");
        EXPECT_EQ(p.ask({"PTTL", "b"}), ":3600000\r\n");
    }
}

TEST_F(endless_shared_scripts, the_last_reader_gives_it_an_end) {
    p.ask(call_of(script_id::shared_release, {"lock", deadline_of(mine)},
                  {"redisson_rwlock:{lock}", "publish", mine}));
    renew_other();
    EXPECT_EQ(ttl(), ":60000\r\n");
}

INSTANTIATE_TEST_SUITE_P(families, ttl_scripts,
                         ::testing::Values(family{"mutex", script_id::acquire, script_id::renew,
                                                  script_id::nest},
                                           family{"token_mutex", script_id::value_acquire,
                                                  script_id::value_renew, script_id::value_nest}),
                         [](const auto& one) { return std::string{one.param.name}; });

}  // namespace
