// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_DEPLOYMENT_HASH_SLOT_HPP
#define CONCH_TEST_DEPLOYMENT_HASH_SLOT_HPP

#include <cstdint>
#include <string_view>

namespace conch::test {

inline constexpr unsigned slot_count = 16384;

/// The part of a key that its slot is made from: what is between the first `{` and the first `}`
/// after it, if that is anything (the Redis Cluster specification, "Hash tags").
constexpr std::string_view hashed_part(std::string_view key) {
    const auto open = key.find('{');
    if (open == key.npos) {
        return key;
    }
    const auto shut = key.find('}', open + 1);
    return shut == key.npos || shut == open + 1 ? key : key.substr(open + 1, shut - open - 1);
}

/// CRC16/XMODEM of that part, modulo the number of slots; in our own words.
constexpr unsigned slot_of(std::string_view key) {
    std::uint32_t crc = 0;
    for (const char c : hashed_part(key)) {
        crc ^= static_cast<std::uint32_t>(static_cast<unsigned char>(c)) << 8U;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U;
        }
        crc &= 0xffffU;
    }
    return crc % slot_count;
}

static_assert(slot_of("123456789") == 0x31c3);

}  // namespace conch::test

#endif
