// SPDX-License-Identifier: BSL-1.0
// Which process a command is for, and what happens when that changes.
#include "core/random.hpp"
#include "sim/fake_redis.hpp"
#include "wire/hash_slot.hpp"

#include <algorithm>
#include <string>

namespace conch::sim {
namespace {

bool is_script(const command& c) noexcept { return c.name == "eval" || c.name == "evalsha"; }

bool of_shard_channels(const command& c) noexcept {
    return c.name == "ssubscribe" || c.name == "sunsubscribe" || c.name == "spublish";
}

/// Whether its first argument is a key; those of a script are counted.
bool has_key(const command& c) noexcept {
    const auto is_of = [&](std::span<const command> group) {
        return std::any_of(group.begin(), group.end(),
                           [&](const command& one) { return &one == &c; });
    };
    return !is_of(server_commands()) && !is_of(fleet_commands());
}

/// The keys that a command declares, or the channels that stand for some.
arguments keys_of(const command& c, arguments a) {
    if (is_script(c)) {
        const std::int64_t n = to_integer(a[2]).value_or(0);
        const std::size_t most = a.size() - 3;
        return a.subspan(3, std::min(most, static_cast<std::size_t>(std::max<std::int64_t>(n, 0))));
    }
    return has_key(c) || of_shard_channels(c) ? a.subspan(1, 1) : arguments{};
}

}  // namespace

bool is_declared(const command& c, arguments a, arguments keys) noexcept {
    return !has_key(c) || std::find(keys.begin(), keys.end(), a[1]) != keys.end();
}

fleet::process fake_redis::master_of(std::string_view key) const noexcept {
    return fleet_.master(fleet_.clustered() ? fleet_.owner(wire::hash_slot_of(key)) : 0);
}

keyspace& fake_redis::home_of(std::string_view key) {
    const auto& m = fleet_.moving();
    if (m && m->slot == wire::hash_slot_of(key)) {
        keyspace& from = data_.of(fleet_.master(m->from));
        return from.find(key) ? from : data_.of(fleet_.master(m->to));
    }
    return data_.of(master_of(key));
}

std::string fake_redis::pointed(std::string_view word, std::uint16_t slot, fleet::process to) {
    feel(moved_by_[slot]);
    return std::string{word} + " " + std::to_string(slot) +
           " 127.0.0.1:" + std::to_string(fleet::port_of(to));
}

// As getNodeByQuery() of Redis 7.
std::optional<std::string> fake_redis::sent_on(const session& s, const command& c, arguments a) {
    const arguments keys = fleet_.clustered() ? keys_of(c, a) : arguments{};
    if (keys.empty()) {
        return std::nullopt;
    }
    const std::uint16_t slot = wire::hash_slot_of(keys.front());
    if (std::any_of(keys.begin(), keys.end(),
                    [&](std::string_view k) { return wire::hash_slot_of(k) != slot; })) {
        return "CROSSSLOT Keys in request don't hash to the same slot";
    }
    if (fleet_.down() || refuses_writes_ == s.at) {
        return "CLUSTERDOWN The cluster is down";
    }
    const bool moves = fleet_.moving() && fleet_.moving()->slot == slot;
    const auto missing =
        of_shard_channels(c)
            ? 0
            : static_cast<std::size_t>(std::count_if(
                  keys.begin(), keys.end(), [&](std::string_view k) { return !data().find(k); }));
    constexpr const char* divided = "TRYAGAIN Multiple keys request during rehashing of slot";
    if (fleet_.claims(s.at, slot)) {
        if (!moves || fleet_.moving()->from != fleet_.shard_of(s.at) || missing == 0) {
            return std::nullopt;
        }
        return how_.tries_again_at_once && missing < keys.size()
                   ? divided
                   : pointed("ASK", slot, fleet_.master(fleet_.moving()->to));
    }
    if (moves && fleet_.moving()->to == fleet_.shard_of(s.at) && fleet_.is_master(s.at) &&
        s.asking) {
        return keys.size() > 1 && missing > 0 ? std::optional<std::string>{divided} : std::nullopt;
    }
    return pointed("MOVED", slot, fleet_.master_seen(s.at, fleet_.owner_seen(s.at, slot)));
}

// A sentinel has no keys, a replica takes no writes, and only a cluster has parts.
std::optional<std::string> fake_redis::refused_by_role(const session& s, const command& c) const {
    const bool for_sentinels = c.name == "sentinel";
    const bool for_both = c.name == "hello" || c.name == "auth" || c.name == "ping" ||
                          c.name == "client" || c.name == "subscribe" || c.name == "unsubscribe" ||
                          c.name == "publish";
    const bool for_clusters = c.name == "cluster" || c.name == "asking";
    if ((fleet_.is_sentinel(s.at) ? !for_sentinels && !for_both : for_sentinels) ||
        (for_clusters && !fleet_.clustered())) {
        return "ERR unknown command '" + std::string{c.name} + "', with args beginning with: ";
    }
    if (fleet_.kind() == deployment::sentinel && is_script(c) && !fleet_.is_master(s.at)) {
        return "READONLY You can't write against a read only replica.";
    }
    return std::nullopt;
}

void fake_redis::begin_migration(std::uint16_t slot, std::size_t to, effect* e) {
    moved_by_[slot] = e;
    fleet_.begin({slot, fleet_.owner(slot), to, e});
}

// As MIGRATE with REPLACE.
bool fake_redis::move_a_key(std::uint64_t which) {
    const fleet::migration m = *fleet_.moving();
    keyspace& from = data_.of(fleet_.master(m.from));
    std::vector<std::string> keys = from.keys();
    std::erase_if(keys, [&](const std::string& k) { return wire::hash_slot_of(k) != m.slot; });
    if (keys.empty()) {
        return false;
    }
    const std::string& key = keys[which % keys.size()];
    begin_command();
    const entry e = *from.find(key);
    from.erase(key);
    data_.of(fleet_.master(m.to)).set(key, e.value, e.expires_ms);
    return true;
}

// Replicas have caught up: what is lost later is lost by one shard alone.
void fake_redis::end_migration() {
    const fleet::migration m = *fleet_.moving();
    data_.of(fleet_.master(m.from)).forget_changes();
    data_.of(fleet_.master(m.to)).forget_changes();
    fleet_.end_migration();
    learn(fleet_.master(m.from));
}

// At once, whether or not there are enough: it doesn't block.
std::int64_t fake_redis::acknowledge(const session& by) {
    constexpr std::uint64_t lags_once_in = 6;
    core::random chance{how_.seed + ++confirmations_};
    const bool lags = chance.next() % lags_once_in == 0;
    const bool has_it =
        fleet_.kind() != deployment::alone && !lags && !divided(fleet_.shard_of(by.at));
    if (has_it) {
        data().forget_changes();
    }
    if (witness_) {
        witness_->acknowledged(by.id, has_it ? 1 : 0);
    }
    return has_it ? 1 : 0;
}

std::set<std::string> fake_redis::keys_at(fleet::process p, std::int64_t now_us) {
    set_now(now_us);
    const std::vector<std::string> keys = data_.of(p).keys();
    return {keys.begin(), keys.end()};
}

// From now on, the old master's data is that of the new one: neither lacks what was done until now.
void fake_redis::promote(std::size_t shard) {
    fleet_.promote(shard);
    begin_history(fleet_.master(shard));
    data_.of(fleet_.master(shard)).forget_changes();
    learn(fleet_.master(shard));
}

void fake_redis::learn(fleet::process p) {
    const fleet::process before = fleet_.master_seen(p, 0);
    const bool resyncs = is_to_resync(p);
    fleet_.learn(p);
    if (resyncs) {
        refuses_writes_.reset();
        data_.resync(p, fleet_.master(fleet_.shard_of(p)));
    }
    if (fleet_.is_sentinel(p) && fleet_.master_seen(p, 0) != before) {
        now_at_ = p;
        const auto at = [](fleet::process one) {
            return " 127.0.0.1 " + std::to_string(fleet::port_of(one));
        };
        publish("+switch-master", "main" + at(before) + at(fleet_.master_seen(p, 0)));
    }
    for (auto& [id, s] : sessions_) {
        const auto lost = [&](const std::string& channel) {
            return !fleet_.claims(p, wire::hash_slot_of(channel));
        };
        for (auto it = s.shard_channels.begin(); s.at == p && it != s.shard_channels.end();) {
            if (!lost(*it)) {
                ++it;
                continue;
            }
            const std::string channel = *it;
            it = s.shard_channels.erase(it);
            end_subscription(s, "sunsubscribe", channel, s.shard_channels.size());
            ready(s);
        }
    }
}

}  // namespace conch::sim
