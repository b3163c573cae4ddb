// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_DEADLOCKS_HPP
#define CONCH_SRC_WAIT_DEADLOCKS_HPP

#include "core/pool.hpp"
#include "core/timer_heap.hpp"
#include "protocol/wait_record.hpp"
#include "resp/value.hpp"
#include "wire/call.hpp"

#include <conch/clock.hpp>

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace conch::lock {

class deadlocks;
class slots;
struct acquisition;
struct hunt;
struct notice;
struct waiter;

/// An owner, with what it holds and waits for here.
struct party {
    std::vector<const acquisition*> holds{};
    std::vector<hunt*> waits{};
    std::vector<notice*> notices{};  ///< one of each of its holds, or none
    std::uint64_t told_at = 0;       ///< the last tick that told it
};

/// Which server has what was told.
struct told_server {
    const wire::link* link;
    std::uint8_t moves;  ///< how many times another one took its place

    friend bool operator==(const told_server&, const told_server&) = default;
};

/// Tells a server what the owner of a hold waits for, as long as it holds and waits. One command at
/// a time is on its way.
struct notice : wire::call {
    notice(deadlocks& d, const acquisition& a, const party& p, std::uint64_t e);

    deadlocks& home;
    const impl::spec_ptr held;
    const std::uint64_t number;  ///< of the acquisition
    const party* of;             ///< null: nothing is told any more
    std::uint64_t epoch;
    std::uint64_t refresh = 0;  ///< how many were answered
    told_server server;
};

/// It holds what the one before it waits for, and waits itself.
struct cycle_member {
    static constexpr std::size_t hunter = ~std::size_t{0};

    std::size_t before;  ///< which one that is
    std::string field;
    std::string who;
    std::uint64_t epoch;
    std::uint64_t refresh;
    protocol::told_wait wait;
};

using hunt_hook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct by_wait>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// Looks, for one wait, for a way from it over holders that wait, back to its owner. Only a wait
/// that began after all others of the cycle finds that: so each cycle has one victim. One command
/// at a time is on its way.
struct hunt : wire::call, hunt_hook {
    /// How often the cycle was seen.
    enum class stage : std::uint8_t {
        nothing,
        once,    ///< all of it was there, but one after the other
        counted  ///< once more, and `cycle` says how often each was refreshed by then
    };

    hunt(deadlocks& d, waiter& w, party& p, std::uint64_t n, std::int64_t ms);

    const protocol::told_wait& looked_at() const noexcept;

    deadlocks& home;
    waiter* of;  ///< null once its wait ended
    party& by;
    const protocol::told_wait wait;
    bool looks = false;        ///< a look is not at its end yet
    bool was_unsent = false;   ///< its question was not sent yet at the last tick
    bool may_repeat = false;   ///< one more look may follow at once
    std::uint8_t in_vain = 0;  ///< so many looks in a row found no cycle
    bool pauses = false;       ///< the next tick passes without a look

    // In this look.

    std::vector<cycle_member> met{};
    std::vector<std::string> holders{};     ///< of all locks that were looked at
    std::size_t asked = 0;                  ///< of so many of them it is known what they wait for
    std::size_t at = cycle_member::hunter;  ///< whose wait is looked at

    stage sure = stage::nothing;
    std::vector<cycle_member> cycle{};
    std::uint64_t closed_by = 0;  ///< which acquisition of its owner the last of them waits for
};

/// Finds waits that would never end, as each holder waits for the next one: at once where all of
/// them are of this client, else with the help of records beside the locks that are held.
///
/// A record may be out of date. What a look finds was there at some time of the look; and is found
/// again by the next look, and later, refreshed twice since that one: so that all waits and all
/// holds of the cycle were there when the first look came to its end. (A refresh is told after the
/// one before it was written: of two that are written after a moment, the second was also told
/// after it.)
class deadlocks {
public:
    explicit deadlocks(slots& all) noexcept;
    deadlocks(const deadlocks&) = delete;
    deadlocks& operator=(const deadlocks&) = delete;
    ~deadlocks();

    // For the slots. Waits and holds without an owner are of no interest; nor are holds that end by
    // themselves, as what waits for them does not wait for ever.

    /// Whether a wait that begins, or goes on, would never end: the log gets the reason. If not, it
    /// is looked after until it ends.
    bool would_deadlock(waiter& w);
    void wait_ended(const waiter& w);
    void hold_began(const acquisition& a);
    void hold_ended(const acquisition& a);

    /// Commands that are not answered, and what is kept for waits.
    std::size_t live() const noexcept { return hunts_.live() + notices_.live(); }

private:
    friend struct hunt;
    friend struct notice;

    static const wire::call_type tell_type, end_type, holders_type, record_type;
    static void on_tick(void* self);
    static void answered(hunt& h, const wire::outcome& o,
                         void (deadlocks::*read)(hunt&, const resp::value&));

    bool closes_cycle(const waiter& w) const;
    void wait_began(waiter& w);
    duration interval() const noexcept;
    /// How long a record lives that is not refreshed.
    std::int64_t kept_ms() const noexcept;
    told_server server_of(const impl::lock_spec& held) const noexcept;
    void warn_if_refused(const impl::lock_spec& l, const wire::outcome& o);
    void submit(wire::call& c, const impl::lock_spec& of);
    void tick();
    void forget_idle(std::uint64_t owner);

    // What others are told.
    void tell(party& p);
    void end_notices(party& p);
    void end_notice(notice& n, bool lost = false);
    void told(notice& n, const wire::outcome& o);

    // Looks.
    void look(hunt& h);
    void ask(hunt& h, const wire::call_type& what);
    void next(hunt& h);
    void give_up_on_silent_server(hunt& h);
    void read_holders(hunt& h, const resp::value& reply);
    void read_record(hunt& h, const resp::value& reply);
    bool leads_on(const hunt& h, std::string_view field, const protocol::told_wait& w) const;
    std::uint64_t own_number(const hunt& h, std::string_view field) const noexcept;
    void came_round(hunt& h, std::uint64_t closed_by);
    void found(hunt& h);
    void looked_in_vain(hunt& h) noexcept;
    void end_hunt(hunt& h);

    slots& all_;
    std::unordered_map<std::uint64_t, party> parties_{};  ///< by their owners
    /// Those that have not ended.
    boost::intrusive::list<hunt, boost::intrusive::base_hook<hunt_hook>,
                           boost::intrusive::constant_time_size<false>>
        waits_{};
    core::pool<hunt> hunts_{};
    core::pool<notice> notices_{};
    std::uint64_t last_number_ = 0;  ///< of a wait or an epoch
    std::uint64_t ticks_ = 0;
    duration::rep sent_ = 0;  ///< commands since the last tick
    duration pace_{};         ///< what those before it ask for, until the next one
    core::timer tick_;
};

}  // namespace conch::lock

#endif
