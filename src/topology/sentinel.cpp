// SPDX-License-Identifier: BSL-1.0
#include "topology/sentinel.hpp"

#include "core/number.hpp"
#include "topology/mapping.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace conch::topology {
// Not replayed: the epoch and the place are of one sentinel.
const wire::call_type sentinel::epoch_type{
    .name = "sentinel master",
    .after_loss = wire::retry::never,
    .order = wire::priority::normal,
    .encode = &sentinel::encode_epoch,
    .done = &sentinel::epoch_done,
};

const wire::call_type sentinel::place_type{
    .name = "sentinel get-master-addr-by-name",
    .after_loss = wire::retry::never,
    .order = wire::priority::normal,
    .encode = &sentinel::encode_place,
    .done = &sentinel::place_done,
};

config sentinel::settings_of(const config& all) {
    config c = all;
    c.unix_path.clear();
    c.database = 0;
    c.username = all.sentinel->username;
    c.password = all.sentinel->password;
    return c;
}

sentinel::sentinel(const config& settings, core::timer_heap& timers, core::random& jitter,
                   const core::log& log, const time_point& now, wire::link& master,
                   wire::link& durable, wire::link_events events)
    : options_{*settings.sentinel},
      timeouts_{settings_of(settings)},
      timers_{timers},
      jitter_{jitter},
      log_{log},
      now_{now},
      repeated_{log, timers, now_},
      master_{master},
      durable_{durable},
      events_{events},
      log_of_link_{[&log](log_level level, std::string_view line) {
                       log(level > log_level::info ? level : log_level::debug, line);
                   },
                   log.wants(log_level::debug) ? log_level::debug : log_level::warning},
      belief_{options_.addresses.size()},
      connection_{timeouts_.settings(),
                  {address_of(0), wire::role::sentinel},
                  timers,
                  jitter,
                  log_of_link_,
                  ignored_,
                  words_},
      link_{connection_,
            timeouts_.settings().reconnect_delay_max,
            timers,
            jitter,
            log_of_link_,
            ignored_,
            {this, &sentinel::on_ready, [](void*, errc) {}, &sentinel::on_address_needed}} {}

sentinel::~sentinel() { timers_.cancel(poll_); }

wire::address sentinel::address_of(std::size_t which) const {
    const server_address& a = options_.addresses[which];
    return {a.host, a.port, {}};
}

void sentinel::ask() {
    if (closed_) {
        return;
    }
    if (!listener_.to) {
        link_.channels().add(listener_, "+switch-master");
        next_poll(options_.scan_interval);
    }
    using state = wire::call::state;
    if (epoch_question_.where == state::idle && place_question_.where == state::idle) {
        again_ = false;
        its_epoch_.reset();
        // In this order: between the two the place may become a newer one, but not an older.
        link_.submit(epoch_question_);
        link_.submit(place_question_);
    }
}

void sentinel::not_there(const wire::address& at, bool replica) {
    if (at != missed_) {
        missed_ = at;
        missed_since_ = now_;
    }
    is_replica_ = replica;
}

void sentinel::next_poll(duration within) {
    timers_.set(poll_, core::after(now_, jitter_.jitter(within)));
}

void sentinel::on_poll(void* self) {
    auto& s = *static_cast<sentinel*>(self);
    // Not before it has said all: else another's word would seem to follow its own.
    const bool said = s.its_epoch_ && s.place_question_.where == wire::call::state::idle;
    if (said && s.link_.ready()) {
        const wire::address* const doubted = s.belief_.doubted();
        if (s.options_.addresses.size() == 1 && doubted) {
            s.fail({}, "as of an old configuration the master is at " + doubted->text());
        } else {
            s.turn_to_next();
            s.go_on(true);
        }
    }
    s.ask();
    s.next_poll(s.options_.scan_interval);
}

void sentinel::turn_to_next() noexcept {
    asked_ = (asked_ + 1) % options_.addresses.size();
    belief_.asks_next();
}

// What was announced may be of another master: the answer to the question tells. One that is on its
// way may have been given in part before.
void sentinel::on_news(void* self, wire::news what) {
    auto& s = *static_cast<sentinel*>(self);
    s.again_ = s.again_ || what == wire::news::message;
    if (what != wire::news::failed) {
        s.ask();
    }
}

void sentinel::encode_epoch(wire::call& c, resp::writer& w) {
    const auto& q = static_cast<const question&>(c);
    w.command(3).arg("SENTINEL").arg("MASTER").arg(q.home.options_.master);
}

