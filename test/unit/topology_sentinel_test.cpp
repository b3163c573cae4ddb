// SPDX-License-Identifier: BSL-1.0
#include "topology/servers.hpp"
#include "unit/link_harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

// Where the master is, as sentinels tell it, and the way there.
namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::duration;
using conch::errc;
using conch::time_point;

constexpr std::size_t main_link = 0;
constexpr std::size_t asked = 1;

const lines question{"SUBSCRIBE +switch-master", "SENTINEL GET-MASTER-ADDR-BY-NAME m"};
const std::string asked_again = question.back();

conch::config settings_with(std::size_t sentinels) {
    conch::config c;
    c.ping_interval = 1h;
    c.username = "u";
    c.password = "p";
    c.database = 2;
    c.sentinel.emplace();
    c.sentinel->master = "m";
    c.sentinel->password = "of sentinels";
    for (std::size_t i = 1; i <= sentinels; ++i) {
        c.sentinel->addresses.push_back({"s" + std::to_string(i), 26379});
    }
    return c;
}

std::string subscribed_to(std::string_view channel) {
    return push("subscribe", channel, integer(1));
}
std::string message(std::string_view channel, std::string_view text) {
    return push("message", channel, bulk(text));
}
std::string null() { return "_\r\n"; }
std::string at(std::string_view host, std::string_view port = "6379") {
    return array(bulk(host), bulk(port));
}

/// The links of one client on virtual time, and the hand that plays driver, sentinels and masters.
struct topology_sentinel : testing::Test {
    explicit topology_sentinel(std::size_t sentinels = 2) : settings{settings_with(sentinels)} {
        servers.set_now(now);
    }
    ~topology_sentinel() override { servers.close(); }

    void advance(duration d) {
        const time_point until = now + d;
        while (timers.next() <= until) {
            now = std::max(now, timers.next());
            servers.set_now(now);
            while (conch::core::timer* t = timers.pop_due(now)) {
                t->fire(t->owner);
            }
        }
        now = until;
        servers.set_now(now);
    }
    lines sent(std::size_t i) {
        std::string out;
        while (servers.at(i).has_output()) {
            servers.at(i).stage(out);
        }
        return texts(read_commands(out));
    }
    void reply(std::size_t i, const std::string& bytes) {
        auto& link = servers.at(i);
        const auto room = link.input().prepare(bytes.size());
        std::copy(bytes.begin(), bytes.end(), room.begin());
        link.input().commit(bytes.size());
        link.received();
    }
    std::string target(std::size_t i) { return servers.at(i).target().text(); }
    bool wanted(std::size_t i) { return servers.at(i).wanted() != 0; }
    void submit(note& n) { servers.main().submit(n); }

    /// The sentinel that is asked accepts; what it is asked then.
    lines meet_sentinel() {
        EXPECT_TRUE(wanted(asked));
        servers.at(asked).connected();
        EXPECT_EQ(sent(asked), lines{"HELLO 3 AUTH default of sentinels SETNAME conch"});
        reply(asked, hello(1));
        return sent(asked);
    }
    void find_master(std::string_view host) {
        EXPECT_EQ(meet_sentinel(), question);
        reply(asked, subscribed_to("+switch-master") + at(host));
    }
    /// The master accepts; what the greeting was.
    lines meet_master(std::string_view role = "master", std::string_view run = "1111") {
        servers.main().connected();
        lines greeting_sent = sent(main_link);
        reply(main_link, hello(7) + ok() + array(bulk(role), integer(0)) + info(run));
        for (std::size_t i = 0; i < conch::wire::preloaded_scripts && wanted(main_link); ++i) {
            reply(main_link, bulk("sha"));
        }
        return greeting_sent;
    }

    static void on_ready(void* self) {
        static_cast<topology_sentinel*>(self)->news.push_back("ready");
    }
    static void on_lost(void* self, errc why) {
        static_cast<topology_sentinel*>(self)->news.push_back(
            why == errc{} ? "broken" : "lost: " + make_error_code(why).message());
    }

