// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_GROUP_TERMS_HPP
#define CONCH_SRC_GROUP_TERMS_HPP

#include "group/majority.hpp"

#include <conch/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace conch::group {

/// How many of its members make a hold of a group, and how patient who wants it is.
struct terms {
    std::size_t needed;
    bool all;                 ///< every member: a try that one refuses waits for that one
    duration answer_timeout;  ///< what one member has for its answer
    duration settling;        ///< so long, who has one from its line waits for the others
    duration line;            ///< so long, a waiter stands at one before it asks all again
    duration pause;           ///< between two rounds of one waiter; then twice as long, up to the
    duration longest_pause;   ///< longest

    /// So many independent servers, of which a minority may be dead.
    static terms majority(std::size_t members, duration answer_timeout) noexcept {
        // The line may be at a server that dies, or whose holder has no majority.
        constexpr duration shortest_line = std::chrono::milliseconds{500};
        return {.needed = majority_of(members),
                .all = false,
                .answer_timeout = answer_timeout,
                .settling = answer_timeout,
                .line = std::max(shortest_line, 10 * answer_timeout),
                .pause = 2 * answer_timeout,
                .longest_pause = 2 * answer_timeout};
    }

    /// So many locks. What is kept while another is waited for is given back in a moment, so that
    /// nobody waits in a circle; times of random length end that two take the locks from each other
    /// for ever.
    static terms every(std::size_t members, duration operation_timeout) noexcept {
        using std::chrono::milliseconds;
        using std::chrono::seconds;
        return {.needed = members,
                .all = true,
                .answer_timeout = std::min<duration>(operation_timeout, seconds{1}),
                .settling = milliseconds{50},
                .line = seconds{10},
                .pause = milliseconds{10},
                .longest_pause = milliseconds{640}};
    }
};

}  // namespace conch::group

#endif
