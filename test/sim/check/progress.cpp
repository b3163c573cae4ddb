// SPDX-License-Identifier: BSL-1.0
// A hold whose holder has to report progress ends, unless it was extended, no later than that and
// one lease after the last report.
#include "hold/acquisition.hpp"
#include "sim/simulation.hpp"

#include <algorithm>

namespace conch::sim {
namespace {

class progress final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "progress"; }

    void turned(std::uint64_t client) override {
        for (const held& h : all_.holds()) {
            const lock::level* const level = lock::level_of(*h.view);
            if (h.client == client && level && h.progress_within != duration{} && !h.extended &&
                h.valid_until() > last_end(h, level->of->terms.lease)) {
                violate("user " + std::to_string(h.user) + " is silent, and keeps lock " +
                        std::to_string(h.name));
            }
        }
    }

private:
    static constexpr duration tolerance = std::chrono::milliseconds{5};

    static time_point last_end(const held& h, duration lease) noexcept {
        return std::max(h.granted_until, h.reported + h.progress_within + lease + tolerance);
    }
};

}  // namespace

std::unique_ptr<checker> make_progress(simulation& s) { return std::make_unique<progress>(s); }

}  // namespace conch::sim
