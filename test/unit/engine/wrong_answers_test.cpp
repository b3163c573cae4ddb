// SPDX-License-Identifier: BSL-1.0
// A server that answers anything: each call ends in time, nothing loops, and nobody gets a lock
// that the answer doesn't give.
#include "support/rate_algorithms.hpp"
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

std::vector<std::string> answers() {
    const std::string text_like[] = {bulk(""),  bulk("17"), bulk("x"),
                                     "+OK\r\n", "+\r\n",    "=7\r\ntxt:abc\r\n"};
    std::vector<std::string> all{integer(0),
                                 integer(1),
                                 integer(-1),
                                 integer(-2),
                                 integer(-3),
                                 integer(5),
                                 integer(9223372036854775807),
                                 integer(-9223372036854775807),
                                 "_\r\n",
                                 "$-1\r\n",
                                 "*-1\r\n",
                                 "#t\r\n",
                                 "#f\r\n",
                                 ",1.5\r\n",
                                 ",inf\r\n",
                                 "(12345678901234567890\r\n",
                                 "*0\r\n",
                                 "%0\r\n",
                                 "~0\r\n",
                                 array(integer(1)),
                                 array(integer(-2)),
                                 array(bulk("master")),
                                 array(integer(5), bulk("17")),
                                 array(bulk("a"), integer(0), array(bulk("b"))),
                                 array(array(integer(1)), array(integer(1))),
                                 array(integer(-1), bulk("inf")),
                                 array(integer(1), integer(1), integer(1), integer(1)),
                                 array(integer(-1), integer(-1), integer(-1), integer(-1)),
                                 array(integer(5), bulk("x"), bulk("holder"), bulk("1")),
                                 "%1\r\n" + bulk("err") + bulk("x"),
                                 "~1\r\n" + integer(1),
                                 error("ERR no"),
                                 error("WRONGTYPE no"),
                                 error("NOPERM no"),
                                 "!3\r\nbad\r\n"};
    all.insert(all.end(), std::begin(text_like), std::end(text_like));
    return all;
}

bool is_text(const std::string& answer) {
    return answer[0] == '$' ? answer != "$-1\r\n" : answer[0] == '+' || answer[0] == '=';
}

bool is_error(const std::string& answer) { return answer[0] == '-' || answer[0] == '!'; }

/// The server's own error is told, and anything else that is no answer as such.
void expect_failed(const operation& op) {
    EXPECT_TRUE(op.done());
    EXPECT_TRUE(op.ec);
    EXPECT_EQ(op.ec == errc::protocol_error,
              !is_error(::testing::WithParamInterface<std::string>::GetParam()));
}

/// Answers each script with one wrong answer, and all else well, for so long.
class wrongly_answered : public ::testing::Test {
protected:
    static constexpr int most_scripts = 400;

    explicit wrongly_answered(const std::string& answer) : wrong{answer} {}

    void play(duration d) {
        for (const time_point end = h.now() + d; h.now() < end && scripts < most_scripts;) {
            answer_all();
            h.advance(50ms);
        }
        EXPECT_LT(scripts, most_scripts) << "asked again and again";
    }

    void answer_all() {
        for (auto sent = h.sent_commands(); !sent.empty() && scripts < most_scripts;
             sent = h.sent_commands()) {
            for (const command& c : sent) {
                if (c.name == "SUBSCRIBE" || c.name == "UNSUBSCRIBE") {
                    h.reply(c.name == "SUBSCRIBE" ? subscribed("a") : unsubscribed("a"));
                } else if (c.name.ends_with("release") && !wrong_releases) {
                    released = true;
                    h.reply(integer(0));
                } else if (c.keys.empty() && c.name != "SET") {
                    h.reply("+PONG\r\n");
                } else {
                    ++scripts;
                    h.reply(wrong);
                }
            }
        }
    }

    const std::string wrong;
    engine_harness h{};
    int scripts = 0;
    bool wrong_releases = false;
    bool released = false;
};

