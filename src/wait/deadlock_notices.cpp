// SPDX-License-Identifier: BSL-1.0
// What others are told of a holder that waits.
#include "wait/deadlocks.hpp"
#include "wait/slots.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace conch::lock {
namespace {

/// A record that is not refreshed is gone after so many poll intervals.
constexpr int kept = 3;

/// Of one owner. Who waits for others of its holds is in no cycle that is found.
constexpr std::size_t most_notices = 100;

std::string key_of(const notice& n, std::string_view field_prefix) {
    return protocol::wait_key(*n.held, std::string{field_prefix}.append(std::to_string(n.number)));
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
            const std::uint8_t moves = n.home.all_.servers.serving(n.held->hash_slot()).moves();
            if (std::exchange(n.moves, moves) != moves) {
                n.epoch = ++n.home.last_number_;
            }
            protocol::wait_record r{.epoch = n.epoch,
                                    .refresh = ++n.refresh,
                                    .who = all.env.settings.client_name,
                                    .waits = {}};
            for (const hunt* const h : n.of->waits) {
                r.waits.push_back(h->wait);
            }
            w.command(5)
                .arg("SET")
                .arg(key_of(n, all.field_prefix))
                .arg(protocol::text_of(r))
                .arg("PX")
                .arg(core::ceil_millis(kept * all.poll_interval()));
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
            w.command(2).arg("DEL").arg(key_of(n, n.home.all_.field_prefix));
        },
    .done =
        [](wire::call& c, const wire::outcome&) {
            auto& n = static_cast<notice&>(c);
            n.home.notices_.free(n);
        },
};

notice::notice(deadlocks& d, const acquisition& a, const party& p, std::uint64_t e)
    : wire::call{deadlocks::tell_type}, home{d}, held{a.spec}, number{a.number}, of{&p}, epoch{e} {}

void deadlocks::tell(party& p) {
    for (const acquisition* const a : p.holds) {
        const bool has_one = std::any_of(p.notices.begin(), p.notices.end(),
                                         [&](const notice* n) { return n->number == a->number; });
        if (!has_one && p.notices.size() < most_notices) {
            p.notices.push_back(&notices_.make(*this, *a, p, ++last_number_));
        }
    }
    for (notice* const n : p.notices) {
        if (n->where == wire::call::state::idle) {
            all_.servers.submit(*n, n->held->hash_slot());
        }
    }
}

void deadlocks::told(notice& n, const wire::outcome& o) {
    if (o.refused()) {
        all_.env.telemetry.warn("deadlocks with others are not found", n.held->name(),
                                o.reply.text());
    }
    if (!n.of) {
        end_notice(n, o.lost());
    } else if (o.lost()) {
        n.epoch = ++last_number_;
    }
}

void deadlocks::end_notices(party& p) {
    for (notice* const n : p.notices) {
        end_notice(*n);
    }
    p.notices.clear();
}

// What was written is taken back; a lost connection leaves that to the record's time to live.
void deadlocks::end_notice(notice& n, bool lost) {
    n.of = nullptr;
    if (n.where == wire::call::state::written) {
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
    all_.servers.submit(n, n.held->hash_slot());
}

}  // namespace conch::lock
