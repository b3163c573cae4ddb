// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_GROUP_MAJORITY_HPP
#define CONCH_SRC_GROUP_MAJORITY_HPP

#include <conch/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>

// What a number of votes means.
namespace conch::group {

/// A group has no more.
inline constexpr std::size_t most_members = 31;

/// Of so many servers. Any two majorities have one in common.
inline std::size_t majority_of(std::size_t servers) noexcept { return servers / 2 + 1; }

/// Until when `needed` of these are ahead; the epoch if there are fewer. Reorders them.
inline time_point ahead_until(std::span<time_point> ends, std::size_t needed) noexcept {
    if (ends.size() < needed) {
        return {};
    }
    const auto nth = ends.begin() + static_cast<std::ptrdiff_t>(needed - 1);
    std::nth_element(ends.begin(), nth, ends.end(), std::greater<>{});
    return *nth;
}

/// What came of one try.
enum class answer {
    none,     ///< not asked
    pending,  ///< no answer yet
    granted,
    busy,
    silent,  ///< no answer in time
    failed   ///< an error that a further try would not mend
};

/// What came of a round.
enum class verdict {
    open,         ///< a grant is possible, or its refusal
    granted,      ///< by enough
    busy,         ///< enough are there, and some refuse
    unreachable,  ///< for now
    failed        ///< so many errors that not enough are left
};

/// `needed`: so many grants are one of the group.
inline verdict judge(std::span<const answer> answers, std::size_t needed) noexcept {
    const auto count = [&](answer a) {
        return static_cast<std::size_t>(std::count(answers.begin(), answers.end(), a));
    };
    const std::size_t possible = count(answer::granted) + count(answer::pending);
    if (count(answer::granted) >= needed) {
        return verdict::granted;
    }
    if (possible >= needed) {
        return verdict::open;
    }
    if (count(answer::failed) > answers.size() - needed) {
        return verdict::failed;
    }
    const std::size_t there = count(answer::granted) + count(answer::busy);
    if (there >= needed) {
        return verdict::busy;
    }
    return there + count(answer::pending) >= needed ? verdict::open : verdict::unreachable;
}

/// The first that is there: contenders that meet at it do not meet elsewhere.
constexpr std::size_t first_to_answer(std::span<const answer> answers) noexcept {
    const auto there = [](answer a) { return a == answer::granted || a == answer::busy; };
    return static_cast<std::size_t>(std::find_if(answers.begin(), answers.end(), there) -
                                    answers.begin());
}

/// The first that others have.
constexpr std::size_t first_busy(std::span<const answer> answers) noexcept {
    return static_cast<std::size_t>(std::ranges::find(answers, answer::busy) - answers.begin());
}

/// One before it may answer yet.
constexpr bool first_is_open(std::span<const answer> answers) noexcept {
    return std::ranges::count(answers.first(first_to_answer(answers)), answer::pending) > 0;
}

/// So many have told that the lock is free, or locked: enough, and the rest can't change whether it
/// is known to be free.
inline bool is_decided(std::size_t free, std::size_t locked, std::size_t members,
                       std::size_t needed) noexcept {
    return free + locked >= needed && (free >= needed || members - locked < needed);
}

}  // namespace conch::group

#endif
