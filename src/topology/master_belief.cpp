// SPDX-License-Identifier: BSL-1.0
#include "topology/master_belief.hpp"

#include <algorithm>
#include <utility>

namespace conch::topology {

master_belief::verdict master_belief::judge(const statement& s) {
    const std::int64_t its = s.epoch.value_or(epoch_);
    const bool newer = !s.epoch || its > epoch_ || (its == epoch_ && !s.reached);
    if (its > epoch_) {
        turns_ = 0;
    }
    // They name one after the other, and no master was met there: no turn without a pause.
    if (s.names != s.before && turns_ >= 2 * sentinels_ && s.now < next_turn()) {
        return verdict::too_soon;
    }
    if (s.names == s.before || !s.before.known() || newer) {
        doubt_ = {};
        epoch_ = std::max(epoch_, its);
        return verdict::believed;
    }
    if (!all_agree(s)) {
        return verdict::doubted;
    }
    doubt_ = {};
    epoch_ = its;
    return verdict::believed;
}

bool master_belief::all_agree(const statement& s) {
    /// One address may be that of several, as of a service: each connection leads to any of them.
    constexpr std::size_t looks_at_one_address = 3;

    if (s.names != doubt_.at || s.reached != doubt_.reached) {
        doubt_ = {s.names, s.reached, 0, std::vector<bool>(sentinels_)};
        counted_ = false;
    }
    doubt_.named_it[s.by] = true;
    doubt_.in_a_row += std::exchange(counted_, true) ? 0 : 1;
    const auto who = std::count(doubt_.named_it.begin(), doubt_.named_it.end(), true);
    const bool most = static_cast<std::size_t>(who) > sentinels_ / 2;
    const std::size_t enough = sentinels_ > 1 ? sentinels_ : looks_at_one_address;
    return doubt_.in_a_row >= enough && (most || !s.reached);
}

}  // namespace conch::topology
