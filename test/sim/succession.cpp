// SPDX-License-Identifier: BSL-1.0
// Masters that are replaced, and parts of a cluster that move.
#include "sim/server_node.hpp"

#include "wire/hash_slot.hpp"

namespace conch::sim {
namespace {

/// Who was sent to a shard for once arrives there within that, if at all: it may have been told a
/// second after it had asked.
constexpr instant longest_visit = 1300 * millis;

}  // namespace

bool server_node::may_take_over(std::size_t shard) const noexcept {
    const fleet& f = redis_.processes();
    return f.kind() != deployment::alone && !f.moving() && !is_torn(shard) &&
           running(f.master(shard)) && running(f.replica(shard));
}

bool server_node::take_over(const succession& s, effect* e) {
    if (!may_take_over(s.shard)) {
        return false;
    }
    const fleet::process old = redis_.processes().master(s.shard);
    lose_last_writes(s.lost_writes, s.shard, e);
    machines_[old].awaits_heir = true;
    feel(end_process(old, true, s.heard) ? e : nullptr);
    machines_[old].back.prolong(std::max(s.back, s.promoted), e);
    redis_.set_cluster_down(world_.chance.once_in(2));
    world_.plan<&server_node::promote>(s.promoted, this, s.shard);
    return true;
}

void server_node::promote(std::uint64_t shard, std::uint64_t) {
    const fleet::process old = redis_.processes().master(shard);
    if (!machines_[old].awaits_heir) {
        return;  // it was done before its time
    }
    world_.note("promoted", shard);
    machines_[old].awaits_heir = false;
    redis_.set_cluster_down(false);
    redis_.promote(shard);
    flush();
    world_.plan<&server_node::come_back>(machines_[old].back.until, this, old);
    spread_word();
}

bool server_node::swap_roles(std::size_t shard, effect* e) {
    const fleet& f = redis_.processes();
    const fleet::process old = f.master(shard);
    if (!may_take_over(shard) || !works(old) || !works(f.replica(shard))) {
        return false;
    }
    feel(std::any_of(by_line_.begin(), by_line_.end(),
                     [&](const auto& l) { return process_of(l.first) == old; })
             ? e
             : nullptr);
    redis_.promote(shard);
    learn(old);
    flush();
    spread_word();
    return true;
}

bool server_node::migrate(std::uint16_t slot, std::size_t to, instant pause, effect* e) {
    const fleet& f = redis_.processes();
    if (f.moving() || split_ || f.owner(slot) == to ||
        std::any_of(machines_.begin(), machines_.end(),
                    [](const machine& m) { return m.awaits_heir; })) {
        return false;
    }
    // Who was sent to a shard for once must not meet one that imports the slot again. Of a real
    // cluster, too, it would get an answer that is another's to give.
    const auto [last, first_time] = imported_.try_emplace({slot, to}, world_.now());
    if (!first_time && world_.now() - last->second < longest_visit) {
        return false;
    }
    last->second = world_.now();
    redis_.begin_migration(slot, to, e);
    migration_pause_ = pause;
    world_.plan<&server_node::step_migration>(world_.now() + pause, this);
    return true;
}

bool server_node::has_moved(std::string_view key) const noexcept {
    const auto first = imported_.lower_bound({wire::hash_slot_of(key), 0});
    return first != imported_.end() && first->first.first == wire::hash_slot_of(key);
}

void server_node::step_migration(std::uint64_t, std::uint64_t) {
    const fleet& f = redis_.processes();
    if (!f.moving()) {
        return;  // it was ended before its time
    }
    if (works(f.master(f.moving()->from)) && works(f.master(f.moving()->to))) {
        migrate_on();
    }
    if (f.moving()) {
        world_.plan<&server_node::step_migration>(
            world_.now() + world_.chance.between(0, 2 * migration_pause_), this);
    } else {
        spread_word();
    }
}

void server_node::migrate_on() {
    const fleet::migration m = *redis_.processes().moving();
    if (m.taken) {
        world_.note("migrated", m.slot, m.to);
        imported_[{m.slot, m.to}] = world_.now();  // who was sent there may be on its way
        redis_.end_migration();
        flush();
    } else if (redis_.move_a_key(world_.chance.seed())) {
        world_.note("a key moved", m.slot, m.to);
    } else {
        world_.note("handed over", m.slot, m.to);
        redis_.hand_over();
    }
}

// Who wasn't part of it hears of it some time later.
void server_node::spread_word() {
    for (fleet::process p = 0; p < machines_.size(); ++p) {
        world_.plan<&server_node::hear>(world_.now() + world_.chance.spread(millis, slowest_word),
                                        this, p);
    }
}

void server_node::hear(std::uint64_t process, std::uint64_t) {
    if (stalls(process)) {
        world_.plan<&server_node::hear>(machines_[process].stalled.until, this, process);
    } else if (running(process) && !is_deaf(process)) {  // else when it is back
        learn(process);
        flush();
    }
}

bool server_node::is_deaf(fleet::process p) {
    const bool yes = cut_off_ && cut_off_->first == p;
    feel(yes ? cut_off_->second : nullptr);
    return yes;
}

void server_node::settle_processes() {
    while (redis_.processes().moving()) {
        migrate_on();
    }
    end_split();
    for (std::size_t shard = 0; shard < redis_.processes().shards(); ++shard) {
        promote(shard, 0);
    }
    for (fleet::process p = 0; p < machines_.size(); ++p) {
        if (!running(p) || !is_deaf(p)) {
            learn(p);
        }
    }
    flush();
}

}  // namespace conch::sim
