// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_REPEATED_LOG_HPP
#define CONCH_SRC_CORE_REPEATED_LOG_HPP

#include "core/log.hpp"
#include "core/timer_heap.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace conch::core {

/// Lines that thousands may cause within a moment, such as one for each hold that can't be renewed.
/// The first of a kind in a minute is told at once, in full. How many followed is told a second
/// after the very first, and then each minute. At level debug each is told as well.
class repeated_log {
public:
    repeated_log(const log& out, timer_heap& timers, const time_point& now);
    ~repeated_log() { timers_.cancel(due_); }
    repeated_log(const repeated_log&) = delete;
    repeated_log& operator=(const repeated_log&) = delete;

    /// `kind`: what they have in common. `line`: this one. `in_full`: so many a minute are.
    void operator()(log_level level, std::string_view kind, std::string_view line,
                    std::size_t in_full = 1);
    /// The kinds that begin so are over: tells it of each.
    void over(std::string_view kinds);
    /// Tells what has not been told yet.
    void close();

    /// Of others, each line is told: at its own level if that is a warning, else at debug.
    static constexpr std::size_t most_kinds = 256;

private:
    struct story {
        log_level level;
        std::string kind;
        time_point due;
        bool first_second = true;
        bool any = false;  ///< in this minute
        std::size_t in_full = 1;
        std::uint64_t untold = 0;
        std::uint64_t all = 1;
    };

    static void on_due(void* self);
    void log_rest(story& s) const;
    void arm();

    const log& out_;
    timer_heap& timers_;
    const time_point& now_;
    std::vector<story> stories_{};
    timer due_{this, &repeated_log::on_due};
};

}  // namespace conch::core

#endif
