// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_SCRIPT_HPP
#define CONCH_SRC_WIRE_SCRIPT_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace conch::wire {

/// The scripts of src/lua, by the names of their files; those named `_many` run another one several
/// times.
enum class script_id : std::uint8_t {
    acquire,
    release,
    acquire_many,
    release_many,
    renew,
    nest,
    status,
    value_acquire,
    value_release,
    value_acquire_many,
    value_release_many,
    value_renew,
    value_nest,
    value_status,
    rate_window,
    rate_log,
    rate_gcra,
    shared_read,
    shared_write,
    shared_release,
    shared_renew,
    shared_status,
    semaphore_acquire,
    semaphore_change,
    fair_acquire,
    fair_release,
    permits_acquire,
    permits_release,
    permits_renew,
    permits_status,
    shared_downgrade,
    once,
};

inline constexpr std::size_t script_count = 32;

/// The first of them are loaded with each connection; the others when the server lacks them.
inline constexpr std::size_t preloaded_scripts = 7;

struct script {
    /// Name of the file, without ".lua".
    std::string_view name;
    /// What the server gets: the file without its comment and blank lines.
    std::string_view body;
    /// SHA1 of `body` in lower-case hexadecimal, as EVALSHA wants it.
    std::string_view sha1;
};

/// A script, and the one that runs it several times.
struct script_pair {
    script_id one;
    script_id many;

    friend bool operator==(const script_pair&, const script_pair&) = default;
};

/// Calls whose joint scripts are equal may leave as one.
struct joint_script {
    script_pair scripts;
    std::uint8_t keys;  ///< of each run
    std::uint8_t args;  ///< of each run

    friend bool operator==(const joint_script&, const joint_script&) = default;
};

/// Of a call that is no run of any script.
inline constexpr joint_script leaves_alone{};

/// Lives as long as the program.
const script& get_script(script_id id) noexcept;

}  // namespace conch::wire

#endif
