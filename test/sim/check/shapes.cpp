// SPDX-License-Identifier: BSL-1.0
// A lock is kept as other programs of its kind expect it: a mutex as a field of a hash, a
// token_mutex as a text.
#include "sim/simulation.hpp"

namespace conch::sim {
namespace {

class shapes final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "shapes"; }
    bool of_one_holder() const noexcept override { return true; }

    void granted(const held& h) override {
        server_node& server = all_.server();
        const impl::lock_spec& spec = *all_.spec(h.name);
        if (server.redis().has_field(spec.name(), all_.field_of(h), server.wall_clock()) &&
            server.redis().is_text(spec.name(), server.wall_clock()) !=
                (&spec.protocol() == &protocol::value_lock_protocol)) {
            violate("lock " + std::to_string(h.name) + " is kept as if it were of another kind");
        }
    }
};

}  // namespace

std::unique_ptr<checker> make_shapes(simulation& s) { return std::make_unique<shapes>(s); }

}  // namespace conch::sim
