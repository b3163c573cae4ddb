// SPDX-License-Identifier: BSL-1.0
// Each reply is taken for that of the command that it answers: none is left over, and none can't be
// of who would get it. (The network of the simulation garbles nothing.)
#include "sim/simulation.hpp"

#include <string>

namespace conch::sim {
namespace {

class understood final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "understood"; }

    void turned(std::uint64_t client) override {
        const std::string& words = all_.clients()[client]->engine().last_words();
        for (const char* bad : {"a reply that answers no command",
                                "a redirection that is not for the oldest command"}) {
            if (words == bad) {
                violate("client " + std::to_string(client) + " got " + words);
            }
        }
    }
};

}  // namespace

std::unique_ptr<checker> make_understood(simulation& s) { return std::make_unique<understood>(s); }

}  // namespace conch::sim
