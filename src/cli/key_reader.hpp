// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_KEY_READER_HPP
#define CONCH_SRC_CLI_KEY_READER_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace conch::cli {

enum class key_kind : std::uint8_t {
    character,
    up,
    down,
    page_up,
    page_down,
    first,
    last,
    enter,
    escape,
    erase,
    unknown,
};

struct key {
    key_kind kind{};
    std::string text{};  ///< the character

    friend bool operator==(const key&, const key&) = default;
};

/// Turns what a terminal sends into keys, however the bytes are split.
class key_reader {
public:
    std::vector<key> read(std::string_view bytes);

private:
    /// How many of the first bytes make a key; 0: more of them have to come.
    std::size_t take(std::string_view bytes, std::vector<key>& keys);
    std::size_t take_sequence(std::string_view bytes, std::vector<key>& keys);

    std::string rest_{};
    bool escaped_ = false;  ///< an escape that ended a read was taken for the key
};

}  // namespace conch::cli

#endif
