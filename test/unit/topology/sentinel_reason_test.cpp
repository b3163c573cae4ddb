// SPDX-License-Identifier: BSL-1.0
// What those are told who wait in vain, and which of a sentinel and a server is to blame.
#include "unit/topology/sentinel_harness.hpp"

namespace {

using namespace conch::test;
using conch::errc;

struct topology_sentinel_reason : topology_sentinel {
    void refuse_password() {
        servers.connection(asked).connected();
        sent(asked);
        reply(asked, error("WRONGPASS invalid username-password pair"));
    }
    void know_nothing() {
        EXPECT_EQ(meet_sentinel(), question);
        reply(asked, subscribed_to("+switch-master") + knows_none());
    }
    /// What a sentinel that names no other is told by a master again and again, for long.
    template <typename Refuse>
    void meet_in_vain(Refuse refuse) {
        submit(a);
        just_find_master("m1");
        for (int i = 0; i < 3; ++i) {
            while (!wanted(main_link)) {
                advance(timers.next() - now);
            }
            refuse();
            EXPECT_FALSE(wanted(main_link));
            if (!sent(asked).empty()) {
                reply(asked, just_names("m1"));
            }
            advance(1s);
        }
    }
};

TEST_F(topology_sentinel_reason, of_one_outlives_the_silence_of_another) {
    submit(a);
    know_nothing();
    servers.connection(asked).broken("refused");
    EXPECT_EQ(news, lines{}) << "the other may know more";
    EXPECT_EQ(servers.main().why_down(), errc::unknown_master);
    EXPECT_EQ(durable().why_down(), errc::unknown_master);
    EXPECT_EQ(servers.last_words(), "sentinel s1:26379: it knows no master named m");
}

TEST_F(topology_sentinel_reason, is_the_first_that_will_not_pass) {
    submit(a);
    servers.connection(asked).broken("refused");
    refuse_password();
    EXPECT_EQ(servers.main().why_down(), errc::authentication_failed);
    EXPECT_EQ(servers.last_words(), "sentinel s2:26379: WRONGPASS invalid username-password pair");
}

TEST_F(topology_sentinel_reason, is_of_the_last_round) {
    submit(a);
    refuse_password();
    servers.connection(asked).broken("refused");
    advance(100ms);
    servers.connection(asked).broken("refused");
    servers.connection(asked).broken("refused too");
    EXPECT_EQ(servers.main().why_down(), errc::not_connected);
    EXPECT_EQ(servers.last_words(), "sentinel s2:26379: refused too");
}

TEST_F(topology_sentinel_reason, is_none_once_the_master_is_known) {
    submit(a);
    refuse_password();
    servers.connection(asked).broken("refused");
    advance(100ms);
    find_master("m1");
    EXPECT_EQ(servers.main().why_down(), errc::not_connected);
    servers.connection(main_link).broken("no route");
    EXPECT_EQ(servers.last_words(), "no route");
}

TEST_F(topology_sentinel_reason, of_the_master_is_not_the_sentinels_fault) {
    meet_in_vain([&] {
        servers.connection(main_link).connected();
        sent(main_link);
        reply(main_link, error("WRONGPASS invalid username-password pair"));
    });
    EXPECT_EQ(target(asked), "s1:26379");
    EXPECT_TRUE(servers.connection(asked).ready());
}

TEST_F(topology_sentinel_reason, is_not_the_sentinels_fault_where_the_master_is_not_trusted) {
    meet_in_vain(
        [&] { servers.connection(main_link).broken("host name mismatch", errc::tls_failed); });
    EXPECT_EQ(target(asked), "s1:26379");
    EXPECT_TRUE(servers.connection(asked).ready());
}

TEST_F(topology_sentinel_reason, is_not_in_the_words_of_the_one_before) {
    submit(a);
    servers.connection(asked).broken("refused");
    EXPECT_EQ(meet_sentinel(), question);
    servers.connection(asked).broken("reset");
    advance(100ms);
    servers.connection(asked).broken("refused");
    EXPECT_EQ(meet_sentinel(), question);
    servers.connection(asked).broken("reset");
    EXPECT_EQ(servers.last_words(), "sentinel s2:26379: the connection broke");
}

}  // namespace
