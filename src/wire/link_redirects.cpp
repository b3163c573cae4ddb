// SPDX-License-Identifier: BSL-1.0
// Calls that go from one link to another, as the parts of a cluster do.
#include "wire/link.hpp"
#include "wire/server_error.hpp"

#include <utility>

namespace conch::wire {

// It did not run. Where it belongs is for the topology to say.
bool link::redirect(call& c, std::string_view words) {
    if (!events_.redirected || !c.wanted || c.hash_slot == no_hash_slot) {
        return false;
    }
    std::optional<redirection> to = read_redirection(words);
    if (!to) {
        return false;
    }
    if (to->to.host.empty()) {
        to->to.host = target_.host;
    }
    c.not_run();
    events_.redirected(events_.owner, c, *to);
    return true;
}

void link::adopt(call& c) {
    pipeline_.adopt(c);
    use();
}

void link::rest() {
    if (state_ == state::closed || !pipeline_.empty() || !delayed_.empty() ||
        channels_.size() != 0) {
        return;
    }
    if (state_ != state::unused) {
        log_(log_level::info, "nothing is left to ask of ", target_.text());
        let_go(false);
        timers_.cancel(timer_);
        state_ = state::unused;
    }
    target_ = served_ = {};
    failures_ = attempts_ = 0;
    failure_ = {};
}

}  // namespace conch::wire
