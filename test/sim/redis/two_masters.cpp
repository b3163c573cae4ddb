// SPDX-License-Identifier: BSL-1.0
// A master that is cut off from the others and goes on, beside the replica that took its place.
#include "sim/fake_redis.hpp"
#include "wire/hash_slot.hpp"

#include <algorithm>
#include <array>

namespace conch::sim {

void fake_redis::divide(std::size_t shard, std::size_t lacks, std::int64_t now_us) {
    set_now(now_us);
    data_.divide(fleet_.replica(shard), lacks);
}

bool fake_redis::divided(std::size_t shard) const noexcept {
    return !data_.same(fleet_.master(shard), fleet_.replica(shard));
}

bool fake_redis::is_to_resync(fleet::process p) const noexcept {
    const fleet::process master = fleet_.master(fleet_.shard_of(p));
    return !fleet_.is_sentinel(p) && !data_.same(p, master) && fleet_.reach(p, master);
}

bool fake_redis::differ(fleet::process p, fleet::process q, std::int64_t now_us) {
    set_now(now_us);
    return data_.of(p).dump() != data_.of(q).dump();
}

// The servers of a cluster tell each other what is published; a master tells its replicas.
bool fake_redis::is_told_by(fleet::process p, fleet::process by) const noexcept {
    if (fleet_.is_sentinel(p)) {
        return p == by;
    }
    return fleet_.clustered() ? fleet_.reach(p, by) : data_.same(p, by);
}

bool fake_redis::exists_at(fleet::process p, std::string_view key, std::int64_t now_us) {
    set_now(now_us);
    return data_.of(p).find(key) != nullptr;
}

std::optional<std::int64_t> fake_redis::number_at(fleet::process p, std::string_view key,
                                                  std::int64_t now_us) {
    set_now(now_us);
    return number_in(data_.of(p).find(key));
}

bool fake_redis::anyone_has(std::string_view key, std::int64_t now_us) {
    for (fleet::process p = 0; p < data_.count(); ++p) {
        if (exists_at(p, key, now_us)) {
            return true;
        }
    }
    return false;
}

bool fake_redis::anyone_has_field(std::string_view key, std::string_view field,
                                  std::int64_t now_us) {
    set_now(now_us);
    for (fleet::process p = 0; p < data_.count(); ++p) {
        const auto all = fields_in(data_.of(p).find(key));
        if (std::find(all.begin(), all.end(), field) != all.end()) {
            return true;
        }
    }
    return false;
}

std::vector<fake_redis::placed_field> fake_redis::holders_at(fleet::process p, std::string_view key,
                                                             std::int64_t now_us) {
    set_now(now_us);
    const entry* e = data_.of(p).find(key);
    std::vector<placed_field> all;
    if (const auto* set = e ? std::get_if<zset_value>(&e->value) : nullptr) {  // permits
        for (const auto& [score, member] : *set) {
            all.push_back({member, static_cast<std::int64_t>(score)});
        }
        return all;
    }
    for (std::string& field : fields_in(e)) {
        // The hash of a read-write lock lives as long as the last of its readers; one whose own end
        // a stranger took away, as long as the hash.
        const bool reads = is_read_write(e) && !field.ends_with(":write");
        const entry* own = reads ? data_.of(p).find(timeout_key(key, field)) : e;
        if (own) {
            all.push_back(
                {std::move(field), own->expires_ms < 0 ? e->expires_ms : own->expires_ms});
        }
    }
    return all;
}

}  // namespace conch::sim
