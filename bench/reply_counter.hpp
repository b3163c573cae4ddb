// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_REPLY_COUNTER_HPP
#define CONCH_BENCH_REPLY_COUNTER_HPP

#include <cstddef>
#include <string_view>

namespace conch::bench {

/// Counts replies that have a known shape, which is as cheap as it gets: acquires are answered by
/// an empty string (`$0`, two lines), releases by how many clients were told (`:0`, one line);
/// verdicts of rate limits by an array of numbers.
class reply_counter {
public:
    /// `most_told`: 0 to 9, less than the digits of a lease's remaining time.
    explicit reply_counter(int most_told = 0) noexcept
        : most_{static_cast<char>('0' + most_told)} {}

    /// How many replies are complete with these bytes. Throws `std::runtime_error` for anything
    /// that is not a granted acquire, a release or an array.
    std::size_t feed(std::string_view bytes);

private:
    enum class state { type, length, empty_line, number, size };
    void ended(std::size_t& count) noexcept;

    std::size_t left_ = 0;  ///< of an array
    char most_;
    state state_ = state::type;
};

}  // namespace conch::bench

#endif
