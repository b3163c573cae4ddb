// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_CALL_HPP
#define CONCH_SRC_WIRE_CALL_HPP

#include "core/time.hpp"
#include "resp/value.hpp"
#include "resp/writer.hpp"
#include "wire/hash_slot.hpp"
#include "wire/script.hpp"

#include <conch/error.hpp>

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace conch::wire {

struct call;
class link;

/// How a call ended.
struct outcome {
    enum class kind : std::uint8_t {
        answered,  ///< with `reply`
        refused,   ///< with the error `reply`; the server changed nothing
        lost,      ///< its connection broke; whether the server ran it is unknown
    };
    kind what{};
    resp::value reply{};
    link* answered_on = nullptr;  ///< on whose connection; none if it is lost

    bool answered() const noexcept { return what == kind::answered; }
    bool refused() const noexcept { return what == kind::refused; }
    bool lost() const noexcept { return what == kind::lost; }
};

/// What happens to a written call whose connection breaks before the answer.
enum class retry : std::uint8_t {
    replay,  ///< idempotent: sent again on the next connection, in its old order
    never,   ///< ends as lost; who wants it makes a new one
};

/// What is known of the copies of a call that were written since it was submitted.
struct call_history {
    static constexpr time_point never = time_point::min();

    std::uint32_t copies = 0;
    /// When the writes of the first and of the last copy started.
    time_point first_sent{};
    time_point last_sent{};
    /// When a connection last broke with the call unanswered, or before replicas had confirmed it.
    time_point lost_at = never;

    /// A copy may have run without an answer, and may still run.
    bool in_doubt() const noexcept { return lost_at != never; }
    void written(time_point now) noexcept {
        last_sent = now;
        if (copies++ == 0) {
            first_sent = now;
        }
    }
    /// Nothing is known of the copies of an earlier call for the same.
    void keep_doubt(const call_history& earlier) noexcept {
        if (earlier.in_doubt()) {
            *this = earlier;
        }
    }
    /// The server answered that the last copy did not run: the call is as good as unwritten,
    /// unless an earlier copy was lost.
    void not_run() noexcept {
        if (!in_doubt()) {
            copies = 0;
        }
    }
};

/// Which calls leave first.
enum class priority : std::uint8_t {
    greeting,  ///< the handshake and what must precede all else
    urgent,    ///< releases and renewals
    normal,
};

/// How calls next to each other leave as one script, whose answer is an array of theirs.
struct joint_form {
    /// So many at most: the server does nothing else meanwhile.
    static constexpr std::size_t most = 64;

    /// A call may leave with others that have an equal script.
    joint_script (*script)(const call&);
    /// Writes two or more calls that have an equal script.
    void (*write)(std::span<call* const>, resp::writer&);
};

enum class call_kind : std::uint8_t {
    command,
    script,
    subscription,  ///< SUBSCRIBE and its kin: a `subscription`; what grants it is a push
};

struct call_type {
    const char* name;
    retry after_loss;
    priority order;
    call_kind kind = call_kind::command;
    /// It has several keys, and its sender makes it anew for each: it ends as refused by TRYAGAIN
    /// and ASK, which say that some of the keys are elsewhere, but not which.
    bool divisible = false;
    /// Nobody waits for what it does.
    bool unhurried = false;
    void (*encode)(call&, resp::writer&);
    void (*done)(call&, const outcome&);
    const joint_form* joint = nullptr;  ///< if there is one
};

using call_hook =
    boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// One command on its way: embedded in what it concerns, in one list of the link at a time.
struct call : call_hook {
    enum class state : std::uint8_t {
        idle,
        waiting,    ///< to be written
        written,    ///< and not answered
        abandoned,  ///< the same, but nobody wants the effect any more: it is never written again
    };
    /// ASKING goes before a call whose server doesn't own its key yet.
    enum class asking : std::uint8_t { no, due, awaited, answered };
    /// How a script leaves. A refusal that may be due to that takes it to a later one, so that no
    /// two refusals send it to and fro.
    enum class manner : std::uint8_t {
        joint,          ///< with others that have an equal script, by its hash
        joint_by_text,  ///< the same; the server doesn't have the script
        alone,          ///< by its hash; it was refused together with others
        alone_by_text,
    };

    explicit call(const call_type& t) noexcept : type{&t}, order{t.order} {}
    call(const call&) = delete;
    call& operator=(const call&) = delete;

    /// From now on a copy that is on its way is the last one.
    void abandon() noexcept {
        if (where == state::written) {
            where = state::abandoned;
        }
    }
    bool asks() const noexcept { return ask != asking::no; }
    bool leaves_by_text() const noexcept {
        return how == manner::joint_by_text || how == manner::alone_by_text;
    }
    bool may_join() const noexcept { return how == manner::joint || how == manner::joint_by_text; }
    bool abandoned() const noexcept { return where == state::abandoned; }
    void end(const outcome& o) {
        where = state::idle;
        type->done(*this, o);
    }

    const call_type* type;
    state where = state::idle;
    asking ask = asking::no;
    manner how = manner::joint;
    /// That of its type, or one that leaves earlier.
    priority order;
    /// How many times in a row, without a pause, it was sent on to another server.
    std::uint8_t redirects = 0;
    /// That of its key.
    std::uint16_t hash_slot = no_hash_slot;
    /// So many calls behind it have their answers in the same reply.
    std::uint16_t joined = 0;
    /// The last passing refusal (LOADING and its kin), or none.
    errc trouble{};
    call_history history{};
    /// Order of the last write among all writes.
    std::uint64_t serial = 0;
};

using call_list = boost::intrusive::list<call, boost::intrusive::constant_time_size<false>>;

/// Begins EVALSHA, or EVAL where the server lacks the script; the caller appends exactly `keys`
/// keys and `args` arguments.
inline resp::writer& write_script(resp::writer& w, const call& c, script_id id, std::size_t keys,
                                  std::size_t args) {
    const script& s = get_script(id);
    return w.command(3 + keys + args)
        .arg(c.leaves_by_text() ? "EVAL" : "EVALSHA")
        .arg(c.leaves_by_text() ? s.body : s.sha1)
        .arg(keys);
}

}  // namespace conch::wire

#endif
