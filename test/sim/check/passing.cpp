// SPDX-License-Identifier: BSL-1.0
// A lock passes between users of one client with no word to the server only where nobody needs to
// know: without a token, with most of its lease to come, and neither too often nor for too long.
// One script hands a lock over no more often in a row, and no longer. Readers that ride on what
// another one has are counted alike: from the last one of their client that the server let in.
#include "sim/simulation.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace conch::sim {
namespace {

class passing final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "passing"; }

    void granted(const held& h) override {
        const hold_id id{h.client, h.number};
        const auto from = taken_over_.find(id);
        const bool goes_on = from != taken_over_.end() && rows_.contains(from->second.from);
        const auto [it, first] = rows_.try_emplace(
            id, goes_on ? rows_[from->second.from] : row{h.granted_at, 0, h.name, h.shared});
        if (first && all_.how().read_write) {
            begin_rides(h);
        }
        if ((first && !goes_on) || all_.how().nesting) {
            return;
        }
        if (it->second.shared != h.shared) {  // a writer that was downgraded, and its first rider
            it->second = {h.granted_at, 0, h.name, true};
        }
        ++it->second.passes;
        if (first) {
            look_at_row(h, it->second, sent_at(h, from->second), false);
        } else {
            look_at_row(h, it->second, h.began_at, true);
            look_at_pass(h);
        }
    }

    void ran(const script_run& r) override {
        if (r.takes_over()) {
            taken_over_[id_in(r.args[0])] = {id_in(r.args[3]), r.at};
        }
    }

private:
    static constexpr duration tolerance = std::chrono::milliseconds{1};

    struct row {
        instant began_at;
        unsigned passes;
        std::size_t name;
        bool shared;
    };

    using hold_id = std::pair<std::uint64_t, std::uint64_t>;

    struct take_over {  // by a script
        hold_id from;
        instant at;
    };

    static hold_id id_in(std::string_view field) {
        const simulation::owner_of o = simulation::owner_in(std::string{field});
        return {o.client, o.number};
    }

    /// When the script of this hand-over was sent; the earliest that it can have been, if a renewal
    /// has moved `sent_at` on.
    instant sent_at(const held& h, const take_over& t) const {
        return h.sent_at <= t.at ? h.sent_at : t.at - all_.how().net.worst_latency();
    }

    /// On this reader, and then on the others that its client has.
    void begin_rides(const held& h) {
        for (auto& [id, r] : rows_) {
            if (id.first == h.client && r.name == h.name) {
                r.passes = 0;
            }
        }
    }

    // A script that was lost goes again some time later.
    void look_at_row(const held& h, const row& r, instant passed_at, bool unseen) {
        const client_node& node = *all_.clients()[h.client];
        const config& settings = node.settings();
        const scenario& how = all_.how();
        const bool judged =
            unseen || !(how.disconnects() || how.refuses() || how.has(fault::script_flush));
        if (r.passes >= settings.max_passes) {
            tell(h, "for the " + std::to_string(r.passes) + "th time in a row");
        } else if (judged && node.local(passed_at) - node.local(r.began_at) >
                                 settings.max_pass_time + tolerance) {
            tell(h, "long after the first of the row");
        }
    }

    void look_at_pass(const held& h) {
        const client_node& node = *all_.clients()[h.client];
        const duration lease = h.renewed_lease;
        if (all_.fenced(h.name)) {
            tell(h, "though it has a token");
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

    std::map<hold_id, row> rows_{};
    std::map<hold_id, take_over> taken_over_{};
};

}  // namespace

std::unique_ptr<checker> make_passing(simulation& s) { return std::make_unique<passing>(s); }

}  // namespace conch::sim
