// SPDX-License-Identifier: BSL-1.0
// Each operation completes exactly once.
#include "sim/simulation.hpp"

namespace conch::sim {
namespace {

class once final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "once"; }

    void ended(const call& c) override {
        if (c.completions != 1) {
            violate("a call of user " + std::to_string(c.user) + " was completed " +
                    std::to_string(c.completions) + " times");
        }
    }

    void rested() override {
        for (const call& c : all_.calls()) {
            const user& by = *all_.users()[c.user];
            if (c.completions != 1 && !all_.clients()[by.client()]->dead()) {
                violate("a call of user " + std::to_string(c.user) + " was completed " +
                        std::to_string(c.completions) + " times in the end");
                return;
            }
        }
    }
};

}  // namespace

std::unique_ptr<checker> make_once(simulation& s) { return std::make_unique<once>(s); }

}  // namespace conch::sim
