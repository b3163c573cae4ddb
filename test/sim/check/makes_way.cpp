// SPDX-License-Identifier: BSL-1.0
// No reader is granted a read-write lock while a writer of any client waits for it.
#include "sim/simulation.hpp"

namespace conch::sim {
namespace {

class makes_way final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "makes_way"; }

    void ran(const script_run& r) override {
        // A script that ran again finds what it took before.
        if (r.script == "shared_read" && r.answer.what == reply::kind::bulk &&
            seen_.insert(std::string{r.args.front()}).second &&
            all_.server().has(r.line, r.keys[2])) {
            violate(std::string{r.args.front()} + " reads though a writer waits");
        }
    }

private:
    std::set<std::string> seen_{};
};

}  // namespace

std::unique_ptr<checker> make_makes_way(simulation& s) { return std::make_unique<makes_way>(s); }

}  // namespace conch::sim
