// SPDX-License-Identifier: BSL-1.0
// Which of the holds that are due share a script.
#include "hold/renewal.hpp"

#include "hold/names.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace conch::lock {

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

// What renews nothing any more isn't sent, nor sent again.
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
