// SPDX-License-Identifier: BSL-1.0
// On a new connection each hold of its server is checked before another lock is tried there: what
// a new master lacks, or a server that has forgotten it, is told before anything else is done.
#include "sim/simulation.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace conch::sim {
namespace {

class holds_first final : public checker {
public:
    using checker::checker;
    std::string_view name() const noexcept override { return "holds_first"; }

    void ran(const script_run& r) override {
        if (r.script == "shared_downgrade") {
            either_.emplace(r.line, r.args[1]);
        }
        for (std::size_t i = 0; r.is("renew") && all_.how().read_write && i < r.args.size();
             i += 2) {
            asked_.emplace(r.line, r.args[i]);
            either_.emplace(r.line, r.args[i].substr(0, r.args[i].find(":write")));
        }
        const auto lock = all_.name_in(r);
        // An acquire that hands a lock over goes with the releases.
        if (!lock || !r.is("acquire") || r.takes_over() || has_moved(*lock)) {
            return;
        }
        for (const held& h : all_.holds()) {
            if (h.client == r.client && is_there(h, *lock) && !has_moved(h.name) &&
                older(h, r.line) && !was_looked_for(h, r.line)) {
                violate("client " + std::to_string(r.client) + " tries lock " +
                        std::to_string(*lock) + " before it checks lock " + std::to_string(h.name) +
                        " as " + all_.field_of(h));
            }
        }
    }

private:
    /// A lock goes where its hash slot does, and is looked for there by a connection that is older.
    bool has_moved(std::size_t lock) const {
        return all_.server().has_moved(all_.spec(lock)->name());
    }

    /// A lock that waits for replicas has a connection of its own.
    bool is_there(const held& h, std::size_t lock) const {
        const server_node& server = all_.server();
        return server.shard_of(all_.spec(h.name)->name()) ==
                   server.shard_of(all_.spec(lock)->name()) &&
               !all_.spec(h.name)->replicas() == !all_.spec(lock)->replicas();
    }

    /// Than this connection.
    bool older(const held& h, std::uint64_t line) const {
        return h.owns_lock(all_.clients()[h.client]->local_now()) &&
               h.granted_at < all_.server().opened_at(line);
    }

    bool was_looked_for(const held& h, std::uint64_t line) const {
        const std::string field = all_.field_of(h);
        const auto& seen = all_.server().sightings(field);
        if (all_.may_be_downgraded(h) && either_.contains({line, all_.reader_of(h)})) {
            return true;
        }
        return asked_.contains({line, field}) || all_.server().was_refused(line, field) ||
               std::any_of(seen.rbegin(), seen.rend(),
                           [&](const auto& s) { return s.line == line; });
    }

    // Fields of read-write locks that a line asked about: where something else is, none is seen.
    std::set<std::pair<std::uint64_t, std::string>> asked_{};
    // Holds that a line asked about by the field of a writer or of a reader: by the latter.
    std::set<std::pair<std::uint64_t, std::string>> either_{};
};

}  // namespace

std::unique_ptr<checker> make_holds_first(simulation& s) {
    return std::make_unique<holds_first>(s);
}

}  // namespace conch::sim
