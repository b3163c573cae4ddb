// SPDX-License-Identifier: BSL-1.0
#include "sim/standings.hpp"

#include <algorithm>

namespace conch::sim {

// What has a later end than anywhere else was prolonged there, and there alone. A renewal may also
// lower it, where a stranger made the key persistent.
void standings::has(unsigned set, std::string_view field, std::int64_t deadline_ms) {
    deadlines& in = all_[std::string{field}];
    const auto known = in.find(set);
    if (known != in.end() && known->second == deadline_ms) {
        return;
    }
    const bool latest = std::all_of(in.begin(), in.end(), [&](const auto& other) {
        return other.first == set || other.second < deadline_ms;
    });
    if (latest) {
        in = {{set, deadline_ms}};
    } else if (known != in.end()) {
        known->second = deadline_ms;
    }
}

void standings::copied(unsigned set, std::string_view field, std::int64_t deadline_ms) {
    const auto it = all_.find(field);
    if (it == all_.end()) {
        return;
    }
    deadlines& in = it->second;
    if (std::all_of(in.begin(), in.end(),
                    [&](const auto& other) { return other.second <= deadline_ms; })) {
        in[set] = deadline_ms;
    }
}

void standings::found(unsigned set, std::string_view field) {
    const auto it = all_.find(field);
    if (it != all_.end()) {
        it->second.emplace(set, not_seen_yet);
    }
}

void standings::discarded(unsigned set) {
    for (auto& [field, in] : all_) {
        const auto there = in.find(set);
        if (there != in.end() && there->second == no_expiry && in.size() > 1) {
            in.erase(there);
        }
    }
}

std::optional<standings::data_sets> standings::of(std::string_view field) const {
    const auto it = all_.find(field);
    if (it == all_.end()) {
        return std::nullopt;
    }
    data_sets in;
    for (const auto& one : it->second) {
        in.insert(one.first);
    }
    return in;
}

}  // namespace conch::sim
