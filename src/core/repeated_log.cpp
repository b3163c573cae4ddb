// SPDX-License-Identifier: BSL-1.0
#include "core/repeated_log.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace conch::core {
namespace {

constexpr duration first_count = std::chrono::seconds{1};
constexpr duration later_counts = std::chrono::minutes{1};

}  // namespace

repeated_log::repeated_log(const log& out, timer_heap& timers, const time_point& now)
    : out_{out}, timers_{timers}, now_{now} {}

void repeated_log::operator()(log_level level, std::string_view kind, std::string_view line,
                              std::size_t in_full) {
    if (!out_.wants(level)) {
        return;
    }
    const auto same = [&](const story& s) { return s.level == level && s.kind == kind; };
    const auto known = std::find_if(stories_.begin(), stories_.end(), same);
    if (known != stories_.end()) {
        const bool told = known->in_full < in_full;
        out_(told ? level : log_level::debug, line);
        ++(told ? known->in_full : known->untold);
        ++known->all;
        known->any = true;
    } else if (stories_.size() < most_kinds) {
        out_(level, line);
        stories_.push_back({level, std::string{kind}, after(now_, first_count)});
        arm();
    } else {
        out_(level >= log_level::warning ? level : log_level::debug, line);
    }
}

void repeated_log::over(std::string_view kinds) {
    for (const story& s : stories_) {
        if (s.kind.starts_with(kinds)) {
            out_(s.level, s.kind, ": no more, after ", std::to_string(s.all));
        }
    }
    std::erase_if(stories_, [&](const story& s) { return s.kind.starts_with(kinds); });
    arm();
}

void repeated_log::close() {
    for (story& s : std::exchange(stories_, {})) {
        log_rest(s);
    }
    timers_.cancel(due_);
}

void repeated_log::on_due(void* self) {
    auto& all = *static_cast<repeated_log*>(self);
    const auto is_due = [&](const story& s) { return s.due <= all.now_; };
    std::erase_if(all.stories_,
                  [&](const story& s) { return is_due(s) && !s.any && !s.first_second; });
    for (story& s : all.stories_) {
        if (is_due(s)) {
            all.log_rest(s);
            s.due = after(all.now_, later_counts);
            s.in_full = s.first_second ? s.in_full : 0;
            s.first_second = s.any = false;
        }
    }
    all.arm();
}

void repeated_log::log_rest(story& s) const {
    if (const std::uint64_t n = std::exchange(s.untold, 0); n > 0) {
        out_(s.level, s.kind, ": ", std::to_string(n), n == 1 ? " time more" : " times more");
    }
}

void repeated_log::arm() {
    const auto soonest =
        std::min_element(stories_.begin(), stories_.end(),
                         [](const story& a, const story& b) { return a.due < b.due; });
    if (soonest == stories_.end()) {
        timers_.cancel(due_);
    } else {
        timers_.set(due_, soonest->due);
    }
}

}  // namespace conch::core