    conch::config settings;
    conch::core::timer_heap timers{};
    conch::core::random jitter{1};
    lines logged{};
    conch::core::log log{
        [this](conch::log_level, std::string_view line) { logged.emplace_back(line); },
        conch::log_level::info};
    conch::stats counters{};
    lines news{};
    time_point now{std::chrono::hours{1}};
    note a{plain_note, "a"};
    conch::topology::servers servers{
        settings, timers, jitter, log, counters, now, {this, &on_ready, &on_lost}};
};

TEST_F(topology_sentinel, the_first_call_asks_and_nothing_is_wanted_before) {
    EXPECT_FALSE(wanted(asked));
    EXPECT_EQ(timers.next(), conch::core::never);
    submit(a);
    EXPECT_FALSE(wanted(main_link));
    EXPECT_TRUE(wanted(asked));
    EXPECT_EQ(target(asked), "s1:26379");
}

TEST_F(topology_sentinel, the_answer_is_where_the_master_is_met) {
    submit(a);
    find_master("m1");
    EXPECT_EQ(target(main_link), "m1:6379");
    ASSERT_TRUE(wanted(main_link));
    const lines greeting_sent = meet_master();
    ASSERT_GE(greeting_sent.size(), 4u);
    EXPECT_EQ(greeting_sent[0], "HELLO 3 AUTH u p SETNAME conch") << "not as the sentinels' user";
    EXPECT_EQ(greeting_sent[1], "SELECT 2");
    EXPECT_EQ(greeting_sent[2], "ROLE");
    EXPECT_EQ(news, lines{"ready"});
    EXPECT_EQ(sent(main_link), lines{"a"});
}

TEST_F(topology_sentinel, a_replica_is_left_and_the_sentinel_asked_again) {
    submit(a);
    find_master("m1");
    meet_master("slave");
    EXPECT_FALSE(wanted(main_link));
    EXPECT_EQ(servers.main().last_words(), "the server is no master: ROLE says slave");
    EXPECT_EQ(sent(asked), lines{asked_again});
    reply(asked, at("m2"));
    EXPECT_TRUE(wanted(main_link)) << "at once";
    EXPECT_EQ(target(main_link), "m2:6379");
    meet_master();
    EXPECT_EQ(sent(main_link), lines{"a"});
}

TEST_F(topology_sentinel, who_may_not_ask_for_the_role_goes_on) {
    submit(a);
    find_master("m1");
    servers.main().connected();
    sent(main_link);
    std::string answers = hello(7) + ok() + error("NOPERM no ROLE") + info("1111");
    for (std::size_t i = 0; i < conch::wire::preloaded_scripts; ++i) {
        answers += bulk("sha");
    }
    reply(main_link, answers);
    EXPECT_EQ(sent(main_link), lines{"a"});
}

TEST_F(topology_sentinel, an_announcement_is_followed_at_once) {
    submit(a);
    find_master("m1");
    meet_master();
    EXPECT_EQ(sent(main_link), lines{"a"});
    reply(asked, message("+switch-master", "m m1 6379 m2 6379"));
    EXPECT_EQ(sent(asked), lines{asked_again});
    reply(asked, at("m2"));
    EXPECT_EQ(target(main_link), "m2:6379");
    ASSERT_TRUE(wanted(main_link));
    meet_master("master", "2222");
    EXPECT_EQ(sent(main_link), lines{"a"}) << "replayed at the new master";
    EXPECT_EQ(news, (lines{"ready", "broken", "ready"}));
}

TEST_F(topology_sentinel, the_same_answer_changes_nothing) {
    submit(a);
    find_master("m1");
    meet_master();
    const auto connection = servers.main().wanted();
    reply(asked, message("+switch-master", "other m1 6379 m2 6379"));
    sent(asked);
    reply(asked, at("m1"));
    EXPECT_EQ(servers.main().wanted(), connection);
}

