// SPDX-License-Identifier: BSL-1.0
#include "topology/sentinel.hpp"

#include "topology/inquiry.hpp"
#include "topology/mapping.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace conch::topology {
namespace {

std::uint16_t port_of(std::string_view text) noexcept {
    std::uint16_t port = 0;
    const char* const end = text.data() + text.size();
    const auto [last, bad] = std::from_chars(text.data(), end, port);
    return bad == std::errc{} && last == end ? port : std::uint16_t{0};
}

}  // namespace

const wire::call_type sentinel::type{
    .name = "sentinel",
    .after_loss = wire::retry::replay,
    .order = wire::priority::normal,
    .is_script = false,
    .answered_by_push = false,
    .encode = &sentinel::encode,
    .done = &sentinel::done,
};

config sentinel::settings_of(const config& all) {
    config c = inquiry_settings(all);
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
      settings_{settings_of(settings)},
      timers_{timers},
      jitter_{jitter},
      log_{log},
      now_{now},
      master_{master},
      durable_{durable},
      events_{events},
      link_{settings_, {address_of(0), wire::role::sentinel},
            timers,    jitter,
            log,       ignored_,
            words_,    {this, [](void*) {}, [](void*, errc) {}, &sentinel::on_astray}} {}

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
        next_poll();
    }
    if (question_.where == wire::call::state::idle) {
        link_.submit(question_);
    }
}

void sentinel::not_there(const wire::address& at) {
    if (at != missed_) {
        missed_ = at;
        missed_since_ = now_;
    }
}

void sentinel::next_poll() {
    timers_.set(poll_, core::after(now_, jitter_.jitter(options_.scan_interval)));
}

void sentinel::on_poll(void* self) {
    auto& s = *static_cast<sentinel*>(self);
    s.ask();
    s.next_poll();
}

// What was announced may be of another master: the answer to the question tells.
void sentinel::on_news(void* self, wire::news what) {
    if (what != wire::news::failed) {
        static_cast<sentinel*>(self)->ask();
    }
}

void sentinel::encode(wire::call& c, resp::writer& w) {
    const auto& q = static_cast<const question&>(c);
    w.command(3).arg("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(q.home.options_.master);
}

void sentinel::done(wire::call& c, const wire::outcome& o) {
    sentinel& s = static_cast<question&>(c).home;
    if (o.lost()) {
        return;  // closed
    }
    if (o.refused()) {
        s.fail(wire::to_errc(o.reply.text()),
               "the sentinel refused to answer: " + std::string{o.reply.text()});
    } else {
        s.answered(o.reply);
    }
}

void sentinel::answered(const resp::value& reply) {
    if (reply.is_null()) {
        fail(errc::unknown_master, "the sentinel knows no master named " + options_.master);
        return;
    }
    const wire::address told{std::string{reply.at(0).text()}, port_of(reply.at(1).text()), {}};
    const std::optional<wire::address> mapped =
        reached(told, {options_.map_address, "sentinel.map_address"}, log_);
    if (!mapped) {
        fail(errc::protocol_error, "the sentinel's answer is no address");
        return;
    }
    const wire::address& at = *mapped;
    const bool in_vain = at == missed_ && !master_.ready() && !durable_.ready() &&
                         now_ - missed_since_ >= options_.scan_interval;
    if (in_vain && options_.addresses.size() > 1) {
        fail({}, "no master at " + at.text() + ", which the sentinel names");
        return;
    }
    failed_ = refused_ = 0;
    link_.worked();
    if (at != master_.target()) {
        log_(log_level::info, "master ", options_.master, " is at ", at.text());
        master_.move_to(at);
    }
    if (at != durable_.target()) {
        durable_.move_to(at);
    }
}

void sentinel::fail(errc why, const std::string& words) {
    why_ = why;
    link_.remember_words(words);
    link_.leave(words);
}

// On to the next one; when none of them was of use, after a pause.
void sentinel::on_astray(void* self, bool /*was_ready*/) {
    auto& s = *static_cast<sentinel*>(self);
    const std::size_t all = s.options_.addresses.size();
    const errc asked = std::exchange(s.why_, errc{});
    const errc why = asked != errc{} ? asked : s.link_.lasting_failure();
    s.refused_ += why != errc{} ? 1 : 0;
    s.asked_ = (s.asked_ + 1) % all;
    s.missed_ = {};
    if (++s.failed_ % all != 0) {
        s.link_.move_to(s.address_of(s.asked_));
        s.ask();
        return;
    }
    s.link_.move_later(s.address_of(s.asked_));
    s.ask();
    const bool none_helps = std::exchange(s.refused_, 0) == all;
    if (s.master_.ready() || s.master_.target().known()) {
        return;
    }
    s.master_.remember_words(s.link_.last_words());
    if (none_helps || is_out_of_attempts(s.settings_, s.failed_ / all)) {
        s.events_.lost(s.events_.owner, none_helps ? why : s.link_.why_down());
    }
}

void sentinel::close() {
    closed_ = true;
    timers_.cancel(poll_);
    link_.channels().remove(listener_);
    link_.close();
}

}  // namespace conch::topology
