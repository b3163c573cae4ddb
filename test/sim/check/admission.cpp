// SPDX-License-Identifier: BSL-1.0
// An operation is refused as too many exactly if `max_pending` of its client's are pending: but for
// those that have room of their own, releasing and watching.
#include "sim/simulation.hpp"

#include <set>

namespace conch::sim {
namespace {

class admission final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "admission"; }
    bool of_one_holder() const noexcept override { return true; }

    void asks(const call& c) override {
        if (!c.reserved && full_for(c)) {
            too_many_.insert(c.place);
        }
    }

    void ended(const call& c) override {
        if (all_.clients()[c.client]->closing()) {
            return;  // it admits nothing, or what its holders need
        }
        const bool refused = c.ec == errc::overloaded;
        const bool shall = too_many_.contains(c.place);
        if (refused && !shall) {
            violate("a call of user " + std::to_string(c.user) + " is refused as too many");
        } else if (!refused && shall) {
            violate("a call of user " + std::to_string(c.user) + " is admitted, one too many");
        }
    }

private:
    bool full_for(const call& c) const {
        const std::size_t most = all_.how().settings.max_pending;
        const std::uint64_t client = c.client;
        const engine::lock_engine& engine = all_.clients()[client]->engine();
        // What was given up may be at the server for long.
        return pending(client, most) >= most ||
               (c.acquires && engine.unsettled() >= engine.counters().holds_now + most);
    }

    /// At most as many as are pending.
    std::size_t pending(std::uint64_t client, std::size_t most) const {
        std::size_t n = 0;
        if (most > all_.calls().size()) {
            return n;
        }
        for (const call& c : all_.calls()) {
            n += c.running != nullptr && c.client == client ? 1 : 0;
        }
        return n;
    }

    std::set<std::uint64_t> too_many_{};
};

}  // namespace

std::unique_ptr<checker> make_admission(simulation& s) { return std::make_unique<admission>(s); }

}  // namespace conch::sim
