// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_PROTOCOL_WAIT_RECORD_HPP
#define CONCH_SRC_PROTOCOL_WAIT_RECORD_HPP

#include "protocol/lock_protocol.hpp"
#include "resp/value.hpp"
#include "resp/writer.hpp"

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

/// Writes that of this holder: the server keeps it for so long.
void encode_waits(const impl::lock_spec& held, const field& holder, const wait_record& r,
                  std::int64_t kept_ms, resp::writer& w);
/// Takes it back.
void encode_end_of_waits(const impl::lock_spec& held, const field& holder, resp::writer& w);
/// Asks for it.
void encode_look_at_waits(const impl::lock_spec& held, const field& holder, resp::writer& w);
/// None: nothing is known of what the holder waits for.
std::optional<wait_record> read_waits(const resp::value& reply);

/// Of the answer to `lock_protocol::encode_status`: the fields of those who keep others from
/// getting this lock, without suffixes. Of a lock that is free, and of holders that are not of
/// conch, there are none.
std::vector<std::string> read_fields_in_the_way(const impl::lock_spec& wanted,
                                                const resp::value& reply);

}  // namespace conch::protocol

#endif
