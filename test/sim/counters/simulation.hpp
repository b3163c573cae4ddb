// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_COUNTERS_SIMULATION_HPP
#define CONCH_TEST_SIM_COUNTERS_SIMULATION_HPP

#include "sim/counters/debt.hpp"
#include "sim/counters/stage.hpp"
#include "sim/counters/taker.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace conch::sim::counters {

/// One run: clients whose users take and release the permits of semaphores, a server that is run in
/// any way, the faults of a scenario. What is checked:
///
/// A stranger may delete any of them. The permits that were left are gone then, and those that are
/// out are not; who waits at a latch finds it open when it asks again.
///
/// Where there are two masters, what both have is there twice, until one discards what it has; and
/// a latch is looked at when that is over.
///
/// "conservation": the permits that are left and those that somebody has are never more than were
/// set, and at rest no fewer; and fewer than none are left only since an operator took some away.
/// "setting": who is the first to set their number alone sets it. "order": within a client nobody
/// is overtaken. "promptness": who could have its permits gets them. "bounds" and "rest": nothing
/// is kept for nobody. "outcomes": each call ends once, and for a reason.
///
/// Beside them a latch, which opens when all tickets that it was set to are counted down: each
/// counts once ("conservation"), it is set only when it is open ("opening"), nobody goes on before
/// it opens ("outcomes"), and nobody waits on when it has opened ("promptness").
class simulation final : public stage {
public:
    explicit simulation(std::uint64_t seed, bool print = false);
    ~simulation();

    // For takers.

    bool is_latch(std::size_t name) const noexcept {
        return specs_[name]->what() == impl::count_spec::kind::latch;
    }
    /// Of those that the latch still has to be counted down by.
    std::int64_t take_tickets(std::int64_t most);
    /// The latch is set to so many at most.
    std::int64_t most_tickets() const noexcept { return 3 * total_; }
    /// Somebody has so many now that nobody had before.
    void add_to_total(std::size_t name, std::int64_t permits);
    /// Of its tickets: none counts any more where somebody put the latch to another count.
    std::uint64_t round() const noexcept { return round_; }
    permit_call& begin(taker& by, permit_call::kind what, std::int64_t permits);

private:
    void ended(std::uint64_t client, call& c) override;
    void turned(std::uint64_t client) override;
    std::unique_ptr<actor> make_actor(std::uint64_t client, std::uint64_t seed) override;
    void judge_meanwhile() override { judge_most(); }
    void judge_promptness() override;
    void judge_rest() override;

    struct tally {
        std::int64_t total = 0;    ///< so many there are to be
        std::int64_t peak = 0;     ///< the most that there ever were to be
        std::int64_t unknown = 0;  ///< that may be lost
        std::set<unsigned> set{};  ///< at these places
        debt owed{};
    };

    void ran(const script_run& r);
    void note_change(std::size_t name, const script_run& r);
    void note_taken(std::size_t name, const script_run& r);
    bool is_new(const script_run& r, std::int64_t permits, std::int64_t& before);
    void take_from_two(std::size_t name, std::int64_t here, std::int64_t there);
    void note_latch();
    void parted(std::size_t shard) override;
    void discards(fleet::process p) override;
    bool may_run_yet(const permit_call& c) const;
    /// Permits of those calls.
    std::int64_t on_their_way(std::size_t name) const;
    bool latch_is_torn() const;
    bool by_stranger(fault f) override;
    void reissue_tickets(bool discarded);
    /// Where one alone is asked that rules; at one place; at all; and where least are left.
    std::int64_t left(std::size_t name);
    std::int64_t left_at(fleet::process p, std::size_t name);
    std::int64_t left_anywhere(std::size_t name);
    std::int64_t lowest(std::size_t name);
    std::int64_t taken(std::size_t name) const;
    void judge_most();
    void judge_order(const permit_call& c);
    void judge_outcome(const permit_call& c);
    void judge_latch();
    bool has_waited_in_vain(const permit_call& c);

    std::int64_t count_ = 0;    // of the latch, after the last script
    std::int64_t tickets_ = 0;  // of these, nobody has them yet
    std::uint64_t round_ = 0;
    std::int64_t strays_ = 0;  // tickets of earlier rounds that may be counted down yet
    instant strays_until_ = -1;
    instant opened_at_ = 0;
    bool told_ = false;                    // so was who listened
    instant set_at_ = -1;                  // until then it was open, since it opened
    std::vector<tally> tallies_{};         // by name
    /// Those that changed a semaphore: by how many permits, at each place.
    std::map<std::string, std::map<unsigned, std::int64_t>> requests_{};
    /// Those of which no copy is to take more, and where that was said first.
    std::map<std::string, unsigned> final_{};
    std::vector<taker*> takers_{};
    std::deque<permit_call> calls_{};
};

}  // namespace conch::sim::counters

#endif
