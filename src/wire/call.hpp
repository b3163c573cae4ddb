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

/// Which calls leave first.
enum class priority : std::uint8_t {
    greeting,  ///< the handshake and what must precede all else
    urgent,    ///< releases and renewals
    normal,
};

/// How calls next to each other leave as one script, whose answer is an array of theirs.
struct joint_form {
    /// A call may leave with others that have an equal script.
    joint_script (*script)(const call&);
    void (*keys)(const call&, resp::writer&);
    void (*args)(const call&, resp::writer&);
};

struct call_type {
    const char* name;
    retry after_loss;
    priority order;
    bool is_script;
    /// The success answer is a push (SUBSCRIBE and its kin under RESP3).
    bool answered_by_push;
    void (*encode)(call&, resp::writer&);
    void (*done)(call&, const outcome&);
    const joint_form* joint = nullptr;  ///< if there is one
};

using call_hook =
    boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// One command on its way: embedded in what it concerns, in one list of the link at a time.
struct call : call_hook {
    enum class state : std::uint8_t { idle, waiting, written };

    explicit call(const call_type& t) noexcept : type{&t} {}
    call(const call&) = delete;
    call& operator=(const call&) = delete;

    /// The copy that was just answered didn't run: as if it had never been written, unless an
    /// earlier one was lost.
    void not_run() noexcept {
        if (!in_doubt) {
            copies = 0;
        }
    }

    const call_type* type;
    state where = state::idle;
    /// Cleared when nobody wants the effect any more: it is then never sent again.
    bool wanted = true;
    /// Nobody waits for what it does.
    bool unhurried = false;
    /// The server doesn't have the script: send its text.
    bool by_body = false;
    /// The server refused it together with others: it leaves alone.
    bool alone = false;
    /// It has several keys, and can be made anew for each: TRYAGAIN and ASK, which say that some of
    /// them are elsewhere, but not which, end it as refused.
    bool divisible = false;
    /// The server it is for doesn't own its key yet: ASKING goes before it.
    bool asking = false;
    /// The next answer is that of ASKING.
    bool asked = false;
    /// How many times in a row, without a pause, it was sent on to another server.
    std::uint8_t redirects = 0;
    /// That of its key.
    std::uint16_t hash_slot = no_hash_slot;
    /// So many calls behind it have their answers in the same reply.
    std::uint16_t joined = 0;
    /// The last passing refusal (LOADING and its kin), or none.
    errc trouble{};
    /// How many times it was written since it was submitted.
    std::uint32_t copies = 0;
    /// When the first and the last of these writes started.
    time_point first_sent{};
    time_point sent{};
    /// Order of the last write among all writes.
    std::uint64_t serial = 0;
    /// A connection broke with this call unanswered, or with what it had done there; when the last
    /// of these did.
    bool in_doubt = false;
    time_point lost_at{};
};

using call_list = boost::intrusive::list<call, boost::intrusive::constant_time_size<false>>;

/// Begins EVALSHA, or EVAL where the server lacks the script; the caller appends exactly `keys`
/// keys and `args` arguments.
inline resp::writer& write_script(resp::writer& w, const call& c, script_id id, std::size_t keys,
                                  std::size_t args) {
    const script& s = get_script(id);
    return w.command(3 + keys + args)
        .arg(c.by_body ? "EVAL" : "EVALSHA")
        .arg(c.by_body ? s.body : s.sha1)
        .arg(keys);
}

/// Writes calls that have the same joint script: a call alone as the script itself.
inline void write_joint(resp::writer& w, std::span<call* const> calls) {
    const call& first = *calls.front();
    const joint_script s = first.type->joint->script(first);
    const std::size_t runs = calls.size();
    if (runs == 1) {
        write_script(w, first, s.scripts.one, s.keys, s.args);
    } else {
        write_script(w, first, s.scripts.many, runs * s.keys, 1 + runs * s.args);
    }
    for (const call* c : calls) {
        c->type->joint->keys(*c, w);
    }
    if (runs > 1) {
        w.arg(runs);
    }
    for (const call* c : calls) {
        c->type->joint->args(*c, w);
    }
}

/// The `encode` of calls that always have a joint form.
inline void write_alone(call& c, resp::writer& w) {
    call* const one = &c;
    write_joint(w, {&one, 1});
}

}  // namespace conch::wire

#endif
