// SPDX-License-Identifier: BSL-1.0
#include "wire/connection.hpp"

#include "core/check.hpp"
#include "wire/delayed_calls.hpp"

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

connection::connection(const config& settings, destination to, core::timer_heap& timers,
                       core::random& jitter, const core::log& log, stats& counters,
                       std::string& last_words)
    : settings_{settings},
      timers_{timers},
      jitter_{jitter},
      log_{log},
      counters_{counters},
      target_{std::move(to.at)},
      expected_{to.expected},
      last_words_{last_words},
      reader_{limits_of(to.expected)},
      greeting_{settings, to.expected, this, &connection::on_greeted},
      timer_{this, &connection::on_timer} {}

void connection::use() {
    if (state_ == state::unused) {
        down_.since = now_;
        connect();
    }
}

connection_state connection::meaning(state s) noexcept {
    switch (s) {
        case state::unused:
        case state::closed: return connection_state::unused;
        case state::no_address:
        case state::pausing:
        case state::connecting:
        case state::greeting: return connection_state::down;
        case state::ready: break;
    }
    return connection_state::up;
}

void connection::become(state next) {
    const connection_state before = meaning(std::exchange(state_, next));
    if (const connection_state now = meaning(next); now != before) {
        const std::string server = target_.known() ? target_.text() : std::string{};
        events_.changed(events_.owner, {.server = server, .before = before, .now = now});
    }
}

void connection::connect() {
    if (!target_.known()) {
        become(state::no_address);
        events_.needs_address(events_.owner, false);
        return;
    }
    become(state::connecting);
    down_.trying(now_);
    wanted_ = ++epoch_;
    timers_.set(timer_, core::after(now_, settings_.connect_timeout));
}

void connection::connected() {
    CONCH_CHECK(state_ == state::connecting);
    become(state::greeting);
    reader_.reset();
    input_.clear();
    unread_ = 0;
    heartbeat_.heard(now_);
    unwatched_ = false;
    greeting_.start(pipeline_);
}

void connection::on_greeted(void* self) {
    connection& c = *static_cast<connection*>(self);
    const errc why = c.greeting_.failure();
    if (why != errc{}) {
        c.remember_words(c.greeting_.words());
        const bool lasting = c.greeting_.failed_for_good();
        c.down_.failure = why;
        c.down_.met_replica = why == errc::read_only;
        c.down_.lasting = lasting ? why : errc{};
        c.break_off(c.greeting_.words());
        if (lasting) {
            c.events_.lost(c.events_.owner, why);
        }
        return;
    }
    c.become(state::ready);
    c.down_.attempts = 0;
    ++c.counters_.connects;
    c.log_(log_level::info, "connected to ", c.target_.text());
    if (c.now_ - c.down_.since >= worth_telling) {
        c.failures_.over(c.no_connection());
    }
    c.meet_server();
    c.events_.ready(c.events_.owner);
    c.timers_.cancel(c.timer_);
    c.watch();
}

// Who doesn't tell of its data may have lost some. An address says less: servers take each other's.
void connection::meet_server() {
    const std::string& data = greeting_.replication_id();
    if (served_.known() && (data.empty() || data != served_data_)) {
        ++moves_;
    }
    served_ = target_;
    served_data_ = data;
    old_.fence(greeting_.run_id(), target_);
}

void connection::broken(std::string_view why, errc lasting) {
    if (state_ == state::closed || wanted_ == 0) {
        return;
    }
    const bool trying = state_ == state::connecting || state_ == state::greeting;
    if (trying && down_.failure == errc{}) {  // else the words stay that belong to the failure
        remember_words(why);
    }
    if (lasting == errc{}) {
        break_off(why);
        return;
    }
    remember_words(why);
    down_.failure = down_.lasting = lasting;
    break_off(why);
    events_.lost(events_.owner, lasting);
}

void connection::serves() noexcept {
    down_.failure = {};
    if (expected_ != role::sentinel && expected_ != role::discovery) {  // may be of no use
        down_.pauses = 0;
    }
}

// From any state with a connection, or with one being made.
void connection::break_off(std::string_view why) {
    const bool was_ready = ready();
    const std::string line = no_connection().append(why);
    failures_(log_level::warning, line, line);
    let_go(state::pausing);
    if (was_ready) {
        events_.lost(events_.owner, errc{});
    } else if (++down_.attempts;
               settings_.retry_attempts && down_.attempts >= *settings_.retry_attempts) {
        events_.lost(events_.owner, down_.why());
    }
    events_.needs_address(events_.owner, was_ready);
}

