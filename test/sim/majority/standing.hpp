// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_MAJORITY_STANDING_HPP
#define CONCH_TEST_SIM_MAJORITY_STANDING_HPP

#include "protocol/lock_protocol.hpp"
#include "sim/world.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace conch::sim::majority {

class simulation;

/// The locks that groups are made of: what they are, and what stands at the servers of them.
class standing {
public:
    /// Mutexes; in a mixed scenario also fair locks, read-write locks to write, plain locks, and
    /// all permits of a semaphore.
    standing(simulation& all, std::uint64_t seed);

    const impl::spec_ptr& spec(std::size_t name, std::size_t place) const noexcept {
        return specs_[name][place];
    }
    /// Another text in its place would be another holder.
    bool is_text(std::size_t name, std::size_t place) const noexcept;
    /// Its server doesn't say whose it is: the permits of a semaphore.
    bool nameless(std::size_t name, std::size_t place) const noexcept;
    /// How a status tells of who has this field; "" if it is nameless.
    std::string told_as(std::size_t name, std::size_t place, const std::string& field) const;
    /// Somebody has it.
    bool taken(std::size_t name, std::size_t place);
    /// The one of this field has it; if it is nameless, anybody.
    bool has(std::size_t name, std::size_t place, const std::string& field);
    /// The fields of who has it; none if it is nameless.
    std::vector<std::string> fields(std::size_t name, std::size_t place);
    /// So long, if nobody renews it; for ages, if it has no expiry.
    instant left(std::size_t name, std::size_t place);
    /// This key may be there while nobody has or wants anything: the permits are left, or their
    /// lease is over. `now`: soon after somebody did.
    bool may_stay(std::size_t server, const std::string& key, bool now);

private:
    simulation& all_;
    std::vector<std::vector<impl::spec_ptr>> specs_{};  // of each name, at each place
};

}  // namespace conch::sim::majority

#endif
