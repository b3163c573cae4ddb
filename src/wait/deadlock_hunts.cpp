// SPDX-License-Identifier: BSL-1.0
// A look at the servers: who holds what is waited for, what these wait for, and who holds that.
#include "core/number.hpp"
#include "wait/cycle_text.hpp"
#include "wait/deadlocks.hpp"
#include "wait/slots.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace conch::lock {
namespace {

/// One look meets no more of them, and asks what so many holders wait for.
constexpr std::size_t most_members = 64;

/// After so many looks in vain, one at every other tick is enough.
constexpr unsigned looks_at_full_pace = 4;

/// A client's id, from the field of one of its holders.
std::string_view client_of(std::string_view field) noexcept {
    return field.substr(0, field.rfind(':'));
}

bool is_same(const cycle_member& a, const cycle_member& b) noexcept {
    return a.field == b.field && a.epoch == b.epoch && a.wait.number == b.wait.number;
}

}  // namespace

hunt::hunt(deadlocks& d, waiter& w, party& p, std::uint64_t n, std::int64_t ms)
    : wire::call{deadlocks::holders_type},
      home{d},
      of{&w},
      by{p},
      wait{.wanted = w.spec, .number = n, .began_ms = ms} {}

const protocol::told_wait& hunt::looked_at() const noexcept {
    return at == cycle_member::hunter ? wait : met[at].wait;
}

const wire::call_type deadlocks::holders_type{
    .name = "holders",
    .after_loss = wire::retry::never,
    .order = wire::priority::normal,
    .kind = wire::call_kind::script,
    .encode =
        [](wire::call& c, resp::writer& w) {
            const impl::lock_spec& of = *static_cast<const hunt&>(c).looked_at().wanted;
            of.protocol().encode_status(c, {.spec = of, .with_fence = false}, w);
        },
    .done =
        [](wire::call& c, const wire::outcome& o) {
            answered(static_cast<hunt&>(c), o, &deadlocks::read_holders);
        },
};

const wire::call_type deadlocks::record_type{
    .name = "waits of a holder",
    .after_loss = wire::retry::never,
    .order = wire::priority::normal,
    .encode =
        [](wire::call& c, resp::writer& w) {
            const auto& h = static_cast<const hunt&>(c);
            protocol::encode_look_at_waits(*h.looked_at().wanted, {.text = h.holders[h.asked]}, w);
        },
    .done =
        [](wire::call& c, const wire::outcome& o) {
            answered(static_cast<hunt&>(c), o, &deadlocks::read_record);
        },
};

void deadlocks::answered(hunt& h, const wire::outcome& o,
                         void (deadlocks::*read)(hunt&, const resp::value&)) {
    deadlocks& home = h.home;
    if (!h.of) {
        home.hunts_.free(h);
    } else if (o.lost()) {
        home.looked_in_vain(h);
    } else {
        home.warn_if_refused(*h.looked_at().wanted, o);
        (home.*read)(h, o.reply);
    }
}

void deadlocks::look(hunt& h) {
    h.looks = true;
    h.met.clear();
    h.holders.clear();
    h.asked = 0;
    h.at = cycle_member::hunter;
    ask(h, holders_type);
}

void deadlocks::ask(hunt& h, const wire::call_type& what) {
    h.type = &what;
    h.was_unsent = false;
    submit(h, *h.looked_at().wanted);
}

void deadlocks::read_holders(hunt& h, const resp::value& reply) {
    for (std::string& field : protocol::read_fields_in_the_way(*h.looked_at().wanted, reply)) {
        if (const std::uint64_t number = own_number(h, field)) {
            came_round(h, number);
            return;
        }
        const bool is_new = std::find(h.holders.begin(), h.holders.end(), field) == h.holders.end();
        if (is_new && h.holders.size() < most_members) {
            h.holders.push_back(std::move(field));
        }
    }
    next(h);
}

// Of a server that is not there, nothing is known: the look goes on elsewhere.
void deadlocks::give_up_on_silent_server(hunt& h) {
    const bool is_unsent = h.where == wire::call::state::waiting;
    if (!is_unsent || !std::exchange(h.was_unsent, true)) {
        return;
    }
    all_.servers.withdraw(h);
    if (h.type == &record_type) {
        ++h.asked;
    }
    next(h);
}

