// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_RAW_BASELINE_HPP
#define CONCH_BENCH_RAW_BASELINE_HPP

#include "reply_counter.hpp"
#include "slice.hpp"
#include "socket.hpp"

#include <conch/config.hpp>
#include <conch/rate.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace conch::bench {

/// The name of the lock of a slot.
std::string raw_name(std::size_t slot);

/// Appends the command of a slot, as conch would send it.
using slot_command = std::function<void(std::string& out, std::size_t slot)>;

/// What a slot asks for, again and again, in this order: a lock, and its release.
std::vector<slot_command> lock_commands(bool sharded, std::size_t locks = 1);
/// So many permits of a semaphore, and their release.
std::vector<slot_command> permit_commands(std::size_t permits, bool sharded);
/// One permit of this rate, by `rate_algorithm::gcra`.
std::vector<slot_command> verdict_commands(const rate& allowed);
/// A count-down of a latch.
std::vector<slot_command> count_down_commands();
/// One permit of a counting semaphore, and its release.
std::vector<slot_command> counting_commands(bool sharded);

/// What the server and one connection can do at best: the scripts of conch with the arguments that
/// conch would send, encoded beforehand, in a sliding window. Each reply lets the next command of
/// its slot go; all that a read has freed leave in one write.
class raw_baseline {
public:
    /// `depth` commands are under way at any time, each of another slot. conch has loaded their
    /// scripts. `replies`: counts what answers them.
    raw_baseline(const config& server, std::size_t depth, const std::vector<slot_command>& each,
                 reply_counter replies = reply_counter{});

    /// Runs until the end, then until each slot has been through all its commands.
    slice run(const slice_length& length);

private:
    using clock = std::chrono::steady_clock;

    void append(const slot_command& c, std::size_t slot);
    void allow(std::size_t commands, clock::time_point now);
    void flush();
    std::size_t read_replies();
    void answered(std::size_t replies, clock::time_point now);

    socket socket_;
    reply_counter replies_;
    std::string commands_;  // the first ones of all slots, then the next: sent round and round
    std::vector<std::size_t> starts_;  // of each command in commands_, and the end of the last one
    std::vector<std::size_t> fresh_;   // where the number of each command ends; 0: it has none
    std::size_t depth_ = 0;
    std::size_t last_ = 0;      // where the last commands of all slots begin
    std::size_t next_ = 0;      // the command that the next reply allows to go
    std::size_t expected_ = 0;  // the command that the next reply answers
    std::size_t written_ = 0;   // bytes of commands_ sent in this round
    std::size_t due_ = 0;       // bytes allowed to go, from written_ on and round the end
    std::vector<clock::time_point> begun_;  // when the first of each slot was allowed to go
    std::vector<double> latencies_us_;
    std::size_t last_count_ = 0;
    std::vector<char> buffer_;
};

}  // namespace conch::bench

#endif
