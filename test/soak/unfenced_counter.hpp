// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SOAK_UNFENCED_COUNTER_HPP
#define CONCH_TEST_SOAK_UNFENCED_COUNTER_HPP

#include "soak/data_losses.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace conch::soak {

/// What became of counters that no fence protects.
struct unfenced_report {
    std::uint64_t written = 0;
    std::uint64_t value = 0;  ///< of all counters together
    /// Writes over one that their holder hadn't seen, both of them within their holds.
    std::uint64_t broken = 0;
    /// The same, but one of the two came when its own hold was over: its process was stopped
    /// between its look at the hold and the write.
    std::uint64_t late = 0;
    /// The same, but the server had lost its data between the two.
    std::uint64_t data_lost = 0;

    std::uint64_t lost_updates() const noexcept { return written - value; }
};

/// The other half of what locks are for: counters of users who look at their hold before they
/// write, and send no fence along. Takes every write, so that exclusion is all that protects it.
class unfenced_counter {
public:
    explicit unfenced_counter(const data_losses& losses) : losses_{losses} {}

    /// A holder reads. Each acquisition does this once, and first.
    std::uint64_t read(const test::claim& c);
    /// It writes, having seen that it owns the lock.
    void write(const test::claim& c, std::uint64_t value, time_point now);
    /// It ends without having written, or never had to.
    void leave(const test::claim& c);

    unfenced_report report() const;
    /// What was broken, one line each; the first few.
    const std::vector<std::string>& findings() const noexcept { return findings_; }

private:
    struct update {
        time_point at;
        bool timely;
    };
    struct counter {
        std::uint64_t value = 0;
        std::vector<update> updates{};
        std::map<std::uint64_t, std::size_t> seen{};  ///< updates, by the fence of who saw them
    };

    void judge(const test::claim& c, const counter& k, std::size_t seen, bool timely);

    const data_losses& losses_;
    std::map<std::string, counter> counters_{};
    std::vector<std::string> findings_{};
    unfenced_report report_{};
};

}  // namespace conch::soak

#endif