TEST_F(topology_sentinel, it_asks_from_time_to_time) {
    submit(a);
    find_master("m1");
    meet_master();
    advance(400ms);
    EXPECT_EQ(sent(asked), lines{}) << "about a scan_interval, with jitter";
    advance(600ms);
    EXPECT_EQ(sent(asked), lines{asked_again});
    reply(asked, at("m2"));
    EXPECT_EQ(target(main_link), "m2:6379");
}

TEST_F(topology_sentinel, a_lost_master_is_asked_for_at_once) {
    submit(a);
    find_master("m1");
    meet_master();
    servers.main().broken("reset");
    EXPECT_EQ(sent(asked), lines{asked_again});
    reply(asked, at("m1"));
    EXPECT_FALSE(wanted(main_link)) << "the same: after its pause";
    advance(100ms);
    EXPECT_TRUE(wanted(main_link));
}

TEST_F(topology_sentinel, a_sentinel_that_fails_makes_way_for_the_next_at_once) {
    submit(a);
    servers.at(asked).broken("refused");
    EXPECT_EQ(target(asked), "s2:26379");
    ASSERT_TRUE(wanted(asked));
    find_master("m1");
    EXPECT_EQ(target(main_link), "m1:6379");
}

TEST_F(topology_sentinel, a_silent_sentinel_has_a_second) {
    submit(a);
    advance(1s);
    EXPECT_EQ(target(asked), "s2:26379");
    EXPECT_TRUE(wanted(asked));
}

TEST_F(topology_sentinel, one_that_names_a_dead_master_again_makes_way_for_the_next) {
    submit(a);
    find_master("m1");
    servers.main().broken("refused");
    EXPECT_EQ(sent(asked), lines{asked_again});
    reply(asked, at("m1"));
    EXPECT_EQ(target(asked), "s1:26379") << "it may not know yet";
    advance(1s);
    servers.main().broken("refused");
    EXPECT_EQ(sent(asked), lines{asked_again});
    reply(asked, at("m1"));
    EXPECT_EQ(target(asked), "s2:26379");
    find_master("m2");
    EXPECT_EQ(target(main_link), "m2:6379");
    EXPECT_TRUE(wanted(main_link));
}

TEST_F(topology_sentinel, one_that_names_a_replica_again_too) {
    submit(a);
    find_master("m1");
    meet_master("slave");
    sent(asked);
    reply(asked, at("m1"));
    advance(1s);
    ASSERT_TRUE(wanted(main_link));
    meet_master("slave");
    sent(asked);
    reply(asked, at("m1"));
    EXPECT_EQ(target(asked), "s2:26379");
}

TEST_F(topology_sentinel, a_move_is_no_failed_attempt) {
    settings.retry_attempts = 1;
    submit(a);
    find_master("m1");
    ASSERT_TRUE(wanted(main_link)) << "connecting";
    reply(asked, message("+switch-master", "m m1 6379 m2 6379"));
    sent(asked);
    reply(asked, at("m2"));
    EXPECT_EQ(target(main_link), "m2:6379");
    EXPECT_TRUE(wanted(main_link));
    EXPECT_EQ(news, lines{});
}

TEST_F(topology_sentinel, what_one_of_them_refuses_the_others_may_not) {
    submit(a);
    meet_sentinel();
    reply(asked, subscribed_to("+switch-master") + null());
    servers.at(asked).broken("refused");
    EXPECT_EQ(news, lines{}) << "it may know the name";
}

TEST_F(topology_sentinel, those_that_know_nothing_are_not_asked_without_pause) {
    submit(a);
    const auto from = now;
    for (int i = 0; i < 20; ++i) {
        for (int waited = 0; !wanted(asked) && waited < 100; ++waited) {
            advance(timers.next() - now);
        }
        meet_sentinel();
        reply(asked, subscribed_to("+switch-master") + null());
    }
    EXPECT_GT(now - from, 2s);
}

TEST_F(topology_sentinel, the_words_of_a_sentinel_are_not_those_of_a_master_that_is_there) {
    submit(a);
    find_master("m1");
    meet_master();
    sent(main_link);
    reply(main_link, error("ERR of the master"));
    servers.at(asked).broken("refused");
    servers.at(asked).broken("refused");
    EXPECT_EQ(servers.main().last_words(), "ERR of the master");
}

