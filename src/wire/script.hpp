// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_SCRIPT_HPP
#define CONCH_SRC_WIRE_SCRIPT_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace conch::wire {

/// The scripts of src/lua, by the names of their files.
enum class script_id : std::uint8_t {
    acquire,
    release,
    renew,
    nest,
    status,
    token_acquire,
    token_release,
    token_renew,
    token_nest,
    token_status,
    rate_window,
    rate_log,
};

inline constexpr std::size_t script_count = 12;

/// The first of them are loaded with each connection; the others when the server lacks them.
inline constexpr std::size_t preloaded_scripts = 5;

struct script {
    /// Name of the file, without ".lua".
    std::string_view name;
    /// What the server gets: the file without its comment and blank lines.
    std::string_view body;
    /// SHA1 of `body` in lower-case hexadecimal, as EVALSHA wants it.
    std::string_view sha1;
};

/// Lives as long as the program.
const script& get_script(script_id id) noexcept;

}  // namespace conch::wire

#endif
