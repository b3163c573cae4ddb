// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_REPLY_COUNTER_HPP
#define CONCH_BENCH_REPLY_COUNTER_HPP

#include <cstddef>
#include <string_view>

namespace conch::bench {

/// Counts replies that have a known shape, which is as cheap as it gets: acquires are answered by
/// an empty string (`$0`, two lines), releases by how many clients were told (`:0`, one line);
/// verdicts of rate limits, and changes of counters, by an array of numbers, of which the first is
/// 1 where it was granted.
class reply_counter {
public:
    /// `most`, `least`: of a number that is a reply; 0 to 9, less than the digits of a lease's
    /// remaining time.
    explicit reply_counter(int most = 0, int least = 0) noexcept
        : most_{static_cast<char>('0' + most)}, least_{static_cast<char>('0' + least)} {}

    /// How many replies are complete with these bytes. Throws `std::runtime_error` for anything
    /// that is not a granted acquire, a release or an array that grants.
    std::size_t feed(std::string_view bytes);

private:
    enum class state { type, length, empty_line, number, size };
    void ended(std::size_t& count) noexcept;
    bool is_expected(char digit) const noexcept;

    std::size_t left_ = 0;  ///< of an array
    bool first_ = false;    ///< of them
    char most_;
    char least_;
    state state_ = state::type;
};

}  // namespace conch::bench

#endif
