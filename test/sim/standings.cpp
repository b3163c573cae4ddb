// SPDX-License-Identifier: BSL-1.0
#include "sim/standings.hpp"

namespace conch::sim {

// What has a later end than anywhere before was prolonged there, and there alone.
void standings::has(unsigned set, std::string_view field, std::int64_t deadline_ms) {
    const auto it = all_.find(field);
    if (it == all_.end()) {
        all_.emplace(field, standing{{set}, deadline_ms});
        return;
    }
    standing& s = it->second;
    if (deadline_ms > s.deadline_ms) {
        s = {{set}, deadline_ms};
    } else if (s.in.size() == 1 && s.in.contains(set)) {
        s.deadline_ms = deadline_ms;  // it was lowered
    }
}

void standings::copied(unsigned set, std::string_view field, std::int64_t deadline_ms) {
    const auto it = all_.find(field);
    if (it != all_.end() && deadline_ms >= it->second.deadline_ms) {
        it->second.in.insert(set);
    }
}

void standings::found(unsigned set, std::string_view field) {
    const auto it = all_.find(field);
    if (it != all_.end()) {
        it->second.in.insert(set);
    }
}

const standings::data_sets* standings::of(std::string_view field) const noexcept {
    const auto it = all_.find(field);
    return it == all_.end() ? nullptr : &it->second.in;
}

}  // namespace conch::sim
