// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_CYCLE_TEXT_HPP
#define CONCH_SRC_WAIT_CYCLE_TEXT_HPP

#include <string>
#include <string_view>
#include <vector>

namespace conch::lock {

/// One who waits, in a cycle where each holds what the one before it waits for.
struct cycle_link {
    std::string_view who;    ///< empty: a client without a name
    std::string_view wants;  ///< the name of a lock
};

/// "a" is held by X, which waits for "b", held by Y, which waits for "a".
inline std::string cycle_text(const cycle_link& first, const std::vector<cycle_link>& others) {
    std::string text;
    const auto quote = [&](std::string_view name) { text.append("\"").append(name).append("\""); };
    const auto add = [&](const cycle_link& c, std::string_view held) {
        text.append(held).append(c.who.empty() ? "a client without a name" : c.who);
        text.append(", which waits for ");
        quote(c.wants);
    };
    quote(first.wants);
    std::string_view held = " is held by ";
    for (const cycle_link& c : others) {
        add(c, held);
        held = ", held by ";
    }
    add(first, held);
    return text;
}

}  // namespace conch::lock

#endif