void deadlocks::read_record(hunt& h, const resp::value& reply) {
    const std::string& field = h.holders[h.asked++];
    if (auto record = protocol::read_waits(reply)) {
        for (protocol::told_wait& w : record->waits) {
            if (leads_on(h, field, w)) {
                h.met.push_back({.before = h.at,
                                 .field = field,
                                 .who = record->who,
                                 .epoch = record->epoch,
                                 .refresh = record->refresh,
                                 .wait = std::move(w)});
            }
        }
    }
    next(h);
}

void deadlocks::next(hunt& h) {
    if (h.asked < h.holders.size()) {
        ask(h, record_type);
        return;
    }
    ++h.at;  // the first one comes behind the hunter
    if (h.at < h.met.size()) {
        ask(h, holders_type);
    } else {
        looked_in_vain(h);
    }
}

// A wait that began later than the hunter's hunts for itself.
bool deadlocks::leads_on(const hunt& h, std::string_view field,
                         const protocol::told_wait& w) const {
    const std::string_view client = client_of(field);
    const std::string_view own = client_of(all_.field_prefix);
    const bool is_known = std::any_of(h.met.begin(), h.met.end(), [&](const cycle_member& m) {
        return m.wait.number == w.number && client_of(m.field) == client;
    });
    return !is_known && h.met.size() < most_members &&
           std::tie(w.began_ms, client, w.number) < std::tie(h.wait.began_ms, own, h.wait.number);
}

/// Of the hold of the hunter's owner that this field is; 0: it is none.
std::uint64_t deadlocks::own_number(const hunt& h, std::string_view field) const noexcept {
    if (!field.starts_with(all_.field_prefix)) {
        return 0;
    }
    const auto number =
        core::number_in<std::uint64_t>(field.substr(all_.field_prefix.size())).value_or(0);
    const bool is_own = std::any_of(h.by.holds.begin(), h.by.holds.end(),
                                    [&](const acquisition* a) { return a->number == number; });
    return is_own ? number : 0;
}

void deadlocks::came_round(hunt& h, std::uint64_t closed_by) {
    std::vector<cycle_member> cycle;
    for (std::size_t i = h.at; i != cycle_member::hunter; i = h.met[i].before) {
        cycle.push_back(h.met[i]);
    }
    std::reverse(cycle.begin(), cycle.end());
    h.looks = false;
    h.in_vain = 0;
    const bool is_known =
        h.sure != hunt::stage::nothing && h.closed_by == closed_by &&
        std::equal(cycle.begin(), cycle.end(), h.cycle.begin(), h.cycle.end(), &is_same);
    if (!is_known) {
        h.sure = hunt::stage::once;
        h.closed_by = closed_by;
        h.cycle = std::move(cycle);
        if (std::exchange(h.may_repeat, false)) {
            look(h);
        }
        return;
    }
    if (h.sure == hunt::stage::once) {
        h.sure = hunt::stage::counted;
        h.cycle = std::move(cycle);
    } else if (std::equal(cycle.begin(), cycle.end(), h.cycle.begin(),
                          [](const cycle_member& now, const cycle_member& then) {
                              return now.refresh >= then.refresh + 2;
                          })) {
        found(h);
    }
}

void deadlocks::found(hunt& h) {
    const std::string& who = all_.env.settings.client_name;
    std::vector<cycle_link> others;
    for (const cycle_member& m : h.cycle) {
        others.push_back({.who = m.who.empty() ? m.field : m.who, .wants = m.wait.wanted->name()});
    }
    all_.env.telemetry.deadlock(cycle_text({.who = who, .wants = h.wait.wanted->name()}, others));
    h.of->home.give_up(*h.of, errc::deadlock);
}

void deadlocks::looked_in_vain(hunt& h) noexcept {
    h.looks = false;
    h.pauses = h.in_vain == looks_at_full_pace;
    h.in_vain = static_cast<std::uint8_t>(std::min(h.in_vain + 1u, looks_at_full_pace));
}

void deadlocks::end_hunt(hunt& h) {
    h.of = nullptr;
    static_cast<hunt_hook&>(h).unlink();
    if (h.where == wire::call::state::waiting) {
        all_.servers.withdraw(h);
    }
    if (h.where == wire::call::state::idle) {
        hunts_.free(h);
    } else {
        h.abandon();
    }
}

}  // namespace conch::lock
