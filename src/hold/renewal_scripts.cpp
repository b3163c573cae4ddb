// SPDX-License-Identifier: BSL-1.0
// Which of the holds that are due share a script, and what that asks for.
#include "hold/renewal.hpp"

#include "hold/holding.hpp"
#include "hold/holds.hpp"
#include "hold/replica_waits.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace conch::lock {
namespace {

// The lease to send for this hold now; zero where nothing is to be extended.
duration wanted_lease(const acquisition& a, time_point now) {
    duration lease{};
    if (renews(a)) {
        lease = due_lease(a, now);
    }
    for (const pending& p : a.requests) {
        if (is<extension>(p)) {
            lease = std::max(lease, static_cast<const extension&>(p).lease);
        }
    }
    // A server that took over may have the key, but not the last that was done to it.
    const bool restores = a.server_moved || a.failed_over();
    return lease > duration::zero() || restores ? lease_to_send(a, lease, now) : lease;
}

// An extension that waits goes first. Where another server has the lock since, its TTL may differ.
bool is_to_lower(const acquisition& a) noexcept {
    return a.overlong && !a.server_moved && !a.failed_over() && !is_extending(a);
}

}  // namespace

bool renews(const acquisition& a) noexcept { return a.terms.renew && !a.last; }

bool is_extending(const acquisition& a) noexcept {
    return std::any_of(a.requests.begin(), a.requests.end(), &is<extension>);
}

// Holds of one hash slot, of one protocol and on one connection leave together.
void renewer::flush() {
    if (servers_.by_hash_slot()) {
        flush_by_hash_slot();
    } else {
        send_all(due_);
    }
    due_.clear();
}

void renewer::flush_by_hash_slot() {
    std::stable_sort(due_.begin(), due_.end(), [](const acquisition* a, const acquisition* b) {
        return a->home.hash_slot() < b->home.hash_slot();
    });
    for (auto from = due_.begin(); from != due_.end();) {
        const auto end = std::find_if(from, due_.end(), [&](const acquisition* a) {
            return a->home.hash_slot() != (*from)->home.hash_slot();
        });
        send_all({from, end});
        from = end;
    }
}

std::size_t renewer::for_one_script(std::span<acquisition* const> holds) noexcept {
    protocol::renewal_room room;
    std::size_t n = 0;
    while (n < holds.size() && room.take(*holds[n]->spec)) {
        ++n;
    }
    return n;
}

void renewer::send_all(std::span<acquisition*> due) {
    while (!due.empty()) {
        wire::link& link = due.front()->home.link();
        const protocol::lock_protocol* const protocol = &due.front()->spec->protocol();
        const auto others =
            std::stable_partition(due.begin(), due.end(), [&](const acquisition* a) {
                return &a->home.link() == &link && &a->spec->protocol() == protocol;
            });
        const std::span<acquisition*> same{due.begin(), others};
        due = due.subspan(same.size());
        if (!link.ready()) {
            // The next connection begins with a check of all: nothing else may call for one.
            link.use();
            std::for_each(same.begin(), same.end(), [](acquisition* a) { a->due = false; });
            continue;
        }
        for (auto rest = same; !rest.empty();) {
            const std::size_t some = for_one_script(rest);
            send(rest.first(some));
            rest = rest.subspan(some);
        }
    }
}

void renewer::send(std::span<acquisition* const> holds) {
    renewal& r = pool_.make(*this);
    r.protocol = &holds.front()->spec->protocol();
    for (acquisition* a : holds) {
        a->due = false;
        a->renewing = &r;
        a->place = static_cast<std::uint8_t>(r.count);
        r.items[r.count++] = {a, {}};
    }
    r.wanting = r.count;
    ++env_.telemetry.counters.renewal_batches;
    holds.front()->home.submit(r);
    for (const acquisition* a : holds) {
        if (a->spec->replicas() && wanted_lease(*a, env_.now) > duration::zero()) {
            replicas_.follow(a->home.link(), a->spec->replicas());
        }
    }
}

void renewer::encode(wire::call& c, resp::writer& w) {
    auto& r = static_cast<renewal&>(c);
    if (r.part > 0) {
        encode_part(r, w);
        return;
    }
    // Holds that ended since are left out; the rest keep the order of their answers.
    const auto items = std::span{r.items}.first(r.count);
    const auto ended =
        std::remove_if(items.begin(), items.end(), [](const renewal::item& i) { return !i.of; });
    r.count = static_cast<std::uint32_t>(ended - items.begin());
    const protocol::lock_protocol& p = *r.protocol;
    r.type = r.count > 1 || !p.renew_parts.empty() ? &divisible_type : &type;
    for (std::uint32_t i = 0; i < r.count; ++i) {
        r.items[i].of->place = static_cast<std::uint8_t>(i);
        choose_lease(r, r.items[i]);
    }
    protocol::encode_renewal(c, p, r.count, [&](std::size_t i) { return r.items[i].request(); }, w);
}

void renewer::choose_lease(renewal& r, renewal::item& item) {
    acquisition& a = *item.of;
    item.lowers = is_to_lower(a);
    item.lease = item.lowers ? duration{} : wanted_lease(a, r.home.env_.now);
    a.overlong = false;
    // The server may set it, whether or not the answer arrives.
    a.extended_by = std::max(a.extended_by, item.lease);
}

// A renewal that has no hold left is neither sent nor sent again.
void renewer::leave(renewal& r, acquisition& a) {
    r.items[a.place].of = nullptr;
    if (--r.wanting > 0) {
        return;
    }
    if (r.where == wire::call::state::waiting) {
        servers_.withdraw(r);
        pool_.free(r);
    } else {
        r.abandon();
    }
}

// One refusal for a whole batch says nothing of any one hold.
void renewer::retry_singly(renewal& r) {
    for (std::uint32_t i = 0; i < r.count; ++i) {
        acquisition* const a = std::exchange(r.items[i].of, nullptr);
        if (a) {
            a->renewing = nullptr;
            send({&a, 1});
        }
    }
}

}  // namespace conch::lock
