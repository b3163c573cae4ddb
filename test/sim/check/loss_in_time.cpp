// SPDX-License-Identifier: BSL-1.0
// The loss of a hold is told in the first turn at or after its deadline, or so much sooner as who
// watches it wants to know, and that turn comes in time; nothing is granted that is over; and no
// hold goes on beyond its max_hold.
#include "sim/simulation.hpp"

#include <vector>

namespace conch::sim {
namespace {

class loss_in_time final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "loss_in_time"; }

    void asks(const call& c) override {
        if (c.watches) {
            watches_.push_back(&c);
        }
    }

    void turned(std::uint64_t client) override {
        const client_node& node = *all_.clients()[client];
        look_at_watches(client, node.local_now());
        for (const held& h : all_.holds()) {
            if (h.client != client || node.local_now() < h.valid_until()) {
                continue;
            }
            if (h.view->lost.load() == 0) {
                violate("user " + std::to_string(h.user) + " isn't told of the end of lock " +
                        std::to_string(h.name));
            }
        }
    }

    void ended(const call& c) override {
        if (c.was_expired) {
            violate("user " + std::to_string(c.user) + " is granted what is over already");
        }
    }

    void stepped() override {
        for (const held& h : all_.holds()) {
            const client_node& node = *all_.clients()[h.client];
            if (h.max_hold != forever &&
                h.valid_until() > node.local(h.began_at) + h.max_hold + tolerance) {
                violate("user " + std::to_string(h.user) + " may hold lock " +
                        std::to_string(h.name) + " beyond max_hold");
            }
            if (node.running() && h.view->lost.load() == 0 &&
                node.local_now() > h.valid_until() + tolerance) {
                violate("the client of user " + std::to_string(h.user) +
                        " sleeps over the end of lock " + std::to_string(h.name));
            }
        }
    }

private:
    static constexpr duration tolerance = std::chrono::milliseconds{1};

    static time_point end_of(const impl::hold_view& v) {
        return time_point{duration{v.valid_until.load()}};
    }

    void look_at_watches(std::uint64_t client, time_point now) {
        std::erase_if(watches_, [](const call* c) { return c->completions != 0; });
        for (const call* c : watches_) {
            const bool is_new = c->asked_at == all_.the_world().now();
            if (c->client == client && c->running && !is_new &&
                now >= end_of(*c->watches) - c->before) {
                violate("who watches a lock for user " + std::to_string(c->user) +
                        " isn't told of its end");
            }
        }
    }

    std::vector<const call*> watches_{};
};

}  // namespace

std::unique_ptr<checker> make_loss_in_time(simulation& s) {
    return std::make_unique<loss_in_time>(s);
}

}  // namespace conch::sim
