// SPDX-License-Identifier: BSL-1.0
// An acquire that was given up isn't sent again, neither on another line nor after a refusal:
// somebody of its client waited for that lock when it was sent.
#include "sim/simulation.hpp"

#include <algorithm>
#include <vector>

namespace conch::sim {
namespace {

class abandoned final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "abandoned"; }

    void asks(const call& c) override {
        if (c.acquires) {
            waits_.push_back(&c);
        }
    }

    void ran(const script_run& r) override {
        const auto name = all_.name_in(r);
        if (!name || !r.is("acquire")) {
            return;
        }
        // The latest first.
        const bool wanted = std::any_of(waits_.rbegin(), waits_.rend(), [&](const call* c) {
            return c->client == r.client && all_.same_key(c->name, *name) &&
                   (c->completions == 0 || c->ended_at >= r.sent_after);
        });
        if (!wanted) {
            violate("client " + std::to_string(r.client) + " sends the acquire of " +
                    std::string{r.args.front()} + ", for which nobody waits");
        }
    }

private:
    std::vector<const call*> waits_{};
};

}  // namespace

std::unique_ptr<checker> make_abandoned(simulation& s) { return std::make_unique<abandoned>(s); }

}  // namespace conch::sim
