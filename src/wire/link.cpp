// SPDX-License-Identifier: BSL-1.0
#include "wire/link.hpp"

#include "core/check.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <utility>

namespace conch::wire {
namespace {

constexpr std::size_t write_limit = 256u << 10;

/// The log tells no end of a shorter outage: a server that ends each connection would fill it.
constexpr duration worth_telling = std::chrono::seconds{1};

/// A node that describes the whole cluster may list every hash slot separately.
resp::limits limits_of(role expected) noexcept {
    resp::limits l;
    if (expected == role::discovery) {
        l.max_nodes = 1u << 20;
    }
    return l;
}

}  // namespace

link::link(const config& settings, destination to, core::timer_heap& timers, core::random& jitter,
           const core::log& log, stats& counters, std::string& last_words, link_events events)
    : settings_{settings},
      timers_{timers},
      jitter_{jitter},
      log_{log},
      counters_{counters},
      events_{events},
      target_{std::move(to.at)},
      expected_{to.expected},
      last_words_{last_words},
      reader_{limits_of(to.expected)},
      greeting_{settings, to.expected, this, &link::on_greeted},
      timer_{this, &link::on_timer} {
    ping_.home = this;
}

link::~link() { timers_.cancel(timer_); }

void link::submit(call& c) {
    pipeline_.submit(c);
    use();
}

void link::use() {
    if (state_ == state::unused) {
        down_since_ = now_;
        connect();
    }
}

void link::repeat(call& c) {
    c.history.lost_at = now_;
    c.ask = call::asking::no;
    pipeline_.submit_again(c);
}

void link::doubt(call& c) const noexcept {
    if (!c.history.in_doubt()) {
        c.history.lost_at = now_;
    }
}

void link::connect() {
    if (!target_.known()) {
        state_ = state::no_address;
        ask_for_address(false);
        return;
    }
    state_ = state::connecting;
    lasting_ = {};
    met_replica_ = false;
    wanted_ = ++epoch_;
    tried_at_ = now_;
    timers_.set(timer_, core::after(now_, settings_.connect_timeout));
}

void link::connected() {
    CONCH_CHECK(state_ == state::connecting);
    state_ = state::greeting;
    reader_.reset();
    input_.clear();
    unread_ = 0;
    heard_ = now_;
    unwatched_ = false;
    greeting_.start(pipeline_);
}

void link::on_greeted(void* self) {
    link& l = *static_cast<link*>(self);
    const errc why = l.greeting_.failure();
    if (why != errc{}) {
        l.remember_words(l.greeting_.words());
        const bool lasting = l.greeting_.failed_for_good();
        l.failure_ = why;
        l.met_replica_ = why == errc::read_only;
        l.lasting_ = lasting ? why : errc{};
        l.down(l.greeting_.words());
        if (lasting) {
            l.events_.lost(l.events_.owner, why);
        }
        return;
    }
    l.state_ = state::ready;
    l.attempts_ = 0;
    ++l.counters_.connects;
    l.log_(log_level::info, "connected to ", l.target_.text());
    if (l.now_ - l.down_since_ >= worth_telling) {
        l.repeated_.over(l.no_connection());
    }
    if (l.target_ != l.served_) {
        if (l.served_.known()) {
            ++l.moves_;
        }
        l.served_ = l.target_;
    }
    l.fence_old();
    l.events_.ready(l.events_.owner);
    l.channels_.connection_ready();
    l.timers_.cancel(l.timer_);
    l.watch();
}

void link::broken(std::string_view why, errc lasting) {
    if (state_ == state::closed || wanted_ == 0) {
        return;
    }
    const bool trying = state_ == state::connecting || state_ == state::greeting;
    if (trying && failure_ == errc{}) {  // else the words stay that belong to the failure
        remember_words(why);
    }
    if (lasting == errc{}) {
        down(why);
        return;
    }
    remember_words(why);
    failure_ = lasting_ = lasting;
    down(why);
    events_.lost(events_.owner, lasting);
}

// From any state with a connection, or with one being made.
void link::down(std::string_view why) {
    const bool was_ready = ready();
    log_failure(why);
    let_go(true);
    if (was_ready) {
        events_.lost(events_.owner, errc{});
    } else if (++attempts_; settings_.retry_attempts && attempts_ >= *settings_.retry_attempts) {
        events_.lost(events_.owner, why_down());
    }
    ask_for_address(was_ready);
}

void link::let_go(bool pauses) {
    CONCH_CHECK(state_ != state::unused && state_ != state::closed);
    if (ready()) {
        down_since_ = now_;
        ++counters_.connection_losses;
        remember_old();
    }
    wanted_ = 0;
    state_ = state::pausing;
    if (pauses) {
        pause();
    }
    delayed_.resume();
    counters_.in_doubt += pipeline_.connection_lost(now_);
    channels_.connection_lost();
}

std::string link::no_connection() const { return "no connection to " + target_.text() + ": "; }

void link::log_failure(std::string_view why) {
    const std::string line = no_connection().append(why);
    repeated_(log_level::warning, line, line);
}

std::string link::refused_for_now() const { return "refused for now by " + target_.text() + ": "; }

// What a server refuses for now, it refuses to all.
void link::log_refusal(std::string_view words) {
    const std::string kind = refused_for_now();
    repeated_(log_level::warning, kind + std::string{reason_of(words)},
              std::string{kind}.append(words));
}

void link::pause() {
    const duration d =
        doubled(settings_.reconnect_delay_min, failures_++, settings_.reconnect_delay_max);
    timers_.set(timer_, core::after(now_, jitter_.jitter(d)));
}

void link::close() {
    if (state_ == state::closed) {
        return;
    }
    state_ = state::closed;
    wanted_ = 0;
    timers_.cancel(timer_);
    repeated_.close();
    delayed_.resume();
    counters_.in_doubt += pipeline_.connection_lost(now_);
    pipeline_.drop_waiting();
    channels_.connection_lost();
}

void link::on_timer(void* self) {
    link& l = *static_cast<link*>(self);
    switch (l.state_) {
        case state::pausing: l.connect(); return;
        case state::connecting:
        case state::greeting:
            l.remember_words("the server didn't answer in time");
            if (l.settings_.tls && l.state_ == state::connecting) {
                l.last_words_ += " (does it speak TLS on this port?)";
            }
            l.down(l.last_words_);
            return;
        case state::ready: l.watch(); return;
        case state::unused:
        case state::no_address:
        case state::closed: return;
    }
}

void link::stage(std::string& out) {
    const bool idle = !pipeline_.awaits_answer();
    const std::size_t before = out.size();
    counters_.script_calls += pipeline_.stage(out, ready(), now_, write_limit);
    counters_.bytes_sent += out.size() - before;
    if (idle && pipeline_.awaits_answer()) {
        heard_ = now_;
    }
}

void link::received() {
    counters_.bytes_received += input_.data().size() - unread_;
    unread_ = input_.data().size();
    go_on();
}

void link::go_on() {
    const std::uint64_t epoch = wanted_;
    halted_ = 0;
    for (handled_ = 0; wanted_ == epoch && epoch != 0;) {
        if (handled_ >= most_handled && !input_.data().empty()) {
            halted_ = epoch;
            return;
        }
        const std::string_view data = input_.data();
        switch (reader_.parse(data)) {
            case resp::reader::status::need_more:
                if (std::exchange(unwatched_, false)) {
                    watch();
                }
                return;
            case resp::reader::status::error: protocol_violation(reader_.reason()); return;
            case resp::reader::status::message: handle(reader_.get(data)); break;
        }
        if (wanted_ == epoch) {
            input_.consume(reader_.size());
            unread_ -= reader_.size();
            reader_.next();
        }
    }
}

void link::protocol_violation(std::string_view what) {
    failure_ = errc::protocol_error;
    remember_words(what);
    down(last_words_);
}

errc link::why_unanswered(const call& c) const noexcept {
    return c.trouble != errc{} ? c.trouble : why_down();
}

errc link::why_down() const noexcept { return failure_ != errc{} ? failure_ : errc::not_connected; }

void link::handle(const resp::value& message) {
    ++handled_;
    if (message.type() == resp::kind::push) {
        handle_push(message);
        return;
    }
    call* const c = pipeline_.next_answered();
    if (is_misdirected(c, message)) {
        return;
    }
    heard_ = now_;
    if (message.is_error() && events_.hash_slots_crossed && crosses_hash_slots(message.text())) {
        events_.hash_slots_crossed(events_.owner);
    }
    if (c->ask == call::asking::awaited) {
        c->ask = call::asking::answered;  // whatever it was: the answer to the call itself tells
        return;
    }
    handled_ += c->joined;
    if (c->joined > 0) {
        answer_joined(c->joined + std::size_t{1}, message);
    } else {
        answer(*pipeline_.take_answered(), message);
    }
}

void link::handle_push(const resp::value& push) {
    call* const c = pipeline_.next_answered();
    if (c && c->type->answered_by_push && subscriptions::is_answer(*c, push)) {
        heard_ = now_;
        pipeline_.take_answered();
        c->end({outcome::kind::answered, push, this});
        return;
    }
    if (!c) {
        heard_ = now_;  // where an answer is awaited, only an answer is a sign of life
    }
    if (!channels_.on_push(push)) {
        ++counters_.unknown_pushes;
    }
}

void link::answer(call& c, const resp::value& reply) {
    if (!reply.is_error()) {
        if (std::exchange(c.trouble, errc{}) != errc{}) {
            repeated_.over(refused_for_now());
        }
        if (c.type->order != priority::greeting) {
            delayed_.answered();
            failure_ = {};
            if (expected_ != role::sentinel && expected_ != role::discovery) {  // may be of no use
                failures_ = 0;
            }
        }
        c.end({outcome::kind::answered, reply, this});
        return;
    }
    const std::string_view words = reply.text();
    remember_words(words);
    if (redirect(c, words) || moved_away(c, words)) {
        return;
    }
    // No replica refuses a subscription so; one that is being left is gone once the connection is.
    if (c.type->order != priority::greeting && !c.type->answered_by_push && demoted(words)) {
        if (!c.abandoned()) {
            c.history.not_run();
            pipeline_.submit_again(c);
            return;
        }
    } else if (!c.abandoned() && c.type->order != priority::greeting && &c != &ping_) {
        switch (classify(words)) {
            case refusal::no_script:
                if (!c.by_body) {
                    c.by_body = true;
                    c.history.not_run();
                    pipeline_.submit_again(c);
                    return;
                }
                break;
            case refusal::passing:
                if ((c.type->divisible && is_divided(words)) || expected_ == role::discovery) {
                    break;  // the question goes to the next node
                }
                c.history.not_run();
                log_refusal(words);
                retry_later(c, to_errc(words));
                return;
            case refusal::lasting: break;
        }
    }
    c.end({outcome::kind::refused, reply, this});
}

// By then the key of one that was sent on may be anywhere: it is asked for without ASKING.
void link::retry_later(call& c, errc trouble) {
    c.ask = call::asking::no;
    c.trouble = trouble;
    delayed_.add(c);
}

}  // namespace conch::wire