void connection::let_go(state next) {
    CONCH_CHECK(state_ != state::unused && state_ != state::closed);
    if (ready()) {
        down_.since = now_;
        ++counters_.connection_losses;
        old_.add(now_, greeting_.client_id(), greeting_.run_id(), served_);
    }
    wanted_ = 0;
    become(next);
    if (next == state::pausing) {
        pause();
    }
    events_.breaking(events_.owner);
    counters_.in_doubt += pipeline_.connection_lost(now_);
    events_.broken(events_.owner);
}

std::string connection::no_connection() const {
    return "no connection to " + target_.text() + ": ";
}

void connection::pause() {
    const duration d =
        doubled(settings_.reconnect_delay_min, down_.pauses++, settings_.reconnect_delay_max);
    timers_.set(timer_, core::after(now_, jitter_.jitter(d)));
}

void connection::move_to(const address& to) {
    move_later(to);
    if (state_ == state::pausing || state_ == state::no_address) {
        timers_.cancel(timer_);
        connect();
    }
}

void connection::move_later(const address& to) {
    if (to == target_) {
        return;
    }
    if (wanted_ != 0) {
        const bool was_ready = ready();
        log_(log_level::info, "leaving ", target_.text(), " for ", to.text());
        let_go(state::no_address);
        timers_.cancel(timer_);
        forget_failures();
        target_ = to;
        if (was_ready) {
            events_.lost(events_.owner, errc{});
        }
        connect();
    }
    target_ = to;
}

void connection::park() {
    if (state_ == state::closed) {
        return;
    }
    if (state_ != state::unused) {
        log_(log_level::info, "nothing is left to ask of ", target_.text());
        let_go(state::unused);
        timers_.cancel(timer_);
    }
    target_ = served_ = {};
    forget_failures();
}

void connection::close() {
    if (state_ == state::closed) {
        return;
    }
    become(state::closed);
    wanted_ = 0;
    timers_.cancel(timer_);
    failures_.close();
    events_.breaking(events_.owner);
    counters_.in_doubt += pipeline_.connection_lost(now_);
    pipeline_.drop_waiting();
    events_.broken(events_.owner);
}

void connection::on_timer(void* self) {
    connection& c = *static_cast<connection*>(self);
    switch (c.state_) {
        case state::pausing: c.connect(); return;
        case state::connecting:
        case state::greeting:
            c.remember_words("the server didn't answer in time");
            if (c.settings_.tls && c.state_ == state::connecting) {
                c.last_words_ += " (does it speak TLS on this port?)";
            }
            c.break_off(c.last_words_);
            return;
        case state::ready: c.watch(); return;
        case state::unused:
        case state::no_address:
        case state::closed: return;
    }
}

void connection::stage(std::string& out) {
    const bool idle = !pipeline_.awaits_answer();
    const std::size_t before = out.size();
    counters_.script_calls += pipeline_.stage(out, ready(), now_, write_limit);
    counters_.bytes_sent += out.size() - before;
    if (idle && pipeline_.awaits_answer()) {
        heartbeat_.heard(now_);
    }
}

void connection::received() {
    counters_.bytes_received += input_.data().size() - unread_;
    unread_ = input_.data().size();
    go_on();
}

void connection::go_on() {
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
            case resp::reader::status::error: violated(reader_.reason()); return;
            case resp::reader::status::message:
                ++handled_;
                events_.said(events_.owner, reader_.get(data));
                break;
        }
        if (wanted_ == epoch) {
            input_.consume(reader_.size());
            unread_ -= reader_.size();
            reader_.next();
        }
    }
}

void connection::violated(std::string_view what) {
    down_.failure = errc::protocol_error;
    remember_words(what);
    break_off(last_words_);
}

// An answer that is overdue ends the connection.
void connection::watch() {
    if (halted()) {
        unwatched_ = true;  // the answer may be in what was not looked at yet
    } else if (const auto next = heartbeat_.look(now_)) {
        timers_.set(timer_, *next);
    } else {
        remember_words("the server didn't answer in time");
        break_off(last_words_);
    }
}

}  // namespace conch::wire
