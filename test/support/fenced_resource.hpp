// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_FENCED_RESOURCE_HPP
#define CONCH_TEST_SUPPORT_FENCED_RESOURCE_HPP

#include <conch/clock.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace conch::test {

/// What a holder says of itself when it uses the resource.
struct claim {
    std::string name{};  ///< of the lock, and of the counter that it protects
    std::uint64_t fence = 0;
    time_point valid_until{};  ///< the epoch: its hold doesn't count as valid any more
    duration lease{};
};

/// What became of all uses of a resource.
struct resource_report {
    std::uint64_t entered = 0;
    std::uint64_t written = 0;
    std::uint64_t value = 0;    ///< of all counters together
    std::uint64_t refused = 0;  ///< uses with a fence older than the newest seen
    /// Someone was let in while an earlier holder still had a valid hold, by its own clock.
    std::uint64_t overlaps = 0;
    /// The same, but the server had lost its data between the two: no lock can prevent that.
    std::uint64_t declared_overlaps = 0;
    std::uint64_t fences_reused = 0;     ///< two acquisitions with one fence
    std::uint64_t fences_backwards = 0;  ///< a later acquisition with an older fence
    std::uint64_t stale_accepted = 0;    ///< writes under a fence older than the newest seen
    /// Writes that another one has overwritten without knowing of it.
    std::uint64_t lost_updates() const noexcept { return written - value; }
    bool sound() const noexcept {
        return overlaps == 0 && fences_reused == 0 && fences_backwards == 0 &&
               stale_accepted == 0 && written == value;
    }
};

/// What locks are for: counters, each protected by the lock of its name. Lives outside Redis. Takes
/// no fence that is older than the newest it has seen, as the page on guarantees tells its users to
/// do, and judges by its own records whether the lock kept its promises. Blind to how a write came
/// about: it stores what it is given, so that an update made from an old value destroys another.
class fenced_resource {
public:
    struct answer {
        bool accepted = false;
        std::uint64_t value = 0;
    };

    /// Whether it does refuse them: if not, its own records tell what that let in.
    enum class fences : std::uint8_t { checked, ignored };

    explicit fenced_resource(fences f = fences::checked) noexcept : fences_{f} {}

    /// A holder comes in, and reads. Each acquisition does this once, and first.
    answer enter(const claim& c, time_point now);
    /// It writes, and its section ends.
    answer write(const claim& c, std::uint64_t value, time_point now);
    /// It leaves without having written.
    void leave(const claim& c);

    /// The server that keeps these locks lost what it knew, some time between the two.
    void data_lost(const std::string& name_prefix, time_point from, time_point to);

    resource_report report() const;
    /// The overlaps that were found, one line each; the first few.
    const std::vector<std::string>& findings() const noexcept { return findings_; }

private:
    struct section {
        time_point valid_until{};
        duration lease{};
        bool open = true;
        bool judged = false;
    };
    struct counter {
        std::uint64_t value = 0;
        std::uint64_t newest = 0;                    ///< all that the check of fences knows
        std::map<std::uint64_t, section> open{};     ///< by fence
        std::map<std::uint64_t, time_point> came{};  ///< when each fence was first seen
    };
    struct loss {
        std::string prefix;
        time_point from;
        time_point to;
    };

    void judge(const std::string& name, section& earlier, time_point newer_came);
    bool refuse_stale(const claim& c, counter& k);
    bool lets_in(const claim& c, const counter& k) const noexcept;

    const fences fences_;

    std::map<std::string, counter> counters_{};
    std::vector<loss> losses_{};
    std::vector<std::string> findings_{};
    resource_report report_{};
};

}  // namespace conch::test

#endif
