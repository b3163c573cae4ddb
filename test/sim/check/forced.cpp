// SPDX-License-Identifier: BSL-1.0
// Who is told that a lock was taken away from its holders has taken it from all of them: those whom
// the server named when it was asked who they are. Which of its client's questions that was isn't
// known: after one of them, all are gone.
#include "sim/simulation.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace conch::sim {
namespace {

class forced final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "forced"; }

    void ran(const script_run& r) override {
        const auto name = all_.name_in(r);
        if (!name || !r.is("status") || r.answer.items.size() < 4) {
            return;
        }
        named n{.client = r.client, .name = *name, .at = r.at};
        std::istringstream holders{r.answer.items[2].text};
        for (std::string field; holders >> field;) {
            n.fields.push_back(field);
        }
        named_.push_back(std::move(n));
    }

    void ended(const call& c) override {
        if (!c.forces || c.said != impl::remark::done) {
            return;
        }
        const auto is_its = [&](const named& n) {
            return n.client == c.client && all_.same_key(n.name, c.name) && n.at >= c.asked_at;
        };
        const bool all_gone = std::any_of(named_.begin(), named_.end(), [&](const named& n) {
            return is_its(n) && std::all_of(n.fields.begin(), n.fields.end(), [&](const auto& f) {
                       return !is_there(n.name, f) || was_taken(n, f);
                   });
        });
        if (!all_gone && all_.last_loss(c.name) < c.asked_at) {
            violate("user " + std::to_string(c.user) + " is told that lock " +
                    std::to_string(c.name) + " was taken away, and somebody still has it");
        }
    }

private:
    struct named {
        std::uint64_t client;
        std::size_t name;
        instant at;
        std::vector<std::string> fields{};
    };

    bool is_there(std::size_t name, const std::string& field) {
        server_node& server = all_.server();
        return server.redis().has_field(all_.spec(name)->name(), field, server.wall_clock());
    }

    /// And may be there again: an acquire whose answer was lost, or a waiter in line, asks again.
    bool was_taken(const named& n, const std::string& field) const {
        const auto& seen = all_.server().sightings(field);
        return std::any_of(seen.rbegin(), seen.rend(), [&](const auto& s) {
            return s.what == server_node::sight::deleted && s.client == n.client && s.at >= n.at;
        });
    }

    std::vector<named> named_{};
};

}  // namespace

std::unique_ptr<checker> make_forced(simulation& s) { return std::make_unique<forced>(s); }

}  // namespace conch::sim