class wrong_answers : public wrongly_answered, public ::testing::WithParamInterface<std::string> {
protected:
    wrong_answers() : wrongly_answered{GetParam()} {}
};

TEST_P(wrong_answers, to_an_acquire_give_a_lock_only_if_they_are_text) {
    operation& op = h.lock("a", {.wait = 1s});
    h.connect();
    play(10s);
    EXPECT_TRUE(op.done()) << "it outlives its wait";
    EXPECT_EQ(op.granted(), is_text(GetParam()));
}

TEST_P(wrong_answers, to_a_fenced_acquire_give_a_lock_only_if_they_are_a_number_above_0) {
    h.use(conch::protocol::mutex_protocol, "a", {.fenced = true});
    operation& op = h.lock("a", {.wait = 1s});
    h.connect();
    play(10s);
    EXPECT_TRUE(op.done()) << "it outlives its wait";
    EXPECT_EQ(op.granted(), GetParam() == bulk("17"));
    if (is_text(GetParam()) && !op.granted()) {  // it may have taken the lock
        EXPECT_TRUE(op.ended(errc::protocol_error));
        EXPECT_TRUE(released);
    }
}

TEST_P(wrong_answers, to_a_try_end_it) {
    operation& op = h.try_lock("a");
    h.connect();
    play(10s);
    const std::string& answer = GetParam();
    const bool of_others = answer[0] == ':' && (answer[1] != '-' || answer == integer(-1));
    if (is_text(answer)) {
        EXPECT_TRUE(op.granted());
    } else if (of_others) {
        EXPECT_TRUE(op.ended({}));
    } else {
        expect_failed(op);
    }
}

TEST_P(wrong_answers, to_renewals_never_prolong_the_lock_without_end) {
    operation& op = h.lock("a", {.lease = 3s});
    h.connect();
    h.sent();
    h.reply(granted());
    ASSERT_TRUE(op.granted());
    operation& lost = h.wait_lost(op.view);
    play(10s);
    const std::string& answer = GetParam();
    const bool of_many = answer.size() > 4 && (answer[0] == '*' || answer[0] == '~');
    const std::string first = of_many ? answer.substr(4) : "";
    const bool renewed = first.starts_with(":") && first[1] != '-' && first[1] != '0';
    EXPECT_EQ(lost.done(), !renewed);
    h.release(op.view);
    play(10s);
}

TEST_P(wrong_answers, to_a_release_end_the_unlock) {
    const impl::view_ptr view = h.grant("a", {.lease = 3s});
    wrong_releases = true;
    operation& op = h.unlock(view);
    play(10s);
    EXPECT_TRUE(op.done());
}

TEST_P(wrong_answers, to_a_question_end_it) {
    lock_status s;
    operation& status = h.status("a", &s);
    lock_status more;
    operation& with_clients = h.status("a", &more, {.clients = true});
    operation& force = h.force_unlock("a");
    wrong_releases = true;
    h.connect();
    play(10s);
    expect_failed(force);
    if (GetParam() == array(integer(5), bulk("x"), bulk("holder"), bulk("1"))) {
        EXPECT_TRUE(status.ended({}));
        EXPECT_TRUE(with_clients.ended({}));
        EXPECT_EQ(s.holder, "holder");
    } else {
        expect_failed(status);
        expect_failed(with_clients);
    }
}

TEST_P(wrong_answers, to_what_is_asked_of_clients_and_channels_leave_the_status) {
    lock_status s;
    operation& status = h.status("a", &s, {.clients = true});
    h.connect();
    for (int i = 0; i < 10 && !status.done(); ++i) {
        for (const command& c : h.sent_commands()) {
            h.reply(c.name == "status" ? array(integer(5), bulk(""), bulk("c:7"), bulk("1"))
                                       : wrong);
        }
        h.advance(1s);
    }
    EXPECT_TRUE(status.ended({}));
    EXPECT_EQ(s.holder, "c:7");
}

INSTANTIATE_TEST_SUITE_P(each, wrong_answers, ::testing::ValuesIn(answers()));

