// SPDX-License-Identifier: BSL-1.0
#include "hold/holds.hpp"

#include "unit/hold/holds_fixture.hpp"
#include "unit/wire/text.hpp"

#include <utility>

// Holds without anybody who waits: what they tell, and what follows from the answer.
namespace conch::test {
namespace {

using namespace std::chrono_literals;

lines said_by_holds;
bool next_passes = false;
bool next_hands_over = false;

constexpr lock::hold_events recorder{
    .confirmed = [](lock::acquisition&, errc) { said_by_holds.emplace_back("confirmed"); },
    .pass_on =
        [](lock::acquisition&) {
            said_by_holds.emplace_back("pass on?");
            return next_passes;
        },
    .hand_over =
        [](lock::acquisition&) {
            said_by_holds.emplace_back("hand over?");
            return next_hands_over;
        },
    .downgraded =
        [](lock::acquisition&, bool done) {
            said_by_holds.emplace_back(done ? "downgraded" : "not downgraded");
        },
    .ended =
        [](lock::acquisition&, bool releasing) {
            said_by_holds.emplace_back(releasing ? "ended, releasing" : "ended");
        },
    .release_reached = [](lock::lock_name&,
                          std::int64_t) { said_by_holds.emplace_back("reached"); },
    .forgotten = [](lock::lock_name&) { said_by_holds.emplace_back("forgotten"); },
};

constexpr wire::call_type mute_acquire{
    .name = "acquire",
    .after_loss = wire::retry::replay,
    .order = wire::priority::normal,
    .encode = [](wire::call&, resp::writer&) {},
    .done = [](wire::call&, const wire::outcome&) {},
};

struct lone_name : lock::lock_name {
    using lock_name::lock_name;

    impl::view_ptr grant(time_point now, duration lease) {
        lock::acquisition& a =
            client.pool.make(*this, spec, {.lease = lease}, forever, mute_acquire);
        acquisitions_.add(a);
        client.keeping.set_deadline(a, now, lease);
        acquisitions_.begin_hold(a);
        return client.keeping.add_level(a, now);
    }
};

struct holds_alone : holds_fixture {
    holds_alone() {
        said_by_holds.clear();
        next_passes = next_hands_over = false;
        done.admit();
    }
    ~holds_alone() override {
        view = {};
        a.for_each_acquisition([&](lock::acquisition& one) {
            if (one.now == lock::acquisition::phase::held) {
                holds.keeping.lose(one, errc::client_closed);
            }
        });
        a.for_each_acquisition([&](lock::acquisition& one) {
            env.timers.cancel(one.timer);
            if (one.releasing && one.releasing->where == wire::call::state::waiting) {
                servers.withdraw(*one.releasing);
            }
            a.forget(one);
        });
    }

    lines news() { return std::exchange(said_by_holds, {}); }
    bool answered(error_code with) {
        return done.queued().size() == 1 && done.queued().front().ec == with;
    }

    lock::holds holds{env, done, servers, "c", recorder};
    lone_name a{holds, exclusive("a")};
    impl::view_ptr view = a.grant(env.now, 10s);
    int tag = 0;
    const lock::caller from{&tag, nullptr};
};

TEST_F(holds_alone, a_release_leaves_if_no_waiter_takes_the_lock) {
    holds.keeping.release_level(view, from);
    EXPECT_EQ(news(), (lines{"pass on?", "hand over?", "ended, releasing"}));
    EXPECT_TRUE(done.queued().empty()) << "the server has not answered";
}

TEST_F(holds_alone, what_is_passed_on_is_released_at_once) {
    next_passes = true;
    holds.keeping.release_level(view, from);
    EXPECT_EQ(news(), lines{"pass on?"});
    EXPECT_TRUE(answered({}));
}

TEST_F(holds_alone, what_is_handed_over_needs_no_release_of_its_own) {
    next_hands_over = true;
    holds.keeping.release_level(view, from);
    EXPECT_EQ(news(), (lines{"pass on?", "hand over?"}));
    a.for_each_acquisition(
        [](lock::acquisition& one) { EXPECT_EQ(one.releasing->where, wire::call::state::idle); });
}

TEST_F(holds_alone, what_is_detached_is_forgotten) {
    holds.keeping.detach_level(*view);
    EXPECT_EQ(news(), (lines{"ended", "forgotten"}));
    EXPECT_EQ(holds.pool.live(), 0u);
}

TEST_F(holds_alone, what_the_server_lost_is_told_and_forgotten) {
    holds.keeping.watch(view, {}, from);
    a.for_each_acquisition([&](lock::acquisition& one) { holds.keeping.lose_gone(one); });
    EXPECT_EQ(news(), (lines{"ended", "forgotten"}));
    EXPECT_TRUE(answered(errc::lock_lost));
}

TEST_F(holds_alone, a_lease_that_is_over_is_lost_and_released) {
    holds.keeping.watch(view, {}, from);
    go_on_to(time_point{duration{view->valid_until.load()}});
    EXPECT_TRUE(answered(errc::lease_expired));
    EXPECT_EQ(news(), (lines{"hand over?", "ended, releasing"}));
}

TEST_F(holds_alone, who_is_told_ahead_of_time_is_told_once) {
    holds.keeping.watch(view, 2s, from);
    go_on_to(env.now + 8s);
    EXPECT_TRUE(answered(errc::lease_expired));
    EXPECT_EQ(holds.keeping.watchers(), 0u);
    EXPECT_EQ(holds.keeping.levels(), 1u) << "it is held for a while yet";
}

}  // namespace
}  // namespace conch::test
