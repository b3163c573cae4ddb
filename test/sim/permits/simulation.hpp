// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_PERMITS_SIMULATION_HPP
#define CONCH_TEST_SIM_PERMITS_SIMULATION_HPP

#include "protocol/spec.hpp"
#include "sim/counters/stage.hpp"
#include "sim/permits/book.hpp"
#include "sim/permits/tenant.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conch::sim::permits {

/// One run: clients whose tenants take permits of semaphores for a lease, a server that is run in
/// any way, the faults of a scenario. What is checked:
///
/// "limit": those who may believe that they have permits never have more than there are; where an
/// operator lowered the number, no more than were out then and still are. "conservation": at the
/// server, what is left and what is out is always as many as were set, and fewer than none are left
/// only since it was lowered. A stranger may delete what is left, what is out, or both, and an
/// operator may take back all that are out: then this is so of the others; who had those is told by
/// its next renewal.
/// Where there are two masters, this is so of each of them, and of those whose permits it may have
/// given, or renewed last. "setting": who is the first to set their number alone sets it. "return":
/// at rest no permit is out whose lease still runs; who gave some back has none there. "loss": a
/// hold is told lost in the first turn at its end, and none for nothing. "order": within a client
/// nobody is overtaken. "promptness": who could have its permits gets them. "rest": nothing is kept
/// for nobody. "outcomes": each call ends once, and for a reason.
class simulation final : public counters::stage {
public:
    explicit simulation(std::uint64_t seed, bool print = false);
    ~simulation();

    // For tenants.

    impl::spec_ptr spec(std::size_t name, std::int64_t permits) const;
    permit_call& begin(tenant& by, permit_call::kind what, std::int64_t permits);
    void granted(const permit_call& c);
    void found_lost() noexcept { ++outcome_.losses; }

private:
    void ended(std::uint64_t client, call& c) override;
    void turned(std::uint64_t client) override;
    std::unique_ptr<counters::actor> make_actor(std::uint64_t client, std::uint64_t seed) override;
    void judge_meanwhile() override;
    void judge_promptness() override;
    void judge_rest() override;

    /// What the server has of a semaphore.
    struct account {
        bool set = false;
        std::int64_t left = 0;
        std::int64_t over = 0;  ///< out, and their lease has ended
        std::int64_t out = 0;   ///< and runs
    };

    account look(std::size_t name);
    account look_at(fleet::process p, std::size_t name);
    book& book_at(fleet::process p, std::size_t name) { return books_[{name, place(p)}]; }
    book& book_of(std::size_t name) { return book_at(home(name), name); }
    fleet::process home(std::size_t name) const {
        return server_.redis().master_of(specs_[name]->name());
    }
    /// The least and the most that there were to be at any time since then, at any place.
    std::pair<std::int64_t, std::int64_t> range(std::size_t name, instant since) const;
    std::int64_t deepest(std::size_t name) const;
    void parted(std::size_t shard) override;
    void discards(fleet::process p) override;
    bool stands_at(const held& h, unsigned place) const;
    std::optional<std::size_t> name_of_key(std::string_view key) const noexcept;
    void ran(const script_run& r);
    std::set<std::string> ids_out(fleet::process p, std::size_t name);
    void note_change(std::size_t name, const script_run& r);
    bool by_stranger(fault f) override;
    /// Its permits were taken away: until it is told, others may have them, too.
    bool excused(const held& h) const;
    void judge_taken();
    bool believes(const tenant& t) const;
    void judge_limit();
    /// It is looked at after each script: what is lacking of a semaphore may only become less.
    void judge_conservation(std::size_t name);
    void judge_order(const permit_call& c);
    void judge_outcome(const permit_call& c);
    void judge_losses(std::uint64_t client);

    std::map<std::pair<std::size_t, unsigned>, book> books_{};  // by name and place
    /// That changed the number of permits, at this place.
    std::set<std::pair<unsigned, std::string>> requests_{};
    /// Client and number of acquisitions whose permits were taken away, and when.
    std::map<std::pair<std::uint64_t, std::uint64_t>, instant> taken_{};
    /// Ids of permits that were out after the last script, by name and place.
    std::map<std::pair<std::size_t, unsigned>, std::set<std::string>> out_{};
    std::vector<tenant*> tenants_{};
    std::deque<permit_call> calls_{};
};

}  // namespace conch::sim::permits

#endif
