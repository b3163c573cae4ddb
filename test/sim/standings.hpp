// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_STANDINGS_HPP
#define CONCH_TEST_SIM_STANDINGS_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace conch::sim {

/// While a shard has two masters: which of their data sets have a holder's field, and for as long
/// as its client was promised. Two holds may overlap only if no data set has both.
class standings {
public:
    using data_sets = std::set<unsigned>;

    static constexpr std::int64_t no_expiry = INT64_MAX;

    /// This data set has this field, with a lease that ends then: whether or not that is news.
    void has(unsigned set, std::string_view field, std::int64_t deadline_ms);
    /// So has this one, which was just copied.
    void copied(unsigned set, std::string_view field, std::int64_t deadline_ms);
    /// A renewal of its client found it there, and prolonged its lease if that was to be done. A
    /// look is none: it may find less than its client was promised.
    void found(unsigned set, std::string_view field);
    /// Nobody has this data set any more. A lease that ended there stays promised; that a stranger
    /// took its end away there is over.
    void discarded(unsigned set);
    /// Nothing if there were never two masters while it was there.
    std::optional<data_sets> of(std::string_view field) const;

private:
    using deadlines = std::map<unsigned, std::int64_t>;  ///< in ms, of each data set that has it

    static constexpr std::int64_t not_seen_yet = INT64_MIN;

    std::map<std::string, deadlines, std::less<>> all_{};
};

}  // namespace conch::sim

#endif