/// A kind of lock, and what each of its scripts is answered.
struct kind_and_answer {
    const protocol::lock_protocol* kind;
    std::string answer;

    friend void PrintTo(const kind_and_answer& k, std::ostream* out) { *out << k.answer; }
};

std::vector<kind_and_answer> kinds_and_answers() {
    std::vector<kind_and_answer> all;
    for (const protocol::lock_protocol* kind :
         {&protocol::mutex_protocol, &protocol::value_lock_protocol,
          &protocol::shared_read_protocol, &protocol::shared_write_protocol,
          &protocol::fair_protocol, &protocol::permits_protocol}) {
        for (const std::string& answer : answers()) {
            all.push_back({kind, answer});
        }
    }
    return all;
}

class wrong_answers_to_each_kind : public wrongly_answered,
                                   public ::testing::WithParamInterface<kind_and_answer> {
protected:
    wrong_answers_to_each_kind() : wrongly_answered{GetParam().answer} {
        h.use(*GetParam().kind, "a");
    }
    impl::view_ptr grant(const lock_options& options) {
        operation& op = h.lock("a", options);
        h.connect();
        h.sent();
        h.reply(bulk(""));
        EXPECT_TRUE(op.granted());
        return op.view;
    }
};

TEST_P(wrong_answers_to_each_kind, end_an_acquire_and_a_try_in_time) {
    operation& waits = h.lock("a", {.wait = 1s});
    h.connect();
    play(10s);
    EXPECT_TRUE(waits.done());
    EXPECT_EQ(waits.granted(), is_text(wrong));
    operation& tries = h.try_lock("a");
    play(10s);
    EXPECT_TRUE(tries.done());
}

TEST_P(wrong_answers_to_each_kind, end_each_operation_on_a_hold_in_time) {
    const owner me;
    const lock_options mine{.wait = 1s, .lease = 3s, .owner = &me};
    const impl::view_ptr view = grant(mine);
    operation& deeper = h.lock("a", mine);
    operation& longer = h.extend(view, 60s);
    play(10s);
    EXPECT_TRUE(deeper.done());
    EXPECT_TRUE(longer.done());
    wrong_releases = true;
    operation& ends = h.unlock(view);
    play(10s);
    EXPECT_TRUE(ends.done());
}

TEST_P(wrong_answers_to_each_kind, end_a_question_and_a_forced_release) {
    lock_status s;
    operation& status = h.status("a", &s, {.clients = true});
    operation& force = h.force_unlock("a");
    wrong_releases = true;
    h.connect();
    play(10s);
    EXPECT_TRUE(status.done());
    EXPECT_TRUE(force.done());
}

INSTANTIATE_TEST_SUITE_P(each, wrong_answers_to_each_kind,
                         ::testing::ValuesIn(kinds_and_answers()));

/// An answer to a script of a rate limit.
class wrong_answers_to_limits : public wrongly_answered,
                                public ::testing::WithParamInterface<std::string> {
protected:
    wrong_answers_to_limits() : wrongly_answered{GetParam()} {}
};

TEST_P(wrong_answers_to_limits, give_a_permit_only_if_they_say_so_and_end_the_request) {
    const bool allows = wrong == array(integer(1), integer(1), integer(1), integer(1));
    h.grant("other");
    for (const rate_algorithm how : rate_algorithms) {
        const impl::rate_spec_ptr limit = new impl::rate_spec{"r", {5, 1min}, how};
        operation& waits = h.permits(limit, 1, 1s);
        operation& tries = h.try_permits(limit);
        play(10s);
        EXPECT_TRUE(waits.done());
        EXPECT_EQ(!waits.ec, allows);
        EXPECT_TRUE(tries.done());
        EXPECT_EQ(!tries.ec && tries.verdict.allowed, allows);
        scripts = 0;
    }
}

INSTANTIATE_TEST_SUITE_P(each, wrong_answers_to_limits, ::testing::ValuesIn(answers()));

}  // namespace
