// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_REDIS_COMMAND_HPP
#define CONCH_TEST_SIM_REDIS_COMMAND_HPP

#include "sim/redis/reply.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace conch::sim {

class fake_redis;
struct session;

using arguments = std::span<const std::string_view>;

/// One command of the server.
struct command {
    enum flag : unsigned {
        writes = 1,         ///< refused by a replica
        grows = 2,          ///< refused when memory is full
        while_loading = 4,  ///< answered even then
        not_in_scripts = 8,
    };

    std::string_view name;
    int arity;  ///< with the name; negative: at least so many
    unsigned flags;
    reply (*run)(fake_redis& server, session& by, arguments a);

    bool takes(std::size_t n) const noexcept {
        return arity >= 0 ? n == static_cast<std::size_t>(arity)
                          : n >= static_cast<std::size_t>(-arity);
    }
};

/// Null if there is none of this name, in either case.
const command* find_command(std::string_view name) noexcept;

std::span<const command> key_commands() noexcept;
std::span<const command> type_commands() noexcept;
std::span<const command> zset_commands() noexcept;
std::span<const command> server_commands() noexcept;
std::span<const command> fleet_commands() noexcept;

/// Whole numbers as Redis takes them: no spaces, no plus, no leading zeros.
std::optional<std::int64_t> to_integer(std::string_view s) noexcept;
/// Whether a script with these KEYS may run this: it names no other key.
bool is_declared(const command& c, arguments a, arguments keys) noexcept;
/// Of a fencing token.
bool is_fence_key(std::string_view key) noexcept;
/// Of a read-write lock, but not the lock itself.
bool is_beside_readers(std::string_view key) noexcept;

/// Tells of waiters of a fair lock, by the fields that holders have.
bool is_of_waiters(std::string_view key) noexcept;
/// The key with the deadline of a reader, as one of conch has it.
std::string timeout_key(std::string_view lock, std::string_view field);
/// It is there while a writer of this lock waits.
inline std::string writer_key(std::string_view lock) {
    return "conch_rw_writer:{" + std::string{lock} + '}';
}
bool same_word(std::string_view a, std::string_view b) noexcept;

inline constexpr const char* wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr const char* not_an_integer = "ERR value is not an integer or out of range";
inline constexpr const char* syntax_error = "ERR syntax error";

}  // namespace conch::sim

#endif
