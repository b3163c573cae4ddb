// SPDX-License-Identifier: BSL-1.0
// Acquires, and releases, that leave as one script: each has its own answer, as if it were alone.
#include "unit/engine/harness.hpp"
#include "unit/wire/text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace conch::test;
using namespace std::chrono_literals;
using conch::errc;

/// What the server may say of a name that this user has no permission for.
constexpr std::string_view no_key = "NOPERM this user has no permissions to access one of the keys";

constexpr std::string_view no_script = "NOSCRIPT No matching script.";

lines scripts_of(const std::vector<command>& all) {
    lines out;
    for (const command& c : all) {
        out.push_back(c.name);
    }
    return out;
}

struct engine_joint : testing::Test {
    engine_joint() {
        h.release(h.grant("warm"));
        h.reply(integer(0));
        h.sent();
        h.engine.join_from(2);
    }

    /// Acquires of one write.
    void lock(std::initializer_list<std::string_view> names) {
        h.turn([&] {
            for (const std::string_view name : names) {
                h.lock(name);
            }
        });
    }
    operation& of(std::size_t i) { return h.operation_at(1 + i); }

    engine_harness h{};
};

TEST_F(engine_joint, acquires_of_one_write_are_one_script_and_each_has_its_answer) {
    lock({"a", "b", "c"});
    EXPECT_EQ(h.sent(), lines{"acquire_many a b c 3 c:2 30000 0 c:3 30000 0 c:4 30000 0"});
    h.reply(array(granted(), busy(500), error("WRONGTYPE Operation against a key")));
    EXPECT_TRUE(of(0).granted());
    EXPECT_FALSE(of(1).done());
    EXPECT_TRUE(of(2).ended(errc::wrong_type));
    EXPECT_EQ(h.sent(), (lines{subscribe_of("b"), acquire_of("b", 5)}));
}

TEST_F(engine_joint, fenced_ones_name_the_keys_of_their_tokens_and_leave_apart_from_others) {
    h.use(conch::protocol::mutex_protocol, "a", {.fenced = true});
    h.use(conch::protocol::mutex_protocol, "b", {.fenced = true});
    lock({"a", "b", "c", "d"});
    EXPECT_EQ(h.sent(), (lines{"acquire_many a redisson_lock_token:{a} b redisson_lock_token:{b} 2 "
                               "c:2 30000 604800000 c:3 30000 604800000",
                               "acquire_many c d 2 c:4 30000 0 c:5 30000 0"}));
    h.reply(array(granted("7"), busy(500)), array(granted(), granted()));
    EXPECT_TRUE(of(0).granted());
    EXPECT_EQ(of(0).view->fence, 7u);
    EXPECT_FALSE(of(1).done());
    EXPECT_TRUE(of(2).granted());
    EXPECT_TRUE(of(3).granted());
}

TEST_F(engine_joint, so_are_releases) {
    lock({"a", "b"});
    h.reply(array(granted(), granted()));
    h.sent();
    operation* first = nullptr;
    operation* second = nullptr;
    h.turn([&] {
        first = &h.unlock(of(0).view);
        second = &h.unlock(of(1).view);
    });
    EXPECT_EQ(h.sent(),
              lines{join("release_many a b 2 c:2 ", channel_of("a"), " c:3 ", channel_of("b"))});
    h.reply(array(integer(0), integer(-1)));
    EXPECT_TRUE(first->ended({}));
    EXPECT_TRUE(second->ended(errc::lock_lost));
}

TEST_F(engine_joint, few_leave_alone) {
    h.engine.join_from(3);
    lock({"a", "b"});
    EXPECT_EQ(h.sent(), (lines{acquire_of("a", 2), acquire_of("b", 3)}));
}

TEST(engine_joint_default, eight_are_the_fewest_in_one_script) {
    engine_harness h;
    h.release(h.grant("warm"));
    h.reply(integer(0));
    h.sent();
    const auto lock = [&](int count, std::string_view prefix) {
        h.turn([&] {
            for (int i = 0; i < count; ++i) {
                h.lock(join(prefix, i));
            }
        });
        return h.sent_commands().size();
    };
    EXPECT_EQ(lock(7, "a"), 7u);
    EXPECT_EQ(lock(8, "b"), 1u);
}

TEST_F(engine_joint, sixty_four_are_the_most_in_one_script) {
    h.turn([&] {
        for (int i = 0; i < 65; ++i) {
            h.lock(join("n", i));
        }
    });
    const std::vector<command> sent = h.sent_commands();
    ASSERT_EQ(sent.size(), 2u);
    EXPECT_EQ(sent[0].keys.size(), 64u);
    EXPECT_EQ(sent[1].name, "acquire");
}

TEST_F(engine_joint, only_calls_for_the_same_script_join) {
    h.use(conch::protocol::value_lock_protocol, "plain");
    lock({"a", "plain", "b", "c"});
    const std::vector<command> sent = h.sent_commands();
    ASSERT_EQ(sent.size(), 3u);
    EXPECT_EQ(sent[0].name, "acquire");
    EXPECT_EQ(sent[1].name, "SET");
    EXPECT_EQ(sent[2].name, "acquire_many");
}

TEST_F(engine_joint, what_one_of_them_may_not_do_is_not_refused_to_the_others) {
    lock({"a", "forbidden", "b"});
    h.sent();
    h.reply(error(no_key));
    EXPECT_EQ(h.sent(), (lines{acquire_of("a", 2), acquire_of("forbidden", 3), acquire_of("b", 4)}))
        << "each by itself, in their order";
    h.reply(granted(), error(no_key), granted());
    EXPECT_TRUE(of(0).granted());
    EXPECT_TRUE(of(1).ended(errc::permission_denied));
    EXPECT_TRUE(of(2).granted());
}

