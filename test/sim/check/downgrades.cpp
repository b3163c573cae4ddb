// SPDX-License-Identifier: BSL-1.0
// A downgrade leaves the reader in the place of the writer, with the whole lease, and tells those
// who wait; one that comes too late leaves nobody. Who is told that it was done, has read since.
#include "sim/simulation.hpp"

#include <cstdlib>
#include <set>
#include <string>
#include <utility>

namespace conch::sim {
namespace {

class downgrades final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "downgrades"; }

    void ran(const script_run& r) override {
        const std::uint64_t before = std::exchange(messages_, all_.server().redis().messages());
        // Not where another master has other data, or has the hash slot already.
        if (r.script == "shared_downgrade" && r.answer.what == reply::kind::integer &&
            all_.server().is_home(r.line, r.keys[0])) {
            look(r, before);
        }
    }

    void ended(const call& c) override {
        if (c.downgrades && !c.ec && all_.downgraded_at(c.asks->of) < 0) {
            violate("user " + std::to_string(c.user) + " is told to read, and writes");
        }
    }

private:
    void look(const script_run& r, std::uint64_t messages_before) {
        fake_redis& redis = all_.server().redis();
        const std::int64_t now = all_.server().wall_clock();
        const std::string reader{r.args[1]};
        const bool done = r.answer.integer == 1;
        if (redis.has_field(r.keys[0], r.args[0], now)) {
            violate(reader + " still writes");
        }
        if (redis.has_field(r.keys[0], reader, now) != done) {
            violate(reader + (done ? " doesn't read" : " reads again"));
        }
        if (!done) {
            return;
        }
        const std::int64_t lease = std::atoll(std::string{r.args[2]}.c_str());
        for (const std::string_view key : {r.keys[0], r.keys[1]}) {
            if (redis.left(key, now) < lease) {
                violate(reader + " reads for less than its lease");
            }
        }
        if (seen_.insert(reader).second && messages_ == messages_before && !all_.how().refuses() &&
            !all_.how().has(fault::no_channel)) {
            violate(reader + " reads, and nobody is told");
        }
    }

    std::uint64_t messages_ = 0;  ///< that were published until the last script
    std::set<std::string> seen_{};
};

}  // namespace

std::unique_ptr<checker> make_downgrades(simulation& s) { return std::make_unique<downgrades>(s); }

}  // namespace conch::sim
