// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_PROTOCOL_LOCK_PROTOCOL_HPP
#define CONCH_SRC_PROTOCOL_LOCK_PROTOCOL_HPP

#include "protocol/spec.hpp"
#include "resp/value.hpp"
#include "resp/writer.hpp"
#include "wire/call.hpp"
#include "wire/script.hpp"

#include <conch/clock.hpp>
#include <conch/lock_status.hpp>

#include <boost/container/static_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace conch::protocol {

/// What the server knows an acquisition by: "<client uuid>:<number>".
struct field {
    std::string_view text{};    ///< all of it, or what stands before the number
    std::uint64_t number = 0;   ///< 0: none
    std::string_view suffix{};  ///< behind the number

    void write(resp::writer& w) const;
};

struct acquire_request {
    const impl::lock_spec& spec;
    field mine;
    duration lease;
    std::optional<field> from{};  ///< takes the lock from this one
    /// Of permits, the number of an acquisition of this client that asked before: where that one
    /// has none, this one gets none. 0: it is the first.
    std::uint64_t behind = 0;
    /// No copy of it has run, and nobody here needs to know what is left of another's lease.
    bool plainly = false;
    /// How long others shall make way if the lock is busy, or its place in line lasts.
    duration waits_for{};
    /// Of this copy of it, among all of all tries of its field.
    std::uint64_t try_number = 0;
    bool sharded = false;  ///< what it releases is told by SPUBLISH
    /// What the last answer had in `beside`.
    const std::vector<std::string>* beside = nullptr;
};

struct acquire_answer {
    enum class kind : std::uint8_t {
        granted,
        busy,
        gone,            ///< there was no holder to take it from, or to come behind
        unintelligible,  ///< the lock may be taken
    };
    kind what = kind::unintelligible;
    std::uint64_t fence = 0;   ///< of a grant; 0: none that can be read
    std::int64_t ttl_ms = -1;  ///< what is left of the holder's lease; -1: unknown, or no end
    /// Holders of which the next try should know: for the protocol alone.
    std::vector<std::string> beside{};
};

struct release_request {
    const impl::lock_spec& spec;
    field holder;
    bool sharded;  ///< the release is told by SPUBLISH
    /// What else belongs to the lock may be on another server just now.
    bool lock_key_only = false;
    bool downgraded = false;  ///< or may be: the holder has the field of one form or of the other
};

struct release_answer {
    enum class kind : std::uint8_t { released, not_held, unintelligible };
    kind what = kind::unintelligible;
    std::int64_t heard_by = 0;  ///< so many clients
    std::string_view words{};   ///< of a refusal, where there are any
};

/// The lock stays for as long as `lease` says, no longer and no shorter.
struct leave_request {
    const impl::lock_spec& spec;
    field holder;
    duration lease;
    bool is_longer;  ///< what is left of it at the server
};

/// One of the holds that a script renews.
struct renew_item {
    const impl::lock_spec& spec;
    field holder;
    duration lease{};     ///< zero: only looks
    bool lowers = false;  ///< a TTL above the lease is lowered to it, and none is raised
};

/// The renewal of one hold at one of its keys alone.
struct renew_part {
    wire::script_id script;
    void (*key)(const renew_item& i, resp::writer& w);
    void (*args)(const renew_item& i, resp::writer& w);
};

struct renew_answer {
    enum class kind : std::uint8_t { held, gone, refused };
    kind what = kind::refused;
    std::int64_t longer_ms = 0;  ///< of a hold: its TTL, if that is above the lease, or little
    std::string_view words{};    ///< of a refusal
};

struct nest_request {
    const impl::lock_spec& spec;
    field holder;
    std::uint32_t depth;
    duration lease;
};

struct downgrade_request {
    const impl::lock_spec& spec;
    field holder;  ///< in either form
    duration lease;
    bool sharded;  ///< it is told by SPUBLISH
};

struct status_request {
    const impl::lock_spec& spec;
    bool with_fence;
};

enum class nest_answer : std::uint8_t {
    done,  ///< the field holds the lock, and has the depth that was asked for
    gone,
    unintelligible,
};

/// The lock, from who released it to the next in line.
struct gift {
    std::uint64_t fence;  ///< 0: none
    duration lease;       ///< zero: nothing is given, who sent it only looks whether anybody hears
    std::uint64_t try_number;  ///< which got the place that is served; 0: unknown
};

enum class lock_mode : std::uint8_t {
    exclusive,
    shared,   ///< any number of equal holders
    permits,  ///< as many holders as the server has permits for, of which each wants some
};

/// How one kind of lock is kept on the server: its keys, its scripts with their arguments, and what
/// the answers mean. Its functions have no state.
struct lock_protocol {
    const char* type_name;              ///< for messages
    std::string_view channel_prefix;    ///< with what opens a hash tag
    std::string_view fence_key_prefix;  ///< the same: of the key that is kept beside the lock
    lock_mode mode = lock_mode::exclusive;
    /// Acquisitions of one family and one name are of one lock, and wait in one queue. Null: it is
    /// a family of its own.
    const lock_protocol* family = nullptr;
    /// What a hold of this one becomes when it is downgraded. Null: it can't be.
    const lock_protocol* shared_form = nullptr;
    std::string_view field_suffix{};
    /// Of the key of a queue in which each waiter has a place, under its field, which it keeps over
    /// its tries. Each has a channel of its own. Empty: the server doesn't know who waits.
    std::string_view queue_prefix{};
    /// Behind the channel's name and a colon, where who watches hears of each new holder. No field
    /// of a waiter. Empty: nobody is told.
    std::string_view watched_as{};
    /// What this message on a waiter's channel gives it; none: it says that somebody released the
    /// lock. Null: no message gives anything.
    std::optional<gift> (*read_gift)(const impl::lock_spec& spec,
                                     std::string_view message) = nullptr;
    wire::script_pair acquire;
    wire::script_pair release;
    wire::script_id renew;  ///< for any number of holds; its answer is an array of theirs
    wire::script_id nest;
    wire::script_id status;

