// SPDX-License-Identifier: BSL-1.0
#include "hold/pending.hpp"

#include "hold/attempt.hpp"

#include <gtest/gtest.h>

namespace conch::test {
namespace {

struct completions : testing::Test {
    lock::completions done{};
    lock::pending* running = nullptr;
    int tag = 0;
    const lock::caller from{&tag, &running};
};

TEST_F(completions, an_operation_is_completed_once) {
    lock::unlock u{from};
    done.admit();
    EXPECT_EQ(running, &u);
    EXPECT_EQ(done.unanswered(), 1u);

    done.complete(u, errc::timed_out);
    EXPECT_TRUE(u.completed());
    EXPECT_EQ(running, nullptr);
    EXPECT_EQ(done.unanswered(), 0u);
    done.complete(u, {});

    ASSERT_EQ(done.queued().size(), 1u);
    EXPECT_EQ(done.queued().front().tag, &tag);
    EXPECT_EQ(done.queued().front().ec, errc::timed_out);
}

TEST_F(completions, a_caller_that_nobody_is_needs_no_answer) {
    done.answer({}, errc::timed_out);
    EXPECT_TRUE(done.queued().empty());
}

TEST_F(completions, an_answer_needs_no_object) {
    done.admit();
    done.answer(from, {}, {}, impl::remark::done);
    ASSERT_EQ(done.queued().size(), 1u);
    EXPECT_EQ(done.queued().front().said, impl::remark::done);
    EXPECT_EQ(done.unanswered(), 0u);
}

TEST_F(completions, who_is_refused_was_never_counted) {
    done.refuse(from, errc::overloaded);
    ASSERT_EQ(done.queued().size(), 1u);
    EXPECT_EQ(done.queued().front().ec, errc::overloaded);
    EXPECT_EQ(done.unanswered(), 0u);
}

TEST_F(completions, who_cancels_is_told_why) {
    lock::unlock u{from};
    done.admit();
    u.what.cancel(done, u, errc::client_closed);
    ASSERT_EQ(done.queued().size(), 1u);
    EXPECT_EQ(done.queued().front().ec, errc::client_closed);
}

}  // namespace
}  // namespace conch::test
