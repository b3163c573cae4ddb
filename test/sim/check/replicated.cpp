// SPDX-License-Identifier: BSL-1.0
// A lock that wants replicas is granted only if enough of them have acknowledged it, on the line on
// which it was taken, after that.
#include "sim/simulation.hpp"

#include <map>
#include <set>
#include <string>

namespace conch::sim {
namespace {

class replicated final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "replicated"; }

    // SET NX is no script: such a lock isn't asked for here.
    void ran(const script_run& r) override {
        const auto lock = all_.name_in(r);
        const bool took = r.is("acquire") && r.answer.what == reply::kind::bulk;
        if (lock && took && all_.spec(*lock)->replicas()) {
            waiting_[r.line].emplace(r.args.front());
        }
    }

    void acknowledged(std::uint64_t line, std::int64_t replicas) override {
        if (replicas >= all_.how().replicas.at_least) {
            acknowledged_.merge(waiting_[line]);
        }
        waiting_[line].clear();
    }

    void granted(const held& h) override {
        const std::string field = all_.field_of(h);
        if (all_.spec(h.name)->replicas() && !acknowledged_.contains(field)) {
            violate("user " + std::to_string(h.user) + " is granted lock " +
                    std::to_string(h.name) + ", which no replica has");
        }
    }

private:
    std::map<std::uint64_t, std::set<std::string>> waiting_{};  // fields, by line
    std::set<std::string> acknowledged_{};
};

}  // namespace

std::unique_ptr<checker> make_replicated(simulation& s) { return std::make_unique<replicated>(s); }

}  // namespace conch::sim
