// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_REPLICA_WAITS_HPP
#define CONCH_SRC_HOLD_REPLICA_WAITS_HPP

#include "core/environment.hpp"
#include "hold/acquisition.hpp"
#include "hold/attempt.hpp"
#include "hold/events.hpp"
#include "topology/servers.hpp"
#include "wire/call.hpp"
#include "wire/link.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace conch::lock {

class name_table;
class replica_waits;

/// A WAIT: asks how many replicas have all that was written before it on its connection. The server
/// does nothing else on that connection until it answers, so at most one is on its way, whatever
/// its terms: what is written meanwhile shares the next. What one tells serves all whose terms it
/// meets.
struct replica_wait : wire::call {
    replica_wait(replica_waits& h, wire::link& l, impl::replication t) noexcept;

    replica_waits& home;
    wire::link& link;
    const impl::replication replicas;
    std::uint16_t given_ms = 0;  ///< what the replicas were given of `replicas.within_ms`
    // What the answer will be about. Answers come in the order of the commands, so that what was
    // written behind this is not among it.
    wire::call_list acquires{};  ///< granted; their names wait for the answer
    std::uint64_t renewals = 0;
    bool ask_again = false;  ///< something was written behind the one on its way
};

/// Asks whether enough replicas have what locks did that want to know.
class replica_waits {
public:
    replica_waits(core::environment& env, const topology::servers& servers, const name_table& names,
                  const hold_events& events) noexcept
        : env_{env}, servers_{servers}, names_{names}, events_{events} {}
    ~replica_waits();

    /// What was submitted to this link last asks by these terms: a WAIT leaves behind it.
    void follow(wire::link& link, impl::replication replicas);
    /// The acquire was granted on the connection of this link: its name hears whether enough
    /// replicas have it, unless its call is unlinked before.
    void granted(acquisition& a, wire::link& answered_on);
    /// The server confirmed a renewal, on the connection of this link.
    void renewed(const acquisition& a, wire::link& answered_on);
    /// On the next connection WAIT says nothing of what was written on this one, which broke: it is
    /// to be written again.
    void connection_lost(wire::link& link);
    /// Hash slots have other links than before: acquires are to be written again there,
    /// as the replicas that are asked are not those of their master any more.
    void regrouped();

private:
    static constexpr std::size_t most_kept = 8;

    static void encode(wire::call& c, resp::writer& w);
    static void done(wire::call& c, const wire::outcome& o);
    static const wire::call_type type;
    friend struct replica_wait;

    replica_wait& of(wire::link& link, impl::replication replicas);
    replica_wait* on_its_way(const wire::link& link) const noexcept;
    replica_wait& about(const acquisition& a, wire::link& answered_on);
    static void submit(replica_wait& c);
    void submit_next(const replica_wait& last);
    std::chrono::milliseconds time_for(const replica_wait& c) const;
    wire::call_list take_met(const replica_wait& c, const wire::outcome& o);
    void judge(replica_wait& c, wire::call_list& judged, errc why);
    bool strays(const replica_wait& c, const wire::call& acquire) const;
    static void ask_at_home(replica_wait& c, wire::call& acquire);
    void leave(replica_wait& c);
    void report(const replica_wait& c, std::uint64_t renewals, const wire::outcome& o);
    void forget_idle();

    core::environment& env_;
    const topology::servers& servers_;
    const name_table& names_;
    const hold_events& events_;
    std::vector<std::unique_ptr<replica_wait>> all_{};
    std::uint16_t shortest_ms_ =
        std::numeric_limits<std::uint16_t>::max();  ///< of all terms so far
};

}  // namespace conch::lock

#endif
