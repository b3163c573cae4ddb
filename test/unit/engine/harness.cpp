// SPDX-License-Identifier: BSL-1.0
#include "unit/engine/harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace conch::test {
namespace {

std::uint64_t owner_of(const lock_options& o) noexcept { return o.owner ? o.owner->id() : 0; }

}  // namespace

config quiet() {
    config c;
    c.ping_interval = std::chrono::hours{1};
    return c;
}

engine_harness::engine_harness(config c, std::uint64_t seed, std::size_t place,
                               std::string_view client_id)
    : settings{std::move(c)}, engine{settings, client_id, seed}, place_{place} {
    turn();
}

engine_harness::~engine_harness() {
    close();
    for (std::size_t i = 0; i < operations_.size(); ++i) {
        EXPECT_EQ(operations_[i].completions, 1) << "operation " << i;
        EXPECT_EQ(operations_[i].running, nullptr) << "operation " << i;
    }
    EXPECT_EQ(engine.next_deadline(), core::never);
    EXPECT_TRUE(place_ >= engine.links() || !engine.has_output(place_));
    EXPECT_EQ(engine.belongings().watched_waits, 0u);
    const stats s = counters();
    EXPECT_EQ(s.slots_now, 0u);
    EXPECT_EQ(s.subscriptions_now, 0u);
    EXPECT_EQ(s.holds_now, 0u);
    EXPECT_EQ(s.waiting_now, 0u);
}

void engine_harness::begin() {
    in_turn_ = true;
    engine.begin_turn(now_);
}

void engine_harness::end() {
    engine.end_turn();
    in_turn_ = false;
    collect();
    if (wanted() != connected_) {
        connected_ = 0;
    }
    if (!blocked_) {
        write();
    }
}

void engine_harness::collect() {
    for (lock::completion& c : engine.completions()) {
        auto& o = *static_cast<operation*>(c.tag);
        ++o.completions;
        o.ec = c.ec;
        o.view = std::move(c.view);
        o.said = c.said;
        o.at = now_;
    }
    engine.completions().clear();
}

void engine_harness::write() {
    while (connected_ != 0 && engine.has_output(place_)) {
        std::string out;
        engine.stage(out, place_);
        ++writes_;
        for (command& c : read_commands(out)) {
            sent_.push_back(std::move(c));
        }
    }
}

void engine_harness::turn() {
    turn([] {});
}

