// SPDX-License-Identifier: BSL-1.0
// What a stranger put where a lock is stays there as it is, until it goes away or the server loses
// it: no script changes it, gives it an end or deletes it.
#include "sim/simulation.hpp"

#include <string>
#include <vector>

namespace conch::sim {
namespace {

class kept_off final : public checker {
public:
    explicit kept_off(simulation& s) : checker{s}, told_(s.how().names, -1) {}
    std::string_view name() const noexcept override { return "kept_off"; }

    void stepped() override {
        for (std::size_t name = 0; name < told_.size(); ++name) {
            const instant since = all_.spoilt_since(name);
            const bool judged = since >= 0 && since != told_[name] && all_.last_loss(name) < since;
            if (judged && !is_there(name)) {
                told_[name] = since;
                violate("what a stranger put where lock " + std::to_string(name) +
                        " is was changed");
            }
        }
    }

private:
    bool is_there(std::size_t name) {
        server_node& server = all_.server();
        return server.redis().is_as_put(all_.spec(name)->name(), server.wall_clock());
    }

    std::vector<instant> told_;  // of what came at this time
};

}  // namespace

std::unique_ptr<checker> make_kept_off(simulation& s) { return std::make_unique<kept_off>(s); }

}  // namespace conch::sim
