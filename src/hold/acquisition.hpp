// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_ACQUISITION_HPP
#define CONCH_SRC_HOLD_ACQUISITION_HPP

#include "core/timer_heap.hpp"
#include "hold/level.hpp"
#include "hold/pending.hpp"
#include "hold/progress_record.hpp"
#include "protocol/lock_protocol.hpp"

#include <boost/intrusive/list.hpp>

#include <cstdint>
#include <memory>

namespace conch::lock {

class lock_name;
struct attempt;
struct release;
struct renewal;

/// What a hold shall be like; checked, with all times finite and in range.
struct hold_terms {
    static constexpr std::uint64_t largest_owner = ~std::uint64_t{0} >> 1;

    duration lease{};
    std::uint64_t owner : 63 = 0;  ///< 0: none
    std::uint64_t renew : 1 = 1;

    friend bool operator==(const hold_terms&, const hold_terms&) = default;
};

/// One outermost acquisition of a lock, from its first try until the server is known not to have
/// it, or until it is detached. The alarm is for its next renewal, or look at it here.
struct acquisition : boost::intrusive::list_base_hook<>, core::alarm {
    enum class phase : std::uint8_t {
        trying,     ///< the acquire is on its way, or it stands in line
        abandoned,  ///< the same, but nobody wants it any more
        held,
        releasing,  ///< the release is on its way, awaited by someone or not
    };

    acquisition(lock_name& n, impl::spec_ptr s, std::uint64_t no, const hold_terms& t);

    /// The server of its name's link has it.
    void was_seen() noexcept;
    /// Another has taken that one's place since.
    bool failed_over() const noexcept;
    /// Its holder has to report progress so often, from its next level on; zero: it need not.
    void expect_progress(duration within);
    duration progress_within() const noexcept { return progress ? progress->within : duration{}; }
    /// When its holder last reported progress, where that is expected; the grant counts.
    time_point last_report() const noexcept;
    /// It is not renewed, as its holder reports no progress.
    bool is_withheld() const noexcept { return progress && progress->withheld != time_point{}; }
    /// Its holder was to report progress by then, and did not.
    bool shows_no_progress(time_point by) const noexcept;
    /// The server is asked whether it is there when its renewal is next due, progress or not.
    void ask_next_time() noexcept;

    std::uint32_t renewals = 0;  ///< so far
    lock_name& home;
    impl::spec_ptr spec;
    std::uint64_t number;  ///< the second part of its field; never used again
    std::uint64_t tries = 0;  ///< copies of its acquires that were written: the number of the last
    hold_terms terms;

    attempt* acquiring = nullptr;  ///< until it is held, in line, or known not to be
    release* releasing = nullptr;  ///< from its end on; sooner, if copies of the acquire are lost
    /// Trying: when patience ends. Held: the deadline. Releasing: the next thing to do.
    core::timer timer;

    time_point granted_at{};
    time_point valid_until{};
    time_point ends{};       ///< by `max_hold`
    time_point extended{};   ///< when the last command left that may have set the TTL
    duration extended_by{};  ///< and how long the lock may be its own then: in line, and by lease
    std::unique_ptr<progress_record> progress{};  ///< null: its holder need not report any
    std::uint64_t fence = 0;

    /// Held: the renewal in flight, and this hold's place in it.
    renewal* renewing = nullptr;
    std::uint32_t depth = 0;  ///< levels, and those on their way
    std::uint8_t place = 0;
    std::uint8_t moves = 0;  ///< of its name's link, when that server last had it
    phase now : 2 = phase::trying;
    bool holds : 1 = false;    ///< its name; set by `acquisitions`
    bool due : 1 = false;      ///< in the renewer's list
    bool last : 1 = false;     ///< the lease runs until `ends` or nearly: it isn't renewed again
    bool refused : 1 = false;  ///< the last answer to a renewal was an error that does not pass
    bool refusal_logged : 1 = false;    ///< the last answer was an error of any kind
    bool renew_again : 1 = false;       ///< to be renewed once more behind `renewing`
    bool server_moved : 1 = false;      ///< its name has another link since
    bool under_replicated : 1 = false;  ///< too few replicas have what was done to it last
    bool overlong : 1 = false;  ///< its TTL was found to be longer than this hold ever asked for
    /// What lowers the TTL to `extended_by` may run late: no longer lease can be promised until it
    /// can't.
    bool grows_no_more : 1 = false;
    bool in_line : 1 = false;  ///< not held: it may have a place at the server
    bool given : 1 = false;    ///< the lock, by who released it: held since that was told
    /// A downgrade may have run, or may yet: the server knows it by the writer's field, or by the
    /// reader's.
    bool two_fields : 1 = false;

    boost::intrusive::list<level, boost::intrusive::constant_time_size<false>> levels{};
    /// Extensions, changes of the depth, downgrades, and who watches its levels.
    pending_list requests{};
};

/// The lease to ask for when the hold may go on for `left`: not longer than that needs.
duration clamped_lease(duration lease, duration left) noexcept;

/// The lease that it shall have by its terms now; zero while its holder shows no progress.
duration due_lease(const acquisition& a, time_point now) noexcept;

/// The lease to send now for a hold that is to have this one: no shorter than what is left of what
/// its holder was promised, as it becomes the whole TTL of a key that somebody took it from.
duration lease_to_send(const acquisition& a, duration lease, time_point now) noexcept;

/// What the server knows it by. Of the client's memory.
protocol::field field_of(const acquisition& a) noexcept;

}  // namespace conch::lock

#endif
