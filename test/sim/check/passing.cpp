// SPDX-License-Identifier: BSL-1.0
// A lock passes between users of one client with no word to the server only where nobody needs to
// know: without a token, with most of its lease to come, and neither too often nor for too long.
#include "sim/simulation.hpp"

#include <map>
#include <string>
#include <utility>

namespace conch::sim {
namespace {

class passing final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "passing"; }

    void granted(const held& h) override {
        const auto [it, first] = rows_.try_emplace({h.client, h.number}, row{h.granted_at, 0});
        if (!first && !all_.how().nesting) {
            ++it->second.passes;
            look(h, it->second);
        }
    }

private:
    static constexpr duration tolerance = std::chrono::milliseconds{1};

    struct row {
        instant began_at;
        unsigned passes;
    };

    void look(const held& h, const row& r) {
        const client_node& node = *all_.clients()[h.client];
        const config& settings = node.settings();
        const duration lease = h.renewed_lease;
        if (all_.fenced(h.name)) {
            tell(h, "though it has a token");
        } else if (r.passes >= settings.max_passes) {
            tell(h, "for the " + std::to_string(r.passes) + "th time in a row");
        } else if (node.local(h.began_at) - node.local(r.began_at) >
                   settings.max_pass_time + tolerance) {
            tell(h, "long after the first of the row");
        } else if (lease > duration{} &&
                   core::lease_end(node.local(h.began_at), lease) - h.valid_until() >
                       lease / 3 + tolerance) {
            tell(h, "with little of its lease to come");
        }
    }

    void tell(const held& h, const std::string& although) {
        violate("lock " + std::to_string(h.name) + " is passed on to user " +
                std::to_string(h.user) + " " + although);
    }

    std::map<std::pair<std::uint64_t, std::uint64_t>, row> rows_{};
};

}  // namespace

std::unique_ptr<checker> make_passing(simulation& s) { return std::make_unique<passing>(s); }

}  // namespace conch::sim
