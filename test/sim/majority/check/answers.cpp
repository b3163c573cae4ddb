// SPDX-License-Identifier: BSL-1.0
// What a group answers is so: a lock is told to be held while somebody holds it, by that one, and
// free while no server has it; an extension that is told to be made is made at a majority; and an
// unlock fails only for a reason that is there.
#include "core/time.hpp"
#include "sim/majority/simulation.hpp"

#include <algorithm>
#include <vector>

namespace conch::sim::majority {
namespace {

class answers final : public checker {
public:
    explicit answers(simulation& s) : checker{s}, there_at_(s.how().names, -1) {}
    std::string_view name() const noexcept override { return "answers"; }

    void asked(const call& c) override {
        if (c.what == call::kind::status) {
            look_for(c.name);
        }
    }

    // What is taken stays so until a turn of who took it, or until somebody else takes it away:
    // that needs no turn.
    void turned(process&) override {
        for (const auto& u : all_.users()) {
            if (u->asks_now() && u->asks_now()->what == call::kind::status) {
                look_for(u->asks_now()->name);
            }
        }
    }

    void completed(const call& c) override {
        if (c.given_up) {
            return;
        }
        if (c.what == call::kind::status && !c.ec) {
            look_for(c.name);
            judge_status(c);
        } else if (c.what == call::kind::extend && !c.ec) {
            judge_extension(c);
        } else if (c.what == call::kind::unlock && c.ec) {
            judge_unlock(c);
        }
    }

private:
    void look_for(std::size_t name) {
        for (std::size_t i = 0; i < all_.how().places(); ++i) {
            if (all_.locks().taken(name, i)) {
                there_at_[name] = all_.the_world().now();
            }
        }
    }

    /// Anything of this name was forgotten, or taken away.
    bool disturbed(std::size_t name, instant since) {
        bool any = false;
        for (std::size_t i = 0; i < all_.how().places(); ++i) {
            any = any || disturbed_at(i, name, since);
        }
        return any;
    }
    bool disturbed_at(std::size_t place, std::size_t name, instant since) {
        return all_.forced(name, since) || all_.others().last_taken(name) >= since ||
               all_.forgot(place, name, since);
    }

    void judge_status(const call& c) {
        // It may have come and gone between two turns.
        if (c.status.locked && c.asked_at >= all_.settled_at() && there_at_[c.name] < c.asked_at &&
            !disturbed(c.name, c.asked_at)) {
            violate("lock " + std::to_string(c.name) + " is told to be held, and is free");
        }
        for (const held& h : all_.holds()) {
            if (h.at->meets(*c.at) && h.believes() &&
                all_.intact(h, c.asked_at) >= h.at->needed() &&
                !(c.status.locked && tells_of(h, c))) {
                violate("lock " + std::to_string(c.name) + " is told to be " +
                        (c.status.locked ? "held by " + c.status.holder : "free") +
                        ", and another has it");
            }
        }
    }

    // Holders at several servers are named with blanks between.
    bool tells_of(const held& h, const call& c) {
        for (const std::size_t i : h.at->places()) {
            const impl::view_ptr& part = h.part(i);
            const std::string field =
                part ? all_.locks().told_as(h.name, i, h.home->field_of(i, *part)) : "?";
            if (field.empty()) {
                return true;
            }
            if ((' ' + c.status.holder + ' ').find(' ' + field + ' ') != std::string::npos) {
                return true;
            }
        }
        return false;
    }

    void judge_extension(const call& c) {
        const auto h = std::find_if(all_.holds().begin(), all_.holds().end(),
                                    [&](const held& one) { return one.view == c.extends; });
        // A member whose client is closed meanwhile does not count any more.
        if (h == all_.holds().end() || h->lost() || h->options.max_hold != forever ||
            h->home->is_closing()) {
            return;
        }
        const time_point asked = h->home->node(0).local(c.asked_at);
        if (h->valid_until() < core::lease_end(asked, c.lease) && !disturbed(h->name, c.asked_at)) {
            violate("an extension is told to be made, and the hold ends before");
        }
        std::size_t extended = 0;
        for (std::size_t i = 0; i < all_.how().places(); ++i) {
            extended += is_extended(*h, i, c) ? 1u : 0u;
        }
        if (extended < h->at->needed()) {
            violate("an extension is told to be made, and is at " + std::to_string(extended) +
                    " servers");
        }
    }

    bool is_extended(const held& h, std::size_t i, const call& c) {
        const impl::view_ptr& part = h.part(i);
        if (!part || part->lost.load() != 0) {
            return disturbed_at(i, h.name, c.asked_at);  // it may have been taken away since
        }
        return all_.may_lack(h, i) || lasts(h, i, *part, c);
    }

    bool lasts(const held& h, std::size_t i, impl::hold_view& part, const call& c) {
        const instant passed = all_.the_world().now() - c.asked_at;
        return all_.locks().has(h.name, i, h.home->field_of(i, part)) &&
               all_.locks().left(h.name, i) + passed + 2 * millis >= c.lease.count();
    }

    void judge_unlock(const call& c) {
        const bool is_over = c.by->home().local_now() + between_strands >= c.until;
        const bool is_late = all_.the_world().now() - c.asked_at + between_strands.count() >=
                             all_.how().settings.operation_timeout.count();
        const bool excused = disturbed(c.name, c.since);
        if ((c.ec == errc::lease_expired && !is_over && !excused) ||
            (c.ec == errc::lock_lost && !excused) ||
            (c.ec == errc::not_connected && !is_late && c.asked_at >= all_.settled_at())) {
            violate("an unlock tells \"" + c.ec.message() + "\", and it is not so");
        }
        if (c.asked_at >= all_.settled_at() && all_.how().answers_in_time() && !is_over &&
            !excused) {
            violate("an unlock fails with \"" + c.ec.message() + "\" for no reason");
        }
    }

    std::vector<instant> there_at_;  // at which server ever, while somebody asked
};

}  // namespace

std::unique_ptr<checker> make_answers(simulation& s) { return std::make_unique<answers>(s); }

}  // namespace conch::sim::majority
