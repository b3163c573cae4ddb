// SPDX-License-Identifier: BSL-1.0
#include "wire/reply_router.hpp"

#include "wire/server_error.hpp"

#include <array>
#include <string>
#include <utility>

namespace conch::wire {

using manner = call::manner;

reply_router::reply_router(link& of, connection& c, subscriptions& channels, delayed_calls& delayed,
                           const link_events& events, core::timer_heap& timers,
                           const core::log& log, stats& counters)
    : of_{of},
      connection_{c},
      pipeline_{c.calls()},
      channels_{channels},
      delayed_{delayed},
      events_{events},
      counters_{counters},
      refusals_{log, timers, c.now()} {}

void reply_router::said(const resp::value& message) {
    if (message.type() == resp::kind::push) {
        handle_push(message);
        return;
    }
    call* const c = pipeline_.next_answered();
    if (is_misdirected(c, message)) {
        return;
    }
    connection_.heard();
    if (message.is_error() && events_.hash_slots_crossed && crosses_hash_slots(message.text())) {
        events_.hash_slots_crossed(events_.owner);
    }
    if (c->ask == call::asking::awaited) {
        c->ask = call::asking::answered;  // whatever it was: the answer to the call itself tells
    } else if (c->joined > 0) {
        connection_.handled(c->joined);
        answer_joined(c->joined + std::size_t{1}, message);
    } else {
        answer(*pipeline_.take_answered(), message);
    }
}

void reply_router::handle_push(const resp::value& push) {
    call* const c = pipeline_.next_answered();
    if (c && c->type->kind == call_kind::subscription && subscriptions::is_answer(*c, push)) {
        connection_.heard();
        pipeline_.take_answered();
        c->end({outcome::kind::answered, push, &of_});
        return;
    }
    if (!c) {
        connection_.heard();  // where an answer is awaited, only an answer is a sign of life
    }
    if (!channels_.on_push(push)) {
        ++counters_.unknown_pushes;
    }
}

void reply_router::answer(call& c, const resp::value& reply) {
    if (!reply.is_error()) {
        if (std::exchange(c.trouble, errc{}) != errc{}) {
            refusals_.over(refused_for_now());
        }
        if (c.type->order != priority::greeting) {
            delayed_.answered();
            connection_.serves();
        }
        c.end({outcome::kind::answered, reply, &of_});
        return;
    }
    const std::string_view words = reply.text();
    connection_.remember_words(words);
    if (redirect(c, words) || moved_away(c, words)) {
        return;
    }
    // No replica refuses a subscription so; one that is being left is gone once the connection is.
    if (c.type->order != priority::greeting && c.type->kind != call_kind::subscription &&
        demoted(words)) {
        if (!c.abandoned()) {
            c.history.not_run();
            pipeline_.submit_again(c);
            return;
        }
    } else if (!c.abandoned() && c.type->order != priority::greeting && !connection_.is_ping(c)) {
        switch (classify(words)) {
            case refusal::no_script:
                if (!c.leaves_by_text()) {
                    c.how = c.may_join() ? manner::joint_by_text : manner::alone_by_text;
                    c.history.not_run();
                    pipeline_.submit_again(c);
                    return;
                }
                break;
            case refusal::passing:
                if ((c.type->divisible && is_divided(words)) ||
                    connection_.expected() == role::discovery) {
                    break;  // the question goes to the next node
                }
                c.history.not_run();
                log_refusal(words);
                delayed_.add(c, to_errc(words));
                return;
            case refusal::lasting: break;
        }
    }
    c.end({outcome::kind::refused, reply, &of_});
}

// As if each had left by itself. An answer may end the connection, and with it the others.
void reply_router::answer_joined(std::size_t count, const resp::value& replies) {
    if (replies.is_error()) {
        refused_together(count, replies);
        return;
    }
    if (replies.size() != count) {
        connection_.violated("an array of another length than asked for");
        return;
    }
    const std::uint64_t epoch = connection_.wanted();
    for (std::size_t i = 0; i < count && connection_.wanted() == epoch; ++i) {
        answer(*pipeline_.take_answered(), replies.at(i));
    }
}

// None of them ran. What is wrong with one of them, such as a name that this user may not use,
// is no reason to refuse the others.
void reply_router::refused_together(std::size_t count, const resp::value& reply) {
    const bool divided = is_divided(reply.text());
    const refusal why = divided ? refusal::lasting : classify(reply.text());
    connection_.remember_words(reply.text());
    // All of them first: an answer may end the connection.
    std::array<call*, pipeline::most_joined> all;
    for (std::size_t i = 0; i < count; ++i) {
        all[i] = pipeline_.take_answered();
    }
    const bool of_replica = demoted(reply.text());
    std::array<call*, pipeline::most_joined> again;
    std::size_t size = 0;
    for (std::size_t i = 0; i < count; ++i) {
        call& c = *all[i];
        if (!divided && redirect(c, reply.text())) {
            continue;
        }
        const bool goes_again =
            !c.abandoned() && (of_replica || why == refusal::lasting ||
                               (why == refusal::no_script && !c.leaves_by_text()));
        if (!goes_again) {
            answer(c, reply);
            continue;
        }
        c.how = of_replica                  ? manner::joint
                : why == refusal::no_script ? manner::joint_by_text
                                            : manner::alone;
        c.history.not_run();
        again[size++] = &c;
    }
    pipeline_.submit_again({again.data(), size});
}

// Where a master is wanted, a replica answers that it may not write: what was asked is asked again
// of the one that took its place.
bool reply_router::demoted(std::string_view words) {
    const bool of_replica = to_errc(words) == errc::read_only || words.starts_with("MASTERDOWN");
    if (connection_.expected() != role::master || !of_replica) {
        return false;
    }
    if (connection_.ready()) {
        connection_.leave("the server became a replica");
    }
    return true;
}

bool reply_router::part_refused(std::string_view words) {
    connection_.remember_words(words);
    return demoted(words);
}

std::string reply_router::refused_for_now() const {
    return "refused for now by " + connection_.target().text() + ": ";
}

// What a server refuses for now, it refuses to all.
void reply_router::log_refusal(std::string_view words) {
    const std::string kind = refused_for_now();
    refusals_(log_level::warning, kind + std::string{reason_of(words)},
              std::string{kind}.append(words));
}

}  // namespace conch::wire