TEST_F(engine_joint, who_gave_up_meanwhile_is_not_sent_again) {
    lock({"a", "forbidden"});
    h.sent();
    h.cancel(of(0));
    h.reply(error(no_key));
    EXPECT_EQ(h.sent(), lines{acquire_of("forbidden", 3)});
}

TEST_F(engine_joint, a_script_that_the_server_lacks_leaves_again_with_its_text) {
    lock({"a", "b"});
    h.sent();
    h.reply(error(no_script));
    std::vector<command> sent = h.sent_commands();
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].name, "EVAL acquire_many");
    EXPECT_EQ(sent[0].keys, (lines{"a", "b"}));
    h.reply(array(granted(), granted()));
    EXPECT_TRUE(of(0).granted() && of(1).granted());
}

TEST_F(engine_joint, who_left_alone_stays_alone_when_its_text_is_sent) {
    lock({"a", "forbidden"});
    h.sent();
    h.reply(error(no_key));
    EXPECT_EQ(h.sent(), (lines{acquire_of("a", 2), acquire_of("forbidden", 3)}));
    h.reply(error(no_script), error(no_script));
    EXPECT_EQ(scripts_of(h.sent_commands()), (lines{"EVAL acquire", "EVAL acquire"}));
    h.reply(granted(), error(no_key));
    EXPECT_TRUE(of(0).granted());
    EXPECT_TRUE(of(1).ended(errc::permission_denied));
}

// The text that was sent is that of the joint script: the server may lack the other one.
TEST_F(engine_joint, who_was_refused_with_others_by_text_leaves_alone_by_hash_then_by_text) {
    lock({"a", "forbidden"});
    EXPECT_EQ(scripts_of(h.sent_commands()), lines{"acquire_many"});
    h.reply(error(no_script));
    EXPECT_EQ(scripts_of(h.sent_commands()), lines{"EVAL acquire_many"});
    h.reply(error(no_key));
    EXPECT_EQ(h.sent(), (lines{acquire_of("a", 2), acquire_of("forbidden", 3)}));
    h.reply(error(no_script), error(no_script));
    EXPECT_EQ(scripts_of(h.sent_commands()), (lines{"EVAL acquire", "EVAL acquire"}));
    h.reply(granted(), error(no_script));
    EXPECT_TRUE(of(0).granted());
    EXPECT_TRUE(of(1).done()) << "a server that has no use for the text, either";
}

TEST_F(engine_joint, while_the_server_loads_all_of_them_wait) {
    lock({"a", "b"});
    h.sent();
    h.reply(error("LOADING Redis is loading the dataset in memory"));
    EXPECT_EQ(h.sent(), lines{});
    h.advance(100ms);
    const std::vector<command> sent = h.sent_commands();
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].keys.size(), 2u);
}

TEST_F(engine_joint, an_answer_of_another_length_ends_the_connection_and_all_are_asked_again) {
    for (const std::string& answer :
         {array(granted()), array(granted(), granted(), granted()), granted(), integer(1)}) {
        engine_harness other;
        other.release(other.grant("warm"));
        other.reply(integer(0));
        other.sent();
        other.engine.join_from(2);
        other.turn([&] {
            other.lock("a");
            other.lock("b");
        });
        other.sent();
        other.reply(answer);
        EXPECT_FALSE(other.operation_at(1).done());
        EXPECT_FALSE(other.operation_at(2).done());
        other.connect(2);
        const lines sent = other.sent();
        ASSERT_FALSE(sent.empty());
        EXPECT_TRUE(sent.back().starts_with("acquire_many a b 2 c:2 ")) << "the same fields";
    }
}

TEST_F(engine_joint, after_a_lost_connection_those_that_are_wanted_are_asked_again) {
    lock({"a", "b", "c"});
    h.sent();
    h.cancel(of(1));
    h.break_connection();
    h.connect(2);
    EXPECT_EQ(h.sent(), (lines{"CLIENT KILL ID 1", join("release b c:3 ", channel_of("b")),
                               "acquire_many a c 2 c:2 30000 0 c:4 30000 0"}))
        << "what may have been taken for nobody is given back";
}

TEST_F(engine_joint, who_gave_up_is_given_back_by_its_own_answer) {
    lock({"a", "b"});
    h.sent();
    h.cancel(of(0));
    h.reply(array(granted(), granted()));
    EXPECT_TRUE(of(1).granted());
    EXPECT_EQ(h.sent(), lines{release_of("a", 2)});
}

TEST_F(engine_joint, answers_that_are_too_many_for_one_turn_make_another_at_once) {
    constexpr std::size_t some = conch::wire::pipeline::most_joined + 10;
    h.turn([&] {
        for (std::size_t i = 0; i < some; ++i) {
            h.lock(std::string{"n"} + std::to_string(i));
        }
    });
    const auto all_granted = [](std::size_t n) {
        std::string answers = "*" + std::to_string(n) + "\r\n";
        for (std::size_t i = 0; i < n; ++i) {
            answers += granted();
        }
        return answers;
    };
    h.turn([&] { h.reply(all_granted(some - 10), all_granted(10)); });
    EXPECT_TRUE(of(0).granted());
    EXPECT_FALSE(of(some - 1).done());
    EXPECT_EQ(h.engine.next_deadline(), h.now());
    h.advance(0ms);
    EXPECT_TRUE(of(some - 1).granted());
    EXPECT_GT(h.engine.next_deadline(), h.now());
}

}  // namespace
