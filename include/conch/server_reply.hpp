// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SERVER_REPLY_HPP
#define CONCH_SERVER_REPLY_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace conch {

/// What a server answered to one command.
struct server_reply {
    /// What kind of value it is.
    enum class kind : std::uint8_t { null, text, number, list };

    /// Says which of the members below counts.
    kind type = kind::null;
    /// Of `text`; also the words of an error that came with an `error_code`.
    std::string text{};
    /// Of `number`.
    std::int64_t number = 0;
    /// Of `list`; keys and values of a map alternate.
    std::vector<server_reply> list{};

    /// It is a text.
    bool is_text() const noexcept { return type == kind::text; }
    /// It is a number.
    bool is_number() const noexcept { return type == kind::number; }
    /// A member of the list; a null if it has no such member.
    const server_reply& at(std::size_t i) const noexcept;
};

}  // namespace conch

#endif
