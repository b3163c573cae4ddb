// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_RENEWAL_HPP
#define CONCH_SRC_HOLD_RENEWAL_HPP

#include "core/environment.hpp"
#include "core/pool.hpp"
#include "hold/acquisition.hpp"
#include "protocol/lock_protocol.hpp"
#include "protocol/renewing.hpp"
#include "topology/servers.hpp"
#include "wire/call.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace conch::lock {

class keeper;
class renewer;
class replica_waits;

/// One script that renews (or checks) holds of one protocol.
struct renewal : wire::call {
    static constexpr std::size_t most = protocol::renewal_room::most;

    struct item {
        acquisition* of = nullptr;  ///< null once that ended
        duration lease{};           ///< zero: only check
        bool lowers = false;        ///< a TTL that is longer than any lease that it asked for

        protocol::renew_item request() const noexcept;
    };

    explicit renewal(renewer& h) noexcept;
    /// From when on what it asks for counts.
    time_point sent() const noexcept { return part > 1 ? sent_first : history.last_sent; }

    renewer& home;
    const protocol::lock_protocol* protocol = nullptr;
    static_assert(most <= std::numeric_limits<decltype(acquisition::place)>::max());
    std::array<item, most> items{};
    std::uint32_t count = 0;
    std::uint32_t wanting = 0;  ///< how many of them have not ended
    std::uint8_t part = 0;      ///< of one hold alone: at which of its keys, from 1 on; 0: at all
    time_point sent_first{};    ///< at a later key: when the one at the first key left
};

/// It is to be renewed until it ends.
bool renews(const acquisition& a) noexcept;
/// Somebody waits for a longer lease of it.
bool is_extending(const acquisition& a) noexcept;

/// The watchdog of all holds: each is renewed every third of its lease; those that are due at about
/// the same time share a script.
class renewer {
public:
    renewer(core::environment& env, topology::servers& servers, replica_waits& replicas,
            keeper& holds) noexcept
        : env_{env}, servers_{servers}, replicas_{replicas}, holds_{holds} {}
    ~renewer();

    /// Decides when the hold is renewed next.
    void schedule(acquisition& a);
    /// Asks the server about this hold in this turn: renews it if it shall be renewed.
    void check(acquisition& a);
    /// The same; what is on its way may have run too early to tell.
    void check_again(acquisition& a);
    /// The same on a new connection to its server: waits for no answer from another one.
    void check_first(acquisition& a);
    /// The same after a pause, as the server refused to answer.
    void check_soon(acquisition& a);
    /// The same at once, for one that another server has from now on.
    void check_elsewhere(acquisition& a);
    /// The hold ended.
    void drop(acquisition& a);

    /// Takes what is due by now, and what would be soon.
    void tick();
    /// Submits the scripts for what is due.
    void flush();

    /// When something is due.
    time_point next_deadline() const noexcept { return renewals_.next(); }
    /// How many holds are to be renewed, or looked at.
    std::size_t scheduled() const noexcept { return renewals_.size(); }
    /// Scripts that aren't answered.
    std::size_t on_their_way() const noexcept { return pool_.live(); }

private:
    static void encode(wire::call& c, resp::writer& w);
    static void done(wire::call& c, const wire::outcome& o);
    static const wire::call_type type;
    static const wire::call_type divisible_type;
    friend struct renewal;

    bool is_left_alone(acquisition& a);
    void flush_by_hash_slot();
    void send_all(std::span<acquisition*> due);
    /// How many of these, from the first one on.
    static std::size_t for_one_script(std::span<acquisition* const> holds) noexcept;
    void send(std::span<acquisition* const> holds);
    void send_part(const renewal& before, const renewal::item& item, acquisition& a);
    static void encode_part(renewal& r, resp::writer& w);
    static void choose_lease(renewal& r, renewal::item& item);
    void leave(renewal& r, acquisition& a);
    void judge(renewal& r, const wire::outcome& o);
    void answered(acquisition& a, const renewal::item& item, const renewal& r,
                  const protocol::renew_answer& answer, wire::link& answered_on);
    void renewed(acquisition& a, const renewal& r, duration lease, wire::link& answered_on);
    void count(acquisition& a, time_point sent) noexcept;
    void failed(acquisition& a, std::string_view words, wire::link& answered_on);
    void retry_singly(renewal& r);
    void retry_by_key(renewal& r);

    core::environment& env_;
    topology::servers& servers_;
    replica_waits& replicas_;
    keeper& holds_;
    core::heap_of<acquisition> renewals_{};
    std::vector<acquisition*> due_{};
    core::pool<renewal> pool_{};
};

}  // namespace conch::lock

#endif
