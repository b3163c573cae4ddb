// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_GROUP_HARNESS_HPP
#define CONCH_TEST_UNIT_GROUP_HARNESS_HPP

#include "group/lock_group.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace conch::test {

using namespace std::chrono_literals;
using group::lock_group;

struct fake_hold final : impl::composite_view {
    explicit fake_hold(time_point end) : composite_view{how} {
        valid_until.store(end.time_since_epoch().count());
    }
    static const kind how;
};
inline const fake_hold::kind fake_hold::how{
    .until = [](const composite_view& v) noexcept { return time_point{duration{v.valid_until}}; },
    .note_progress = [](composite_view& v, time_point at) noexcept { v.reported.raise(at); },
    .destroy = [](composite_view& v) noexcept { delete static_cast<fake_hold*>(&v); }};

/// Seen by one thread.
struct lone_view final : group::view {
    explicit lone_view(std::size_t n) : view{how, n} {}
    static const kind how;
};
inline const group::view::kind lone_view::how{
    {.until = &group::view::until,
     .note_progress = &group::view::note_progress,
     .destroy = [](impl::composite_view& v) noexcept { delete static_cast<lone_view*>(&v); }},
    [](const group::view&) noexcept {},
    [](const group::view&) noexcept {}};

/// A group whose members are played by the test: what it wants of them is written down, like
/// "try 0 2", and answered when the test says so.
class group_test : public testing::Test, private group::members {
protected:
    static constexpr duration patience = 50ms;  ///< for one answer

    explicit group_test(std::size_t n = 3) : group_test{n, group::terms::majority(n, patience)} {}
    group_test(std::size_t n, const group::terms& how)
        : under_test{new lock_group{*this, n, settings, how, 1}}, size_{n} {}
    ~group_test() override { under_test.reset(); }

    using words = std::vector<std::string>;
    static inline const words nothing{};

    /// A turn in which `input` is called, at the present time; what was done in it, in order.
    template <typename Input>
    words turn(Input&& input) {
        under_test->begin_turn(now);
        input();
        under_test->end_turn();
        return std::exchange(done_, {});
    }
    /// Time passes: a turn at each deadline.
    words pass(duration d) {
        words all;
        const time_point end = now + d;
        while (under_test->next_deadline() <= end) {
            now = std::max(now, under_test->next_deadline());
            const words some = turn([] {});
            all.insert(all.end(), some.begin(), some.end());
        }
        now = end;
        return all;
    }

    /// A caller of its own for each.
    struct caller {
        bool done = false;
        error_code ec{};
        impl::view_ptr hold{};
        impl::remark said = impl::remark::none;
        lock_status status{};
    };
    words lock(caller& c, const lock_options& o = {}) {
        return turn([&] { under_test->acquire(o, false, &c); });
    }
    words try_lock(caller& c, const lock_options& o = {}) {
        return turn([&] { under_test->acquire(o, true, &c); });
    }
    words cancel(caller& c) {
        return turn([&] { under_test->cancel(&c, canceled()); });
    }
    words watch(caller& c, const impl::view_ptr& h, duration before = {}) {
        return turn([&] { under_test->wait_lost(h, before, &c); });
    }
    static error_code canceled() { return std::make_error_code(std::errc::operation_canceled); }

