// SPDX-License-Identifier: BSL-1.0
// Once a client's release has reached the server, no renewal of the same holder follows on that
// line: else a release that is tried again would never be the end.
#include "sim/simulation.hpp"

#include <map>
#include <string>

namespace conch::sim {
namespace {

class released final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "released"; }

    void ran(const script_run& r) override {
        if (all_.how().has(fault::force)) {
            return;  // who takes its own client's lock away looks at it after that
        }
        if (r.is("release")) {
            // Of a read-write lock it names the channel first, and how it is told.
            const std::string_view holder = r.args[r.is_shared("release") ? 2 : 0];
            lines_.insert_or_assign(std::string{holder}, r.line);
            return;
        }
        for (std::size_t i = 0; r.is("renew") && 2 * i < r.args.size(); ++i) {
            const auto last = lines_.find(r.args[2 * i]);
            if (last != lines_.end() && last->second == r.line) {
                violate("client " + std::to_string(r.client) + " renews " + last->first +
                        " after its release");
            }
        }
    }

private:
    std::map<std::string, std::uint64_t, std::less<>> lines_{};  // of the last release
};

}  // namespace

std::unique_ptr<checker> make_released(simulation& s) { return std::make_unique<released>(s); }

}  // namespace conch::sim
