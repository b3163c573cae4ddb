// SPDX-License-Identifier: BSL-1.0
// What the answer to CLUSTER SLOTS says.
#include "topology/cluster.hpp"

#include <algorithm>
#include <string>

namespace conch::topology {
namespace {

bool is_slot(const resp::value& v) noexcept {
    return v.is_integer() && v.integer() >= 0 &&
           v.integer() < static_cast<std::int64_t>(wire::hash_slots);
}

}  // namespace

// A range that can't be understood is left out: its hash slots stay with their master.
std::vector<slot_range> cluster::read(const resp::value& reply) const {
    std::vector<slot_range> ranges;
    std::vector<wire::address> masters;
    reply.each([&](const resp::value& one) {
        const std::optional<slot_range> r = read_range(one);
        if (!r || ranges.size() == wire::hash_slots) {
            return;
        }
        if (std::find(masters.begin(), masters.end(), r->master) == masters.end()) {
            if (masters.size() == node_list::most) {
                return;
            }
            masters.push_back(r->master);
        }
        ranges.push_back(*r);
    });
    return ranges;
}

std::optional<slot_range> cluster::read_range(const resp::value& one) const {
    if (one.size() < 3 || !is_slot(one.at(0)) || !is_slot(one.at(1)) ||
        one.at(0).integer() > one.at(1).integer()) {
        return std::nullopt;
    }
    const resp::value master = one.at(2);
    const std::int64_t port =
        master.size() >= 2 && master.at(1).is_integer() ? master.at(1).integer() : 0;
    const std::string_view host =
        master.size() >= 2 && master.at(0).is_text() ? master.at(0).text() : std::string_view{};
    if (port <= 0 || port > 65535 || host == "?") {
        return std::nullopt;
    }
    const std::optional<wire::address> at =
        reached({std::string{host}, static_cast<std::uint16_t>(port), {}}, link_.target());
    if (!at) {
        return std::nullopt;
    }
    return slot_range{static_cast<std::uint16_t>(one.at(0).integer()),
                      static_cast<std::uint16_t>(one.at(1).integer()), *at};
}

}  // namespace conch::topology