    /// The last question of this kind to this member is answered.
    words answer(const std::string& what, std::size_t member, group::reply r) {
        const auto q = std::find_if(open_.rbegin(), open_.rend(), [&](const question& asked) {
            return asked.what == what && asked.member == member;
        });
        if (q == open_.rend()) {
            ADD_FAILURE() << what << " " << member << " was not asked";
            return {};
        }
        const std::uint64_t id = q->id;
        open_.erase(std::next(q).base());
        return turn([&] { under_test->told(id, std::move(r)); });
    }
    words open_questions(const std::string& what) const {
        words all;
        for (const question& q : open_) {
            if (q.what == what) {
                all.push_back(q.what + " " + std::to_string(q.member));
            }
        }
        return all;
    }
    words answer_all(const std::string& what, const group::reply& r) {
        words all;
        while (!open_questions(what).empty()) {
            const std::size_t member =
                static_cast<std::size_t>(open_questions(what).front().back() - '0');
            const words some = answer(what, member, r);
            all.insert(all.end(), some.begin(), some.end());
        }
        return all;
    }
    words grant(std::size_t member, duration lease = 30s) {
        views_.resize(std::max(views_.size(), member + 1));
        views_[member] = impl::view_ptr{new fake_hold{now + lease}};
        return answer("try", member, {.view = views_[member]});
    }
    words refuse(std::size_t member) { return answer("try", member, {}); }
    words fail(std::size_t member, errc why) { return answer("try", member, {.ec = why}); }
    /// Its hold is lost there, which it tells in a while.
    void lose(std::size_t member, errc why) { views_[member]->lost.store(static_cast<int>(why)); }
    void renew(std::size_t member, duration lease) {
        views_[member]->valid_until.store((now + lease).time_since_epoch().count());
    }
    const impl::view_ptr& member(std::size_t i) const { return views_[i]; }
    const lock_options& asked_for(const std::string& what) const {
        return std::find_if(open_.rbegin(), open_.rend(),
                            [&](const question& q) { return q.what == what; })
            ->options;
    }
    time_point until(const caller& c) const { return impl::end_of(*c.hold); }

    config settings{};
    time_point now{1h};
    std::unique_ptr<lock_group> under_test;

private:
    struct question {
        std::string what;
        std::size_t member;
        std::uint64_t id;
        lock_options options{};
    };

    void ask(const char* what, std::size_t member, std::uint64_t id, const lock_options& o = {}) {
        done_.push_back(std::string{what} + " " + std::to_string(member));
        open_.push_back({what, member, id, o});
    }
    void try_lock(std::size_t member, std::uint64_t id, const lock_options& o) override {
        ask("try", member, id, o);
    }
    void unlock(std::size_t member, std::uint64_t id, const impl::view_ptr&) override {
        ask("unlock", member, id);
    }
    void leave(std::size_t member, std::uint64_t id, const impl::view_ptr&, duration) override {
        ask("leave", member, id);
    }
    void extend(std::size_t member, std::uint64_t id, const impl::view_ptr&, duration) override {
        ask("extend", member, id);
    }
    void wait_lost(std::size_t member, std::uint64_t id, const impl::view_ptr&,
                   duration before) override {
        ask(before == duration{1} ? "watch" : "tell", member, id, {.wait = before});
    }
    void status(std::size_t member, std::uint64_t id, const status_options&) override {
        ask("status", member, id);
    }
    void force_unlock(std::size_t member, std::uint64_t id) override { ask("force", member, id); }
    void withdraw(std::uint64_t id) noexcept override {
        for (const question& q : open_) {
            if (q.id == id) {
                done_.push_back("withdraw " + q.what + " " + std::to_string(q.member));
            }
        }
    }
    void release(std::size_t member, const impl::view_ptr&) noexcept override {
        done_.push_back("release " + std::to_string(member));
    }
    void detach(std::size_t member, const impl::view_ptr&) noexcept override {
        done_.push_back("detach " + std::to_string(member));
    }
    group::view* make_view() override { return new lone_view{size_}; }

protected:
    /// What has ended since the last look.
    void take_completions() {
        for (lock::completion& c : under_test->completions()) {
            auto& to = *static_cast<caller*>(c.tag);
            EXPECT_FALSE(to.done) << "completed twice";
            to.done = true;
            to.ec = c.ec;
            to.hold = std::move(c.view);
            to.said = c.said;
        }
        under_test->completions().clear();
    }
    bool ended(const caller& c) {
        take_completions();
        return c.done;
    }

private:
    const std::size_t size_;
    words done_{};
    std::vector<question> open_{};
    std::vector<impl::view_ptr> views_{};
};

}  // namespace conch::test

#endif
