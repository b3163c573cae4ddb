// SPDX-License-Identifier: BSL-1.0
// The server's end of connections that aren't of the network.
#include "sim/server_node.hpp"

#include <algorithm>

namespace conch::sim {

std::uint64_t server_node::meet(fleet::process p) {
    if (!works(p)) {
        return 0;
    }
    outsiders_[++outsiders_met_] = {redis_.connect(p), p};
    return outsiders_met_;
}

void server_node::part(std::uint64_t who) {
    const auto it = outsiders_.find(who);
    if (it != outsiders_.end()) {
        redis_.disconnect(it->second.session);
        outsiders_.erase(it);
    }
}

std::string server_node::ask(std::uint64_t who, std::string_view bytes) {
    const auto it = outsiders_.find(who);
    if (it == outsiders_.end() || !works(it->second.at)) {
        return {};
    }
    redis_.take_output(it->second.session);  // what it was told before
    redis_.receive(it->second.session, bytes, wall_clock());
    std::string answer = redis_.take_output(it->second.session);
    if (was_split()) {
        note_standings(it->second.at);
    }
    keep_late_messages();
    flush();
    return answer;
}

void server_node::tell_outsider(fake_redis::connection c) {
    const auto it = std::find_if(outsiders_.begin(), outsiders_.end(),
                                 [&](const auto& o) { return o.second.session == c; });
    if (it != outsiders_.end() && outsider_told_ && !redis_.take_output(c).empty()) {
        outsider_told_(it->first);
    }
}

}  // namespace conch::sim
