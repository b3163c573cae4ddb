// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_MAJORITY_STRANGERS_HPP
#define CONCH_TEST_SIM_MAJORITY_STRANGERS_HPP

#include "sim/effect.hpp"
#include "sim/world.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace conch::sim::majority {

class process;
class simulation;

/// What strangers do to locks of groups, each time at one place, and who is excused by it.
class strangers {
public:
    explicit strangers(simulation& all) : all_{all} {}

    // Each returns false where nobody has the lock. A semaphore, which names nobody, is spared.

    /// Deletes the lock, and tells nobody.
    bool remove(std::size_t name, std::size_t place);
    /// Takes its expiry away. When all has settled: of one that its client tends.
    bool persist(std::size_t name, std::size_t place);
    /// Puts something else where it is, whether or not anybody has it.
    bool spoil(std::size_t name, std::size_t place);
    void restore(std::size_t name, std::size_t place);
    void restore_all();
    /// A client of that place forces a release there, and nowhere else.
    bool force(process& by, std::size_t name, std::size_t place);
    void force_ended(std::size_t number);
    void died(const process& p);

    /// When that was put there, if it is still there; -1: it was taken back, or never.
    instant spoilt_at(std::size_t name, std::size_t place) const {
        const auto it = spoilt_.find({name, place});
        return it == spoilt_.end() ? -1 : it->second;
    }
    bool is_spoilt(std::size_t name, std::size_t place) const {
        return spoilt_.contains({name, place});
    }
    /// Who has this field there had it taken away, or may have if it has it since then.
    bool took(std::size_t name, std::size_t place, const std::string& field, instant since) const;
    /// When something of this name was last taken away at one server: now, if a force goes on; -1:
    /// never.
    instant last_taken(std::size_t name) const;
    /// When its expiry was last taken away; -1: never.
    instant persisted_at(const std::string& field) const;
    /// When all who wait for this name know what strangers did to it: no message told of that.
    instant known_by(std::size_t name) const;
    /// It has no expiry any more, and nobody is going to release it: that is the stranger's doing.
    bool outlived_its_release(std::size_t place, const std::string& field) const;
    /// Removes what is so.
    void remove_deserted();
    /// Its engine knows it, and is going to renew or to release it.
    bool is_tended(std::size_t place, const std::string& field) const;
    void note_detached(const std::string& field) { detached_.insert(field); }

private:
    using place_of = std::pair<std::size_t, std::size_t>;  // a name, a place
    struct forced_release {
        const process* by = nullptr;
        place_of of{};
        instant ended_at = -1;  ///< it goes on
    };

    void take(std::size_t name, std::size_t place);

    simulation& all_;
    std::map<std::string, instant> taken_{};       // fields
    std::map<std::size_t, instant> last_taken_{};  // by name
    std::map<std::size_t, instant> last_removed_{};
    std::map<place_of, instant> spoilt_{};
    std::vector<forced_release> forces_{};
    std::map<std::string, instant> persisted_{};
    std::set<std::string> detached_{};
};

}  // namespace conch::sim::majority

#endif