    // Acquires of equal form may leave as one script. One that `leaves_alone` has an encoding of
    // its own.
    wire::joint_script (*acquire_form)(const acquire_request& r);
    void (*acquire_keys)(const acquire_request& r, resp::writer& w);
    void (*acquire_args)(const acquire_request& r, resp::writer& w);
    void (*acquire_alone)(const wire::call& c, const acquire_request& r, resp::writer& w);
    acquire_answer (*read_acquire)(const impl::lock_spec& spec, const resp::value& reply);

    // The same for releases.
    wire::joint_script (*release_form)(const release_request& r);
    void (*release_keys)(const release_request& r, resp::writer& w);
    void (*release_args)(const release_request& r, resp::writer& w);
    void (*release_alone)(const wire::call& c, const release_request& r, resp::writer& w);
    release_answer (*read_release)(const resp::value& reply);

    std::uint8_t renew_keys_each;
    std::uint8_t renew_args_each;
    void (*renew_keys)(const renew_item& i, resp::writer& w);
    void (*renew_args)(const renew_item& i, resp::writer& w);
    renew_answer (*read_renew)(const resp::value& reply);
    /// The same at each key, one after the other, for when they are on different servers: a hold is
    /// renewed if it is at all of them. Empty: it has one key.
    std::span<const renew_part> renew_parts{};

    void (*encode_nest)(const wire::call& c, const nest_request& r, resp::writer& w);
    nest_answer (*read_nest)(const resp::value& reply);

    /// Of both forms; its answer is read as that of `encode_nest`.
    void (*encode_downgrade)(const wire::call& c, const downgrade_request& r,
                             resp::writer& w) = nullptr;

    void (*encode_status)(const wire::call& c, const status_request& r, resp::writer& w);
    /// None: it is no answer to that question.
    std::optional<lock_status> (*read_status)(const resp::value& reply);
};

/// `conch::mutex`: as Redisson's RLock.
extern const lock_protocol mutex_protocol;
/// `conch::token_mutex`: SET NX PX, and compare-and-delete.
extern const lock_protocol value_lock_protocol;
/// `conch::shared_mutex`, locked for reading and for writing: as Redisson's RReadWriteLock.
extern const lock_protocol shared_read_protocol;
extern const lock_protocol shared_write_protocol;
/// `conch::fair_mutex`: as Redisson's RFairLock.
extern const lock_protocol fair_protocol;
/// `conch::leader`: the same, and who watches it is told of each change.
extern const lock_protocol leader_protocol;
/// `conch::semaphore`: as Redisson's RPermitExpirableSemaphore.
extern const lock_protocol permits_protocol;

inline bool is_shared(const impl::lock_spec& s) noexcept {
    return s.protocol().mode == lock_mode::shared;
}
inline bool takes_permits(const impl::lock_spec& s) noexcept {
    return s.protocol().mode == lock_mode::permits;
}
inline const lock_protocol& family_of(const impl::lock_spec& s) noexcept {
    const lock_protocol& p = s.protocol();
    return p.family ? *p.family : p;
}

/// Its release has keys beside the lock. While those are at another server, the lock alone is
/// released.
inline bool releases_more(const impl::lock_spec& s) noexcept {
    return is_shared(s) || !s.protocol().queue_prefix.empty();
}

/// Its waiters have places at the server.
inline bool has_places(const impl::lock_spec& s) noexcept {
    return !s.protocol().queue_prefix.empty();
}
/// Where the waiter of this field hears of the lock.
std::string channel_of(const impl::lock_spec& s, const field& waiter);
/// Where who watches it does.
std::string watch_channel_of(const impl::lock_spec& s);

inline acquire_answer read_acquire(const impl::lock_spec& spec, const resp::value& reply) {
    return spec.protocol().read_acquire(spec, reply);
}

/// How calls leave as one script. `request_of` makes the request of a call; `form`, `write_keys`
/// and `write_args` are members of its protocol.
template <auto request_of, auto form, auto write_keys, auto write_args>
inline constexpr wire::joint_form joint{
    .script =
        [](const wire::call& c) {
            const auto r = request_of(c);
            return (r.spec.protocol().*form)(r);
        },
    .write =
        [](std::span<wire::call* const> calls, resp::writer& w) {
            using request = decltype(request_of(*calls.front()));
            boost::container::static_vector<request, wire::joint_form::most> runs;
            for (const wire::call* c : calls) {
                runs.push_back(request_of(*c));
            }
            const wire::joint_script s = (runs.front().spec.protocol().*form)(runs.front());
            const std::size_t n = runs.size();
            wire::write_script(w, *calls.front(), s.scripts.many, n * s.keys, 1 + n * s.args);
            for (const request& r : runs) {
                (r.spec.protocol().*write_keys)(r, w);
            }
            w.arg(n);
            for (const request& r : runs) {
                (r.spec.protocol().*write_args)(r, w);
            }
        },
};

void write_name(resp::writer& w, const impl::derived_name& n);

/// One that leaves by itself.
void encode_acquire(const wire::call& c, const acquire_request& r, resp::writer& w);
void encode_release(const wire::call& c, const release_request& r, resp::writer& w);

/// By the script that renews.
void encode_leave(const wire::call& c, const leave_request& r, resp::writer& w);
/// Released, as far as it is known here.
release_answer read_leave(const lock_protocol& p, const resp::value& reply);

}  // namespace conch::protocol

#endif
