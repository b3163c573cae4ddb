// SPDX-License-Identifier: BSL-1.0
// What is left of connections that broke: commands of ours in their buffers.
#include "wire/link.hpp"

#include <algorithm>

namespace conch::wire {
namespace {

constexpr std::size_t most_unfenced = 64;

}  // namespace

// An old connection may still have commands of ours in its buffers. Of the same server process it
// is ended before anything is replayed; another process doesn't have it, and there the id could be
// a stranger's. Where that one took the place of the old one, it is gone with it; elsewhere, the
// old one may become the master again and run them.
void link::fence_old() {
    const std::string& now = greeting_.run_id();
    for (auto it = unfenced_.begin(); it != unfenced_.end();) {
        old_connection& old = *it;
        const bool known = !now.empty() && !old.run_id.empty();
        if (known && old.run_id != now && old.at == target_) {
            it = unfenced_.erase(it);
            continue;
        }
        if (known && old.run_id == now && old.client_id != 0) {
            pipeline_.submit(old);
        }
        ++it;
    }
}

void link::kill_done(call& c, const outcome& o) {
    auto& old = static_cast<old_connection&>(c);
    link& l = old.home;
    if (o.answered()) {
        ++l.counters_.old_fenced;
        l.unfenced_.remove_if([&](const old_connection& one) { return &one == &old; });
    } else if (o.refused()) {
        old.client_id = 0;  // no use in asking again
        l.log_(log_level::debug, "an old connection can't be ended: ", o.reply.text());
    }
}

bool link::may_still_run(time_point first, time_point last) const noexcept {
    return first <= forgotten_ ||
           std::any_of(unfenced_.begin(), unfenced_.end(),
                       [&](const old_connection& old) {
                           return first <= old.lost_at && old.lost_at <= last;
                       });
}

void link::remember_old() {
    if (unfenced_.size() == most_unfenced) {
        forgotten_ = unfenced_.front().lost_at;
        unfenced_.pop_front();
    }
    unfenced_.emplace_back(*this, now_, greeting_.client_id(), greeting_.run_id(), served_);
}

void link::encode_kill(call& c, resp::writer& w) {
    const auto& old = static_cast<const old_connection&>(c);
    w.command(4).arg("CLIENT").arg("KILL").arg("ID").arg(old.client_id);
}

const call_type link::kill_type{
    .name = "client kill",
    .after_loss = retry::never,
    .order = priority::greeting,
    .is_script = false,
    .answered_by_push = false,
    .encode = &link::encode_kill,
    .done = &link::kill_done,
};

}  // namespace conch::wire
