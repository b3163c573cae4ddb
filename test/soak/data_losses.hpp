// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SOAK_DATA_LOSSES_HPP
#define CONCH_TEST_SOAK_DATA_LOSSES_HPP

#include "support/fenced_resource.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace conch::soak {

/// When servers lost what they knew: the one thing that takes a valid hold away unasked.
class data_losses {
public:
    void add(const std::string& name_prefix, time_point from, time_point to) {
        all_.push_back({name_prefix, from, to});
    }

    /// Whether one may have taken this hold away before `by`. The server confirmed the hold for the
    /// last time after `valid_until - lease`: what was lost earlier can't have been this hold.
    bool may_have_taken(const test::claim& c, time_point by) const {
        return std::any_of(all_.begin(), all_.end(), [&](const loss& l) {
            return c.name.starts_with(l.prefix) && c.valid_until - c.lease <= l.to && l.from <= by;
        });
    }

private:
    struct loss {
        std::string prefix;
        time_point from;
        time_point to;
    };
    std::vector<loss> all_{};
};

}  // namespace conch::soak

#endif