TEST_F(topology_sentinel, so_has_one_that_falls_silent) {
    submit(a);
    EXPECT_EQ(meet_sentinel(), question);
    advance(1s);
    EXPECT_EQ(target(asked), "s2:26379");
    EXPECT_EQ(meet_sentinel(), question);
}

TEST_F(topology_sentinel, after_all_of_them_it_pauses_and_begins_again) {
    submit(a);
    servers.at(asked).broken("refused");
    servers.at(asked).broken("refused too");
    EXPECT_FALSE(wanted(asked));
    EXPECT_EQ(servers.main().last_words(), "refused too");
    EXPECT_EQ(news, lines{}) << "it may pass";
    advance(200ms);
    EXPECT_TRUE(wanted(asked));
    EXPECT_EQ(target(asked), "s1:26379");
}

TEST_F(topology_sentinel, a_name_that_none_of_them_knows_fails_those_who_wait) {
    submit(a);
    meet_sentinel();
    reply(asked, subscribed_to("+switch-master") + null());
    EXPECT_EQ(target(asked), "s2:26379");
    EXPECT_EQ(news, lines{});
    meet_sentinel();
    reply(asked, subscribed_to("+switch-master") + null());
    EXPECT_EQ(news, lines{"lost: no sentinel knows a master of this name"});
    EXPECT_EQ(servers.main().last_words(), "the sentinel knows no master named m");
}

TEST_F(topology_sentinel, a_password_that_they_refuse_fails_those_who_wait) {
    submit(a);
    for (int i = 0; i < 2; ++i) {
        servers.at(asked).connected();
        sent(asked);
        reply(asked, error("WRONGPASS invalid username-password pair"));
    }
    EXPECT_EQ(news, lines{"lost: the server refused user name or password"});
}

TEST_F(topology_sentinel, nonsense_of_a_sentinel_is_no_address) {
    submit(a);
    meet_sentinel();
    reply(asked, subscribed_to("+switch-master") + array(bulk("m1"), bulk("70000")));
    EXPECT_FALSE(wanted(main_link));
    EXPECT_EQ(target(asked), "s2:26379");
}

TEST_F(topology_sentinel, what_a_replica_may_not_write_is_written_at_its_master) {
    note b{plain_note, "b"};
    submit(a);
    find_master("m1");
    meet_master();
    submit(b);
    EXPECT_EQ(sent(main_link), (lines{"a", "b"}));
    reply(main_link, error("READONLY You can't write against a read only replica."));
    EXPECT_EQ(a.ends, lines{});
    EXPECT_FALSE(wanted(main_link));
    EXPECT_EQ(sent(asked), lines{asked_again});
    reply(asked, at("m2"));
    meet_master("master", "2222");
    EXPECT_EQ(sent(main_link), (lines{"a", "b"})) << "in their order";
    reply(main_link, integer(1) + integer(2));
    EXPECT_EQ(a.ends, lines{":1"});
    EXPECT_EQ(b.ends, lines{":2"});
}

TEST_F(topology_sentinel, an_abandoned_call_is_not_sent_to_the_new_master) {
    submit(a);
    find_master("m1");
    meet_master();
    sent(main_link);
    a.wanted = false;
    reply(main_link, error("READONLY You can't write against a read only replica."));
    EXPECT_EQ(a.ends.size(), 1u);
    sent(asked);
    reply(asked, at("m2"));
    meet_master("master", "2222");
    EXPECT_EQ(sent(main_link), lines{});
}

TEST_F(topology_sentinel, after_its_end_nothing_is_asked) {
    submit(a);
    find_master("m1");
    servers.close();
    advance(1h);
    EXPECT_FALSE(wanted(asked));
    EXPECT_FALSE(wanted(main_link));
    EXPECT_EQ(a.ends, lines{"lost"});
}

}  // namespace