void engine_harness::advance(duration d) {
    const time_point until = now_ + d;
    int turns = 0;
    while (engine.next_deadline() <= until) {
        ASSERT_LT(++turns, 100'000) << "the engine spins";
        now_ = std::max(now_, engine.next_deadline());
        turn();
    }
    now_ = until;
    turn();
}

void engine_harness::wait_for_attempt() {
    for (int i = 0; wanted() == 0; ++i) {
        ASSERT_LT(i, 2000) << "no connection is wanted";
        advance(std::chrono::milliseconds{1});
    }
}

void engine_harness::open() {
    wait_for_attempt();
    const std::vector<command> before = std::exchange(sent_, {});
    turn([&] {
        connected_ = wanted();
        engine.connected(place_);
    });
    const std::size_t steps = (settings.database != 0 ? 4 : 3) + wire::preloaded_scripts;
    EXPECT_EQ(sent_.size(), steps) << "something was written before the greeting was answered";
    sent_ = before;
}

void engine_harness::connect(std::int64_t client_id, std::string_view run) {
    open();
    feed(greeting(client_id, run, settings.database != 0));
}

void engine_harness::connect_and_refuse(std::string_view words) {
    open();
    feed(error(words));
}

void engine_harness::break_connection() {
    turn([&] { engine.connection_broken("reset by peer", {}, place_); });
}

void engine_harness::feed(const std::string& bytes) {
    turn([&] {
        ASSERT_NE(connected_, 0u) << "there is no connection to read from";
        const auto room = engine.input(place_).prepare(bytes.size());
        std::copy(bytes.begin(), bytes.end(), room.begin());
        engine.input(place_).commit(bytes.size());
        engine.received(place_);
    });
    while (engine.halted() && !in_turn_) {
        turn();
    }
}

std::vector<std::string> engine_harness::sent() { return texts(sent_commands()); }

std::vector<command> engine_harness::sent_commands() { return std::exchange(sent_, {}); }

void engine_harness::unblock_writes() {
    blocked_ = false;
    turn();
}

operation& engine_harness::lock(std::string_view name, const lock_options& o) {
    operation& op = add();
    turn([&] { engine.acquire(spec(name), o, false, {&op, &op.running}, owner_of(o)); });
    return op;
}

operation& engine_harness::try_lock(std::string_view name, const lock_options& o) {
    operation& op = add();
    turn([&] { engine.acquire(spec(name), o, true, {&op, &op.running}, owner_of(o)); });
    return op;
}

operation& engine_harness::unlock(const impl::view_ptr& view) {
    operation& op = add();
    turn([&] { engine.unlock(view, {&op, &op.running}); });
    return op;
}

operation& engine_harness::wait_lost(const impl::view_ptr& view, duration before) {
    operation& op = add();
    turn([&] { engine.wait_lost(view, before, {&op, &op.running}); });
    return op;
}

operation& engine_harness::extend(const impl::view_ptr& view, duration lease) {
    operation& op = add();
    turn([&] { engine.extend(view, lease, {&op, &op.running}); });
    return op;
}

operation& engine_harness::leave(const impl::view_ptr& view, duration lease) {
    operation& op = add();
    turn([&] { engine.leave(view, lease, {&op, &op.running}); });
    return op;
}

operation& engine_harness::downgrade(const impl::view_ptr& view) {
    operation& op = add();
    turn([&] { engine.downgrade(view, {&op, &op.running}); });
    return op;
}

operation& engine_harness::note(const impl::view_ptr& view, std::string_view name,
                                const impl::once_note& what, impl::once_answer* result) {
    operation& op = add();
    turn([&] { engine.note(view, spec(name), what, {&op, &op.running}, result); });
    return op;
}

operation& engine_harness::status(std::string_view name, lock_status* result,
                                  const status_options& options) {
    operation& op = add();
    turn([&] { engine.status(spec(name), options, {&op, &op.running}, result); });
    return op;
}

operation& engine_harness::force_unlock(std::string_view name) {
    operation& op = add();
    turn([&] { engine.force_unlock(spec(name), {&op, &op.running}); });
    return op;
}

operation& engine_harness::permits(const impl::rate_spec_ptr& limit, std::uint64_t n,
                                   duration wait) {
    operation& op = add();
    turn([&] { engine.permits(limit, n, wait, false, {&op, &op.running}, &op.verdict); });
    return op;
}

operation& engine_harness::try_permits(const impl::rate_spec_ptr& limit, std::uint64_t n) {
    operation& op = add();
    turn([&] { engine.permits(limit, n, {}, true, {&op, &op.running}, &op.verdict); });
    return op;
}

operation& engine_harness::take(const impl::count_spec_ptr& of, std::int64_t n, duration wait) {
    operation& op = add();
    turn([&] { engine.acquire_permits(of, n, wait, false, {&op, &op.running}); });
    return op;
}

operation& engine_harness::try_take(const impl::count_spec_ptr& of, std::int64_t n) {
    operation& op = add();
    turn([&] { engine.acquire_permits(of, n, {}, true, {&op, &op.running}); });
    return op;
}

operation& engine_harness::change(const impl::count_spec_ptr& of, lock::counter_change::kind what,
                                  std::int64_t n) {
    operation& op = add();
    turn([&] { engine.change_permits(of, what, n, {&op, &op.running}, &op.number); });
    return op;
}

void engine_harness::cancel(operation& o, error_code why) {
    turn([&] {
        ASSERT_NE(o.running, nullptr) << "the engine doesn't know this operation any more";
        engine.cancel(*o.running, why);
    });
}

void engine_harness::release(const impl::view_ptr& view) {
    turn([&] { engine.release(*view); });
}

void engine_harness::detach(const impl::view_ptr& view) {
    turn([&] { engine.detach(*view); });
}

void engine_harness::shutdown(duration drain) {
    turn([&] { engine.shutdown(drain); });
}

void engine_harness::close() {
    engine.close();
    connected_ = 0;
    collect();
}

impl::view_ptr engine_harness::grant(std::string_view name, const lock_options& o) {
    operation& op = lock(name, o);
    if (connected_ == 0) {
        connect();
    }
    sent();
    reply(granted("1"));
    EXPECT_TRUE(op.granted()) << name;
    return op.view;
}

impl::spec_ptr engine_harness::spec(std::string_view name, const mutex_options& o) {
    if (!specs_.contains(name)) {
        use(conch::protocol::mutex_protocol, name, o);
    }
    return specs_.find(name)->second;
}

void engine_harness::use(const protocol::lock_protocol& kind, std::string_view name,
                         const mutex_options& o, std::uint32_t permits) {
    specs_.insert_or_assign(std::string{name}, impl::lock_spec::make(kind, name, o, permits));
}

}  // namespace conch::test
