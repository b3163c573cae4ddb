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
      timer_{this, &link::on_timer} {}

link::~link() { timers_.cancel(timer_); }

void link::submit(call& c) {
    pipeline_.submit(c);
    use();
}

void link::use() {
    if (state_ == state::unused) {
        down_.since = now_;
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
    down_.trying(now_);
    wanted_ = ++epoch_;
    timers_.set(timer_, core::after(now_, settings_.connect_timeout));
}

void link::connected() {
    CONCH_CHECK(state_ == state::connecting);
    state_ = state::greeting;
    reader_.reset();
    input_.clear();
    unread_ = 0;
    heartbeat_.heard(now_);
    unwatched_ = false;
    greeting_.start(pipeline_);
}

void link::on_greeted(void* self) {
    link& l = *static_cast<link*>(self);
    const errc why = l.greeting_.failure();
    if (why != errc{}) {
        l.remember_words(l.greeting_.words());
        const bool lasting = l.greeting_.failed_for_good();
        l.down_.failure = why;
        l.down_.met_replica = why == errc::read_only;
        l.down_.lasting = lasting ? why : errc{};
        l.down(l.greeting_.words());
        if (lasting) {
            l.events_.lost(l.events_.owner, why);
        }
        return;
    }
    l.state_ = state::ready;
    l.down_.attempts = 0;
    ++l.counters_.connects;
    l.log_(log_level::info, "connected to ", l.target_.text());
    if (l.now_ - l.down_.since >= worth_telling) {
        l.repeated_.over(l.no_connection());
    }
    if (l.target_ != l.served_) {
        if (l.served_.known()) {
            ++l.moves_;
        }
        l.served_ = l.target_;
    }
    l.old_.fence(l.greeting_.run_id(), l.target_);
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
    if (trying && down_.failure == errc{}) {  // else the words stay that belong to the failure
        remember_words(why);
    }
    if (lasting == errc{}) {
        down(why);
        return;
    }
    remember_words(why);
    down_.failure = down_.lasting = lasting;
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
    } else if (++down_.attempts;
               settings_.retry_attempts && down_.attempts >= *settings_.retry_attempts) {
        events_.lost(events_.owner, why_down());
    }
    ask_for_address(was_ready);
}

void link::let_go(bool pauses) {
    CONCH_CHECK(state_ != state::unused && state_ != state::closed);
    if (ready()) {
        down_.since = now_;
        ++counters_.connection_losses;
        old_.add(now_, greeting_.client_id(), greeting_.run_id(), served_);
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
        doubled(settings_.reconnect_delay_min, down_.pauses++, settings_.reconnect_delay_max);
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
        heartbeat_.heard(now_);
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
    down_.failure = errc::protocol_error;
    remember_words(what);
    down(last_words_);
}

// An answer that is overdue ends the connection.
void link::watch() {
    if (halted()) {
        unwatched_ = true;  // the answer may be in what was not looked at yet
    } else if (const auto next = heartbeat_.look(now_)) {
        timers_.set(timer_, *next);
    } else {
        remember_words("the server didn't answer in time");
        down(last_words_);
    }
}

}  // namespace conch::wire
