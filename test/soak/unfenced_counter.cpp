// SPDX-License-Identifier: BSL-1.0
#include "soak/unfenced_counter.hpp"

#include <algorithm>

namespace conch::soak {
namespace {

constexpr std::size_t most_kept = 10;

}  // namespace

std::uint64_t unfenced_counter::read(const test::claim& c) {
    counter& k = counters_[c.name];
    k.seen[c.fence] = k.updates.size();
    return k.value;
}

/// A timely writer has been the holder since it read, so nobody else may have been one meanwhile.
void unfenced_counter::judge(const test::claim& c, const counter& k, std::size_t seen,
                             bool timely) {
    const auto other = std::find_if(k.updates.begin() + static_cast<std::ptrdiff_t>(seen),
                                    k.updates.end(), [](const update& u) { return u.timely; });
    if (!timely || other == k.updates.end()) {
        ++report_.late;
    } else if (losses_.may_have_taken(c, other->at)) {
        ++report_.data_lost;
    } else {
        ++report_.broken;
        if (findings_.size() < most_kept) {
            findings_.push_back(c.name + ": an update was lost, though both holds were valid");
        }
    }
}

void unfenced_counter::write(const test::claim& c, std::uint64_t value, time_point now) {
    counter& k = counters_[c.name];
    const auto seen = k.seen.find(c.fence);
    const std::size_t version = seen != k.seen.end() ? seen->second : 0;
    const bool timely = now < c.valid_until;
    if (version != k.updates.size()) {
        judge(c, k, version, timely);
    }
    k.updates.push_back({now, timely});
    k.value = value;
    ++report_.written;
    leave(c);
}

void unfenced_counter::leave(const test::claim& c) { counters_[c.name].seen.erase(c.fence); }

unfenced_report unfenced_counter::report() const {
    unfenced_report out = report_;
    for (const auto& [name, k] : counters_) {
        out.value += k.value;
    }
    return out;
}

}  // namespace conch::soak
