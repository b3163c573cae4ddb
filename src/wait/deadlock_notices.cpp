// SPDX-License-Identifier: BSL-1.0
// What others are told of a holder that waits.
#include "wait/deadlocks.hpp"
#include "wait/slots.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace conch::lock {
namespace {

/// A record that is not refreshed so often in a row is gone.
constexpr int most_missed = 12;

constexpr std::int64_t shortest_kept_ms = 1000;

/// Of one owner. Who waits for others of its holds is in no cycle that is found.
constexpr std::size_t most_notices = 100;

protocol::field holder_of(const notice& n, std::string_view field_prefix) noexcept {
    return {.text = field_prefix, .number = n.number};
}

}  // namespace

// Which waits there are is looked at when the command is written. A lost one may yet run, at any
// time, and a server that took over may lack the latest ones: what comes then is of another epoch.
const wire::call_type deadlocks::tell_type{
    .name = "tell waits",
    .after_loss = wire::retry::never,
    .order = wire::priority::normal,
    .encode =
        [](wire::call& c, resp::writer& w) {
            auto& n = static_cast<notice&>(c);
            const slots& all = n.home.all_;
            const told_server now = n.home.server_of(*n.held);
            if (std::exchange(n.server, now) != now) {
                n.epoch = ++n.home.last_number_;
            }
            protocol::wait_record r{.epoch = n.epoch,
                                    .refresh = n.refresh + 1,
                                    .who = all.env.settings.client_name,
                                    .waits = {}};
            for (const hunt* const h : n.of->waits) {
                r.waits.push_back(h->wait);
            }
            protocol::encode_waits(*n.held, holder_of(n, all.field_prefix), r, n.home.kept_ms(), w);
        },
    .done =
        [](wire::call& c, const wire::outcome& o) {
            auto& n = static_cast<notice&>(c);
            n.home.told(n, o);
        },
};

const wire::call_type deadlocks::end_type{
    .name = "end of waits",
    .after_loss = wire::retry::never,
    .order = wire::priority::normal,
    .unhurried = true,
    .encode =
        [](wire::call& c, resp::writer& w) {
            const auto& n = static_cast<const notice&>(c);
            protocol::encode_end_of_waits(*n.held, holder_of(n, n.home.all_.field_prefix), w);
        },
    .done =
        [](wire::call& c, const wire::outcome&) {
            auto& n = static_cast<notice&>(c);
            n.home.notices_.free(n);
        },
};

notice::notice(deadlocks& d, const acquisition& a, const party& p, std::uint64_t e)
    : wire::call{deadlocks::tell_type},
      home{d},
      held{a.spec},
      number{a.number},
      of{&p},
      epoch{e},
      server{d.server_of(*held)} {}

told_server deadlocks::server_of(const impl::lock_spec& held) const noexcept {
    const wire::link& at = all_.servers.serving(held.hash_slot());
    return {&at, at.moves()};
}

std::int64_t deadlocks::kept_ms() const noexcept {
    return std::max(most_missed * core::ceil_millis(interval()), shortest_kept_ms);
}

void deadlocks::tell(party& p) {
    for (const acquisition* const a : p.holds) {
        if (p.notices.size() == most_notices) {
            break;
        }
        const bool has_one = std::any_of(p.notices.begin(), p.notices.end(),
                                         [&](const notice* n) { return n->number == a->number; });
        if (!has_one) {
            p.notices.push_back(&notices_.make(*this, *a, p, ++last_number_));
        }
    }
    for (notice* const n : p.notices) {
        if (n->where == wire::call::state::idle) {
            submit(*n, *n->held);
        }
    }
}

// A refused record was not written: the next one has its number. An answer of another server than
// the one asked, as while a hash slot moves, does not tell whether that one has the records written
// before.
void deadlocks::told(notice& n, const wire::outcome& o) {
    n.refresh += o.answered() ? 1 : 0;
    if (!n.of) {
        end_notice(n, o.lost());
    } else if (o.lost() || o.answered_on != n.server.link) {
        n.epoch = ++last_number_;
    } else {
        warn_if_refused(*n.held, o);
    }
}

void deadlocks::warn_if_refused(const impl::lock_spec& l, const wire::outcome& o) {
    if (o.refused()) {
        all_.env.telemetry.warn("deadlocks with others are not found", l.name(), o.reply.text());
    }
}

void deadlocks::end_notices(party& p) {
    for (notice* const n : p.notices) {
        end_notice(*n);
    }
    p.notices.clear();
}

// What was written is taken back; a lost connection leaves that to the record's time to live. One
// that is on its way comes here again with its answer.
void deadlocks::end_notice(notice& n, bool lost) {
    n.of = nullptr;
    n.abandon();
    if (n.abandoned()) {
        return;
    }
    if (n.where == wire::call::state::waiting) {
        all_.servers.withdraw(n);
    }
    if (n.refresh == 0 || lost) {
        notices_.free(n);
        return;
    }
    n.type = &end_type;
    submit(n, *n.held);
}

}  // namespace conch::lock
