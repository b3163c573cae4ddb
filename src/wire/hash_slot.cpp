// SPDX-License-Identifier: BSL-1.0
#include "wire/hash_slot.hpp"

#include <array>

namespace conch::wire {
namespace {

constexpr unsigned polynomial = 0x1021;  // CRC16/XMODEM: initial value 0, no reflection

constexpr std::array<std::uint16_t, 256> make_table() {
    std::array<std::uint16_t, 256> table{};
    for (unsigned byte = 0; byte < table.size(); ++byte) {
        unsigned crc = byte << 8;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc << 1) ^ ((crc & 0x8000) != 0 ? polynomial : 0);
        }
        table[byte] = static_cast<std::uint16_t>(crc);
    }
    return table;
}

constexpr std::array<std::uint16_t, 256> table = make_table();

std::string_view hashed_part(std::string_view key) noexcept {
    const std::size_t open = key.find('{');
    if (open == key.npos) {
        return key;
    }
    const std::size_t close = key.find('}', open + 1);
    return close == key.npos || close == open + 1 ? key : key.substr(open + 1, close - open - 1);
}

}  // namespace

std::uint16_t hash_slot_of(std::string_view key) noexcept {
    unsigned crc = 0;
    for (const char c : hashed_part(key)) {
        crc = ((crc << 8) & 0xffff) ^ table[(crc >> 8) ^ static_cast<unsigned char>(c)];
    }
    return static_cast<std::uint16_t>(crc % hash_slots);
}

}  // namespace conch::wire
