// SPDX-License-Identifier: BSL-1.0
// A hold whose keys are on different servers, as its hash slot moves, is renewed at one after the
// other: a lease may be shorter than the time until they are together again.
#include "hold/acquisition.hpp"
#include "hold/holds.hpp"
#include "hold/renewal.hpp"

#include <utility>

namespace conch::lock {

protocol::renew_item renewal::item::request() const noexcept {
    return {.spec = *of->spec,
            .holder = field_of(*of),
            .lease = lowers ? of->extended_by : lease,
            .lowers = lowers};
}

// All of them ask for the same lease, which is counted from when the first one left.
void renewer::encode_part(renewal& r, resp::writer& w) {
    renewal::item& of = r.items.front();
    if (r.part == 1 && !of.lowers) {
        choose_lease(r, of);
    }
    protocol::encode_renewal_part(r, *r.protocol, r.part - std::size_t{1}, of.request(), w);
}

void renewer::retry_by_key(renewal& r) {
    if (acquisition* const a = std::exchange(r.items.front().of, nullptr)) {
        send_part(r, r.items.front(), *a);
    }
}

void renewer::send_part(const renewal& before, const renewal::item& item, acquisition& a) {
    renewal& r = pool_.make(*this);
    r.protocol = before.protocol;
    r.part = static_cast<std::uint8_t>(before.part + 1);
    r.sent_first = before.sent();
    r.items.front() = {.of = &a, .lease = item.lease, .lowers = item.lowers};
    r.count = r.wanting = 1;
    a.renewing = &r;
    a.place = 0;
    a.home.submit(r);
}

}  // namespace conch::lock
