// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_RAW_COMMAND_HPP
#define CONCH_BENCH_RAW_COMMAND_HPP

#include <conch/rate.hpp>

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

// What conch says to the server, encoded by hand.
namespace conch::bench {

void append_command(std::string& out, std::span<const std::string_view> words);
void append_command(std::string& out, std::initializer_list<std::string_view> words);

/// Of the shape and length that conch writes.
std::string field_of(std::size_t number);

/// The channel of the release messages.
std::string channel_of(std::string_view name);

void append_acquire(std::string& out, std::string_view name, std::string_view field,
                    std::string_view lease_ms = "30000");
/// `sharded`: told by SPUBLISH.
void append_release(std::string& out, std::string_view name, std::string_view field,
                    std::string_view channel, bool sharded = false);

/// Of a fair lock whose name has a hash tag: takes it, or a place in line for 3 s.
void append_stand_in_line(std::string& out, std::string_view name, std::string_view field);
/// Releases it to the first in line.
void append_pass_on(std::string& out, std::string_view name, std::string_view field, bool sharded);

/// Of a semaphore whose name has a hash tag; `number`: of the acquisition.
void append_take_permits(std::string& out, std::string_view name, std::size_t number,
                         std::size_t permits, bool sharded);
void append_give_permits(std::string& out, std::string_view name, std::size_t number,
                         std::size_t permits, bool sharded);

/// One permit, by `rate_algorithm::gcra`.
void append_ask_rate(std::string& out, std::string_view name, const rate& allowed);

/// Stands in a command for a number that is another one each time it is sent.
inline constexpr std::string_view fresh_number = "#00000000000";

/// Of a latch whose name has a hash tag; `number`: of who counts.
void append_count_down(std::string& out, std::string_view name, std::size_t number);

/// One permit of a counting semaphore whose name has a hash tag; `number`: of who takes it.
void append_take_permit(std::string& out, std::string_view name, std::size_t number);
void append_give_permit(std::string& out, std::string_view name, std::size_t number, bool sharded);

/// Of locks whose fields are `field_of(first)` and the following ones.
void append_renewal(std::string& out, std::span<const std::string> names, std::size_t first,
                    std::string_view lease_ms);

}  // namespace conch::bench

#endif
