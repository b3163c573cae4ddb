// SPDX-License-Identifier: BSL-1.0
#include "wire/old_connections.hpp"

#include <algorithm>

namespace conch::wire {

void old_connections::add(time_point lost_at, std::int64_t client_id, std::string run_id,
                          address at) {
    if (known_.size() == most) {
        forgotten_ = known_.front().lost_at;
        known_.pop_front();
    }
    known_.emplace_back(*this, lost_at, client_id, std::move(run_id), std::move(at));
}

// The same server process ends the old connection before anything is replayed. Another process
// doesn't have it, and there the id could be a stranger's. A process that took the old one's place
// tells that the old one is gone, and its connections with it. Elsewhere, the old one may become
// the master again and run them.
void old_connections::fence(const std::string& run_id, const address& at) {
    for (auto it = known_.begin(); it != known_.end();) {
        one& old = *it;
        const bool comparable = !run_id.empty() && !old.run_id.empty();
        if (comparable && old.run_id != run_id && old.at == at) {
            it = known_.erase(it);
            continue;
        }
        if (comparable && old.run_id == run_id && old.client_id != 0) {
            pipeline_.submit(old);
        }
        ++it;
    }
}

bool old_connections::may_still_run(time_point first, time_point last) const noexcept {
    return first <= forgotten_ || std::any_of(known_.begin(), known_.end(), [&](const one& old) {
               return first <= old.lost_at && old.lost_at <= last;
           });
}

void old_connections::encode_kill(call& c, resp::writer& w) {
    const auto& old = static_cast<const one&>(c);
    w.command(4).arg("CLIENT").arg("KILL").arg("ID").arg(old.client_id);
}

void old_connections::kill_done(call& c, const outcome& o) {
    auto& old = static_cast<one&>(c);
    old_connections& all = old.home;
    if (o.answered()) {
        ++all.ended_;
        all.known_.remove_if([&](const one& other) { return &other == &old; });
    } else if (o.refused()) {
        old.client_id = 0;  // no use in asking again
        all.log_(log_level::debug, "an old connection can't be ended: ", o.reply.text());
    }
}

const call_type old_connections::kill_type{
    .name = "client kill",
    .after_loss = retry::never,
    .order = priority::greeting,
    .encode = &old_connections::encode_kill,
    .done = &old_connections::kill_done,
};

}  // namespace conch::wire