void sentinel::encode_place(wire::call& c, resp::writer& w) {
    const auto& q = static_cast<const question&>(c);
    w.command(3).arg("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(q.home.options_.master);
}

// Whatever error it is, the place is asked for, too.
void sentinel::epoch_done(wire::call& c, const wire::outcome& o) {
    if (o.answered()) {
        const resp::value epoch = o.reply.find("config-epoch");
        static_cast<question&>(c).home.its_epoch_ = core::number_in<std::int64_t>(epoch.text());
    }
}

void sentinel::place_done(wire::call& c, const wire::outcome& o) {
    sentinel& s = static_cast<question&>(c).home;
    if (o.lost()) {
        return;  // asked anew on the next connection, if there is one
    }
    if (o.refused()) {
        s.fail(wire::to_errc(o.reply.text()),
               "it refused to answer: " + std::string{o.reply.text()});
    } else {
        s.answered(o.reply);
        if (s.again_) {
            s.ask();
        }
    }
}

void sentinel::answered(const resp::value& reply) {
    if (reply.is_null()) {
        fail(errc::unknown_master, "it knows no master named " + options_.master);
        return;
    }
    const wire::address told{std::string{reply.at(0).text()},
                             core::number_in<std::uint16_t>(reply.at(1).text()).value_or(0),
                             {}};
    const std::optional<wire::address> mapped =
        reached(told, {options_.map_address, "sentinel.map_address"}, repeated_);
    if (!mapped) {
        fail(errc::protocol_error, "its answer is no address");
        return;
    }
    const wire::address& at = *mapped;
    const bool in_vain = at == missed_ && !master_.ready() && !durable_.ready() &&
                         (is_replica_ || now_ - missed_since_ >= options_.scan_interval);
    if (in_vain) {
        fail({}, "no master at " + at.text() + ", which it names");
        return;
    }
    failed_ = refused_ = 0;
    reason_ = {};
    link_.worked();
    if (!believes(at)) {
        log_(log_level::debug, link_.target().text(), " names ", at.text(),
             ", which is not believed");
        const bool late = poll_.at > core::after(now_, master_belief::pause);
        if (belief_.nobody_is_reached() && late) {  // the others are to say, too
            next_poll(master_belief::pause);
        }
        return;
    }
    if (!master_.target().known()) {
        blame({});
    }
    if (at != master_.target()) {
        log_(log_level::info, "master ", options_.master, " is at ", at.text());
        if (master_.target().known()) {
            belief_.turned(now_);
        }
        master_.begin_anew_at(at);
    }
    if (at != durable_.target()) {
        durable_.begin_anew_at(at);
    }
}

bool sentinel::believes(const wire::address& at) {
    if (!its_epoch_ && !warned_ && options_.addresses.size() > 1) {
        warned_ = true;
        log_(log_level::warning, "the sentinel does not tell how new its configuration is (may ",
             "the user +sentinel|master?): no other is asked as long as it answers");
    }
    const bool reached = master_.ready() || durable_.ready();
    const auto v = belief_.judge({asked_, at, its_epoch_, master_.target(), reached, now_});
    if (v == master_belief::verdict::too_soon) {
        timers_.set(poll_, std::min(poll_.at, belief_.next_turn()));
    }
    return v == master_belief::verdict::believed;
}

void sentinel::fail(errc why, const std::string& words) {
    why_ = why;
    link_.leave(words);
}

void sentinel::go_on(bool at_once) {
    link_.presume({});  // what failed was another
    words_.clear();
    link_.move_to(address_of(asked_), at_once);
}

void sentinel::on_ready(void* self) {
    auto& s = *static_cast<sentinel*>(self);
    s.timeouts_.reached(s.now_ - s.link_.down().tried_at);
}

// On to the next one; when none of them was of use, after a pause.
void sentinel::on_address_needed(void* self, bool /*was_ready*/) {
    auto& s = *static_cast<sentinel*>(self);
    const std::size_t all = s.options_.addresses.size();
    const errc asked = std::exchange(s.why_, errc{});
    const errc why = asked != errc{} ? asked : s.link_.down().lasting;
    const errc last = s.link_.why_down();
    s.refused_ += why != errc{} ? 1 : 0;
    if (s.reason_ == errc{}) {
        s.reason_ = why;
        s.reason_words_ = "sentinel " + s.link_.target().text() + ": " +
                          (s.words_.empty() ? "the connection broke" : s.words_);
    }
    s.turn_to_next();
    s.missed_ = {};
    if (++s.failed_ % all != 0) {
        s.go_on(true);
        s.ask();
        return;
    }
    s.timeouts_.round_failed();
    s.go_on(false);
    s.ask();
    const bool none_helps = std::exchange(s.refused_, 0) == all;
    const errc reason = std::exchange(s.reason_, errc{});
    if (s.master_.ready() || s.master_.target().known()) {
        return;
    }
    s.blame(reason);
    s.master_.remember_words(s.reason_words_);
    if (none_helps || is_out_of_attempts(s.timeouts_.settings(), s.failed_ / all)) {
        s.events_.lost(s.events_.owner, reason != errc{} ? reason : last);
    }
}

// What to tell who waits in vain for a master that none has named yet.
void sentinel::blame(errc reason) noexcept {
    master_.presume(reason);
    durable_.presume(reason);
}

void sentinel::close() {
    closed_ = true;
    timers_.cancel(poll_);
    repeated_.close();
    link_.channels().remove(listener_);
    link_.close();
}

}  // namespace conch::topology
