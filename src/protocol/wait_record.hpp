// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_PROTOCOL_WAIT_RECORD_HPP
#define CONCH_SRC_PROTOCOL_WAIT_RECORD_HPP

#include "protocol/lock_protocol.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// `config::deadlock_detection`: beside a lock that is held, what its holder waits for.
namespace conch::protocol {

/// One wait of the holder.
struct told_wait {
    impl::spec_ptr wanted;
    std::uint64_t number = 0;   ///< among those of its client; never used again
    std::int64_t began_ms = 0;  ///< by the wall clock of its client
};

/// What one holder waits for, as its client told it at one moment.
struct wait_record {
    /// Never used again for this holder. While it stays, each record was told, and then written,
    /// after the one before it had been written.
    std::uint64_t epoch = 0;
    std::uint64_t refresh = 0;  ///< one more each time
    std::string who{};          ///< for people: "conch:billing:web-1:4711:5c1e0a8e"
    std::vector<told_wait> waits{};
};

/// A longer one is not read. So the rest of too many waits is left out.
inline constexpr std::size_t longest_wait_record = 16u << 10;

/// Where that of a holder of this lock is. `holder`: its field, without any suffix.
std::string wait_key(const impl::lock_spec& held, std::string_view holder);
/// A holder's field without the suffix of its protocol; empty if it is none of conch.
std::string_view plain_field(std::string_view field) noexcept;

std::string text_of(const wait_record& r);
/// None: it is no such text.
std::optional<wait_record> read_wait_record(std::string_view text);

}  // namespace conch::protocol

#endif
