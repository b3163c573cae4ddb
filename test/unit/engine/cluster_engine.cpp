// SPDX-License-Identifier: BSL-1.0
#include "unit/engine/cluster_engine.hpp"

#include <cstdint>
#include <utility>

namespace conch::test {
namespace {

constexpr int last_part = static_cast<int>(wire::hash_slots) - 1;

config settings_with(sharded_messages messages, log_sink warnings, bool looks_for_deadlocks) {
    config c = cluster_settings(2);
    c.cluster->sharded = messages;
    c.log = std::move(warnings);
    c.least_log_level = log_level::warning;
    c.deadlock_detection = looks_for_deadlocks;
    return c;
}

std::string part_at(int first, int last, std::string_view node) {
    const auto colon = node.find(':');
    return colon == node.npos ? part_of(first, last, node)
                              : part_of(first, last, node.substr(0, colon),
                                        std::stoi(std::string{node.substr(colon + 1)}));
}

std::string parts(std::string_view owner, std::string_view other) {
    return array(part_at(0, last_part - 1, owner), part_at(last_part, last_part, other));
}

}  // namespace

cluster_engine::cluster_engine(const replica_options& usual, sharded_messages messages,
                               log_sink warnings, bool looks_for_deadlocks)
    : settings{settings_with(messages, std::move(warnings), looks_for_deadlocks)}, usual_{usual} {
    turn([] {});
}

cluster_engine::~cluster_engine() {
    engine.close();
    collect();
    for (const operation& o : operations_) {
        EXPECT_EQ(o.completions, 1);
        EXPECT_EQ(o.running, nullptr);
    }
    EXPECT_EQ(engine.next_deadline(), core::never);
    EXPECT_TRUE(nothing_is_left());
}

bool cluster_engine::nothing_is_left() const {
    const engine::inventory i = engine.belongings();
    return i.pending + i.acquisitions + i.levels + i.waiters + i.watchers + i.extensions +
               i.level_changes + i.downgrades + i.notes + i.watched_waits + i.queries + i.slots +
               i.renewals ==
           0;
}

void cluster_engine::advance(duration d) {
    const time_point until = now_ + d;
    while (engine.next_deadline() <= until) {
        now_ = std::max(now_, engine.next_deadline());
        turn([] {});
    }
    now_ = until;
    turn([] {});
}

void cluster_engine::collect() {
    for (lock::completion& c : engine.completions()) {
        auto& o = *static_cast<operation*>(c.tag);
        ++o.completions;
        o.ec = c.ec;
        o.view = std::move(c.view);
        o.at = now_;
    }
    engine.completions().clear();
}

impl::spec_ptr cluster_engine::spec_of(const std::string& name,
                                       const replica_options& terms) const {
    return impl::lock_spec::make(*kind, name, {.replicas = terms});
}

operation& cluster_engine::lock(const std::string& name, const lock_options& how,
                                const replica_options& terms, bool try_only) {
    operation& op = operations_.emplace_back();
    turn([&] { engine.acquire(spec_of(name, terms), how, try_only, {&op, &op.running}); });
    return op;
}

operation& cluster_engine::unlock(const operation& op) {
    operation& end = operations_.emplace_back();
    turn([&] { engine.unlock(op.view, {&end, &end.running}); });
    return end;
}

operation& cluster_engine::wait_lost(const operation& op) {
    operation& loss = operations_.emplace_back();
    turn([&] { engine.wait_lost(op.view, {}, {&loss, &loss.running}); });
    return loss;
}

operation& cluster_engine::extend(const operation& op, duration lease) {
    operation& longer = operations_.emplace_back();
    turn([&] { engine.extend(op.view, lease, {&longer, &longer.running}); });
    return longer;
}

operation& cluster_engine::leave(const operation& op, duration lease) {
    operation& left = operations_.emplace_back();
    turn([&] { engine.leave(op.view, lease, {&left, &left.running}); });
    return left;
}

operation& cluster_engine::status(const std::string& name, lock_status* result,
                                  const status_options& options) {
    operation& op = operations_.emplace_back();
    turn([&] { engine.status(spec_of(name, usual_), options, {&op, &op.running}, result); });
    return op;
}

void cluster_engine::cancel(operation& op) {
    const error_code why =
        boost::system::errc::make_error_code(boost::system::errc::operation_canceled);
    turn([&] {
        ASSERT_NE(op.running, nullptr) << "the engine doesn't know this operation any more";
        engine.cancel(*op.running, why);
    });
    EXPECT_TRUE(op.ended(why));
}

operation& cluster_engine::hold(const std::string& name, const lock_options& how) {
    operation& op = lock(name, how);
    learn();
    connect("m1");
    reply("m1", granted());
    if (usual_.at_least > 0) {
        reply("m1", integer(1));
    }
    EXPECT_TRUE(op.granted());
    sent("m1");
    return op;
}

void cluster_engine::learn(std::string_view owner, std::string_view other) {
    accept(asked, hello(1));
    told_ = parts(owner, other);
    read(asked, told_);
}

void cluster_engine::learn_again(std::string_view owner, std::string_view other) {
    for (int n = 0; written(asked).empty(); ++n) {
        ASSERT_LT(n, 5000) << "nobody asks";
        advance(1ms);
    }
    told_ = parts(owner, other);
    read(asked, told_);
}

void cluster_engine::tell_the_same() {
    const std::uint64_t wanted = engine.wanted_connection(asked);
    if (wanted != 0 && wanted != asked_node_) {
        accept(asked, hello(1));
    }
    if (!written(asked).empty()) {
        read(asked, told_);
    }
}

void cluster_engine::refuse_to_tell(std::string_view words) {
    for (std::size_t n = 0; n < settings.cluster->addresses.size(); ++n) {
        accept(asked, hello(1));
        read(asked, error(words));
    }
}

void cluster_engine::connect(std::string_view host, std::string_view run) {
    std::string answers = hello(7) + replication("master", run) + info(run);
    for (std::size_t n = 0; n < wire::preloaded_scripts; ++n) {
        answers += bulk("sha");
    }
    accept(place_of(host), answers);
}

std::string cluster_engine::name_at_m2() {
    int n = 0;
    while (wire::hash_slot_of(std::to_string(n)) != last_part) {
        ++n;
    }
    return std::to_string(n);
}

void cluster_engine::connect_to_m2() {
    operation& op = lock(name_at_m2());
    connect("m2");
    reply("m2", granted());
    if (usual_.at_least > 0) {
        reply("m2", integer(0));
        EXPECT_TRUE(op.ended(errc::not_replicated));
    } else {
        EXPECT_TRUE(op.granted());
        release(op);
    }
    reply("m2", integer(0));
    sent("m2");
}

void cluster_engine::break_connection(std::string_view host) {
    turn([&] { engine.connection_broken("reset by peer", {}, place_of(host)); });
}

bool cluster_engine::leads_to(std::string_view host) const { return find(host) != nowhere; }

std::size_t cluster_engine::find(std::string_view host) const {
    std::size_t found = nowhere;
    for (std::size_t i = 0; i < engine.links(); ++i) {
        // The first is the one of other locks.
        const wire::address& there = engine.target(i);
        if (i != asked && (there.host == host || there.text() == host)) {
            found = i;
        }
    }
    return found;
}

std::size_t cluster_engine::place_of(std::string_view host) const {
    const std::size_t found = find(host);
    EXPECT_NE(found, nowhere) << "no link to " << host;
    return found == nowhere ? main_link : found;
}

void cluster_engine::accept(std::size_t i, const std::string& answers) {
    for (int n = 0; engine.wanted_connection(i) == 0; ++n) {
        ASSERT_LT(n, 2000) << "no connection is wanted";
        advance(1ms);
    }
    if (i == asked) {
        asked_node_ = engine.wanted_connection(asked);
    }
    turn([&] { engine.connected(i); });
    read(i, answers);
}

void cluster_engine::read(std::size_t i, const std::string& bytes) {
    if (!in_turn_) {
        written(i);
    }
    turn([&] {
        const auto room = engine.input(i).prepare(bytes.size());
        std::copy(bytes.begin(), bytes.end(), room.begin());
        engine.input(i).commit(bytes.size());
        engine.received(i);
    });
}

void cluster_engine::reply(std::string_view host, const std::string& bytes) {
    read(place_of(host), bytes);
}

lines cluster_engine::written(std::size_t i) {
    std::string out;
    while (engine.has_output(i)) {
        engine.stage(out, i);
    }
    return texts(read_commands(out));
}

}  // namespace conch::test
