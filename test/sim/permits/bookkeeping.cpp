// SPDX-License-Identifier: BSL-1.0
// What is done to the number of permits, by whom it may be.
#include "sim/permits/simulation.hpp"

#include "protocol/permits.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace conch::sim::permits {
namespace {

/// Whose id this begins with: of the client's id the last digit of the first eight, as here no
/// other differs; and the number of the acquisition.
std::pair<std::uint64_t, std::uint64_t> owner_in(std::string_view id) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(id[i]); };
    std::uint64_t number = 0;
    for (std::size_t i = 8; i < 14; ++i) {
        number = number << 8 | byte(i);
    }
    return {byte(3) & 0xfu, number};
}

}  // namespace

std::optional<std::size_t> simulation::name_of_key(std::string_view key) const noexcept {
    for (std::size_t name = 0; name < specs_.size(); ++name) {
        if (specs_[name]->name() == key) {
            return name;
        }
    }
    return std::nullopt;
}

void simulation::ran(const script_run& r) {
    const auto name = name_of_key(r.keys.front());
    if (!name) {
        return;
    }
    const fleet::process p = server_.process_of(r.line);
    std::set<std::string>& out = out_[{*name, place(p)}];
    if (r.script == "semaphore_change") {
        note_change(*name, r);
    } else if (r.script == "permits_release" && r.args[2].empty() && r.answer.integer >= 0) {
        for (const std::string_view id : r.args.subspan(3)) {  // by force
            if (out.contains(std::string{id})) {
                taken_.emplace(owner_in(id), world_.now());
            }
        }
    } else if (r.script == "permits_acquire" && r.answer.what == reply::kind::bulk) {
        taken_.erase(owner_in(r.args[0]));  // or they are there again
    }
    out = ids_out(p, *name);
    judge_conservation(*name);
}

std::set<std::string> simulation::ids_out(fleet::process p, std::size_t name) {
    const std::string key = protocol::permits_out_key(specs_[name]->name());
    std::set<std::string> all;
    for (const auto& h : server_.redis().holders_at(p, key, server_.wall_clock())) {
        all.insert(h.field);
    }
    return all;
}

// DEL of the number of permits, of those that are out, or of both. A number that does not come back
// is one that somebody else sets.
bool simulation::by_stranger(fault) {
    const std::size_t name = world_.chance.below(specs_.size());
    const account a = look(name);
    const bool number = !how_.has(fault::resize) || !world_.chance.once_in(3);
    if (!a.set) {
        return false;
    }
    if (number) {
        server_.redis().remove(specs_[name]->name(), server_.wall_clock());
        book& b = book_of(name);
        if (a.left < 0) {  // all that are out come back, also those that an operator took away
            b.change(world_.now(), b.total() - a.left, 0);
        }
        b.forget();
    }
    if (!number || world_.chance.once_in(2)) {
        const std::string out = protocol::permits_out_key(specs_[name]->name());
        for (const std::string& id : server_.redis().fields(out, server_.wall_clock())) {
            taken_.emplace(owner_in(id), world_.now());
        }
        server_.redis().remove(out, server_.wall_clock());
        if (!number) {
            book& b = book_of(name);
            b.change(world_.now(), b.total() - a.over - a.out, a.left);
        }
    }
    return true;
}

// What the other one lacks it does not know.
void simulation::parted(std::size_t shard) {
    const fleet::process beside = server_.redis().processes().replica(shard);
    const unsigned old = place(server_.redis().processes().master(shard));
    for (const auto& [where, key] : std::set{requests_}) {
        if (where == old && server_.redis().exists_at(beside, key, server_.wall_clock())) {
            requests_.emplace(place(beside), key);
        }
    }
    for (std::size_t name = 0; name < specs_.size(); ++name) {
        if (server_.shard_of(specs_[name]->name()) != shard) {
            continue;
        }
        out_[{name, place(beside)}] = ids_out(beside, name);
        book& b = book_at(beside, name) = book_of(name);
        const account a = look_at(beside, name);
        if (a.set) {
            b.change(world_.now(), a.left + a.over + a.out, a.left);
        } else {
            b.forget();
        }
    }
}

// Who has permits of that one alone is told by its next renewal.
void simulation::discards(fleet::process p) {
    for (std::size_t name = 0; name < specs_.size(); ++name) {
        const std::string out = protocol::permits_out_key(specs_[name]->name());
        if (server_.redis().processes().shard_of(home(name)) !=
            server_.redis().processes().shard_of(p)) {
            continue;
        }
        const auto there = server_.redis().fields(out, server_.wall_clock());
        for (const auto& h : server_.redis().holders_at(p, out, server_.wall_clock())) {
            if (std::find(there.begin(), there.end(), h.field) == there.end()) {
                taken_.emplace(owner_in(h.field), world_.now());
            }
        }
        book_at(p, name).forget();
    }
}

bool simulation::stands_at(const held& h, unsigned place) const {
    if (!how_.has(fault::split_brain)) {
        return true;
    }
    std::string id(16, '\0');
    id[3] = static_cast<char>(h.client);
    for (std::size_t i = 0; i < 6; ++i) {
        id[13 - i] = static_cast<char>(h.number >> (8 * i) & 0xff);
    }
    id[15] = 1;  // all end with the first one
    return server_.standing(specs_[h.name]->name(), id).contains(place);
}

bool simulation::excused(const held& h) const { return taken_.contains({h.client, h.number}); }

// Who renews finds out in less than half of its lease, as no renewal is refused or lost.
void simulation::judge_taken() {
    for (const tenant* const t : tenants_) {
        const held* const h = t->has();
        const auto taken = h ? taken_.find({h->client, h->number}) : taken_.end();
        if (taken == taken_.end() || t->dead() || h->renewed_lease == duration{} ||
            h->view->lost.load() != 0 || how_.is_slow() || !clients_[h->client]->running()) {
            continue;
        }
        const duration lease = h->extended ? how_.longest_lease : h->renewed_lease;
        const instant known = std::max({taken->second, h->granted_at, settled_at_});
        if (world_.now() > known + lease.count() / 2 + how_.promptness()) {
            violate("loss", "permits were taken away, and who had them was not told");
        }
    }
}

// A request that is repeated is answered as before, and changes nothing.
void simulation::note_change(std::size_t name, const script_run& r) {
    constexpr std::int64_t done = 1;
    if (r.answer.items.size() != 2 || r.answer.items[0].integer != done ||
        !requests_.emplace(place_of(r.line), r.keys[1]).second) {
        return;
    }
    const bool apart = how_.has(fault::split_brain);
    const fleet::process p = server_.process_of(r.line);
    book& b = book_at(p, name);
    const account a = apart ? look_at(p, name) : look(name);
    const std::int64_t n = to_integer(r.args[4]).value_or(0);
    if (r.args[3] == "try_set" && b.is_set() && !may_lose()) {
        violate("setting", "permits are set that were set before");
    }
    const bool adds = r.args[3] == "add";
    const std::int64_t before = !adds ? 0 : b.is_set() ? b.total() : a.over + a.out;
    b.change(world_.now(), before + n, a.left);
}

}  // namespace conch::sim::permits
