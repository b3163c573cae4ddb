// SPDX-License-Identifier: BSL-1.0
#include "hold/pending.hpp"

#include "core/check.hpp"

#include <utility>

namespace conch::lock {

void completions::answer(caller from, error_code ec, impl::view_ptr&& view, impl::remark said) {
    if (!from.tag) {
        return;
    }
    if (from.running) {  // nobody cancels it any more
        *from.running = nullptr;
    }
    queued_.push_back({from.tag, ec, std::move(view), said});
    CONCH_CHECK(unanswered_ > 0);
    --unanswered_;
}

}  // namespace conch::lock
