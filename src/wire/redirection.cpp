// SPDX-License-Identifier: BSL-1.0
#include "wire/redirection.hpp"

#include "core/number.hpp"
#include "wire/hash_slot.hpp"

namespace conch::wire {

std::uint16_t read_port(std::string_view text) noexcept {
    return core::number_in<std::uint16_t>(text).value_or(std::uint16_t{0});
}

// "MOVED 3999 127.0.0.1:6381"; the host may have colons, or be empty. A server that does not know
// the other's name yet says "?".
std::optional<redirection> read_redirection(std::string_view words) {
    redirection r;
    if (words.starts_with("ASK ")) {
        r.once = true;
        words.remove_prefix(4);
    } else if (words.starts_with("MOVED ")) {
        words.remove_prefix(6);
    } else {
        return std::nullopt;
    }
    const std::size_t space = words.find(' ');
    const std::size_t colon = words.rfind(':');
    const auto slot = core::number_in<std::uint16_t>(words.substr(0, space));
    if (!slot || *slot >= hash_slots || space == words.npos || colon == words.npos ||
        colon < space) {
        return std::nullopt;
    }
    r.slot = *slot;
    const std::string_view host = words.substr(space + 1, colon - space - 1);
    const std::uint16_t port = read_port(words.substr(colon + 1));
    if (port != 0 && host != "?") {
        r.to = {std::string{host}, port, {}};
    }
    return r;
}

}  // namespace conch::wire
