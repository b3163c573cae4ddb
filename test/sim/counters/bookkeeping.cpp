// SPDX-License-Identifier: BSL-1.0
// How many permits there are to be, by what scripts did. It is looked at after each of them.
#include "sim/counters/simulation.hpp"

#include <algorithm>

namespace conch::sim::counters {

void simulation::add_to_total(std::size_t name, std::int64_t permits) {
    tally& t = tallies_[name];
    t.total += permits;
    t.peak = std::max(t.peak, t.total);
}

void simulation::ran(const script_run& r) {
    for (std::size_t name = 0; name < specs_.size(); ++name) {
        if (r.keys.front() == specs_[name]->name()) {
            if (is_latch(name)) {
                note_latch();
            } else if (r.script == "semaphore_change") {
                note_change(name, r);
            } else if (r.script == "semaphore_acquire") {
                note_taken(name, r);
            }
        }
    }
}

// A request that is repeated at one place is answered as before, and changes nothing. Two masters
// may both carry it out.
bool simulation::is_new(const script_run& r, std::int64_t permits, std::int64_t& before) {
    auto& places = requests_[std::string{r.keys[1]}];
    before = places.empty() ? 0 : places.begin()->second;
    return places.emplace(place_of(r.line), permits).second;
}

// Both may have given permits to one caller: those of one of them nobody has, or as many of those
// as the other one gave.
void simulation::take_from_two(std::size_t name, std::int64_t here, std::int64_t there) {
    add_to_total(name, -std::min(here, there));
    tallies_[name].unknown += there > 0 ? std::max(here, there) - std::min(here, there) : 0;
}

void simulation::note_change(std::size_t name, const script_run& r) {
    constexpr std::int64_t done = 1;
    if (r.answer.items.size() != 2 || r.answer.items[0].integer != done) {
        return;
    }
    tally& t = tallies_[name];
    const std::int64_t before = r.answer.items[1].integer;
    const std::int64_t n = to_integer(r.args[4]).value_or(0);
    const bool drains = r.args[3] == "drain";
    std::int64_t there = 0;
    if (!is_new(r, drains ? std::max<std::int64_t>(before, 0) : n, there)) {
        return;
    }
    const bool is_first = r.args[3] == "try_set";
    const unsigned place = place_of(r.line);
    if (is_first && t.set.contains(place) && !may_lose()) {
        violate("setting", "permits are set that were set before");
    }
    if (server_.has(r.line, r.keys.front())) {
        t.set.insert(place);
    }
    if (is_first || r.args[3] == "set") {
        add_to_total(name, n - before);
    } else if (r.args[3] == "add" && (n < 0 || there != 0)) {  // what is released was taken once
        add_to_total(name, n);
        t.owed.owe(lowest(name));
    } else if (drains && before < 0) {  // it is set to zero
        add_to_total(name, -before);
    } else if (drains) {
        take_from_two(name, before, there);
    }
}

void simulation::note_taken(std::size_t name, const script_run& r) {
    const auto granted = static_cast<std::size_t>(std::max<std::int64_t>(r.answer.integer, 0));
    std::int64_t permits = 0;
    for (const std::string_view one : r.args.subspan(2).first(r.args[1] == "mark" ? 0 : granted)) {
        permits += to_integer(one).value_or(0);
    }
    const std::string request{r.keys[1]};
    if (r.args[1] != "take") {
        final_.emplace(request, place_of(r.line));
    }
    std::int64_t there = 0;
    if (permits > 0 && is_new(r, permits, there)) {
        take_from_two(name, permits, there);
        // One master said that no copy takes permits any more, and a late first one does at the
        // other.
        const auto other = final_.find(request);
        const bool elsewhere = other != final_.end() && other->second != place_of(r.line);
        const bool late = r.args[1] == "take" && elsewhere;
        tallies_[name].unknown += there == 0 && late ? permits : 0;
    }
}

// What is left at the other one, too, is there twice.
void simulation::parted(std::size_t shard) {
    const fleet::process beside = server_.redis().processes().replica(shard);
    const unsigned old = place(server_.redis().processes().master(shard));
    for (auto& [key, done] : requests_) {
        const auto known = done.find(old);
        if (known != done.end() && server_.redis().exists_at(beside, key, server_.wall_clock())) {
            done.emplace(place(beside), known->second);
        }
    }
    for (std::size_t name = 0; name < specs_.size(); ++name) {
        if (!is_latch(name) && server_.shard_of(specs_[name]->name()) == shard) {
            add_to_total(name, left_at(beside, name));
            tallies_[name].owed.owe(lowest(name));
            if (server_.redis().exists_at(beside, specs_[name]->name(), server_.wall_clock())) {
                tallies_[name].set.insert(place(beside));
            }
        }
    }
}

// What was not answered, or not well, goes on for half a minute.
bool simulation::may_run_yet(const permit_call& c) const {
    return c.completions == 0 || (c.ec && c.ended_at + 31 * seconds > world_.now());
}

std::int64_t simulation::on_their_way(std::size_t name) const {
    std::int64_t all = 0;
    for (const permit_call& c : calls_) {
        if (c.name == name && may_run_yet(c)) {
            all += c.what == permit_call::kind::drain ? tallies_[name].peak : c.permits;
        }
    }
    return all;
}

void simulation::discards(fleet::process p) {
    for (std::size_t name = 0; name < specs_.size(); ++name) {
        const std::size_t shard = server_.redis().processes().shard_of(p);
        if (server_.shard_of(specs_[name]->name()) != shard) {
            continue;
        } else if (is_latch(name)) {
            count_ = left(name);
            told_ = false;
            opened_at_ = set_at_ = world_.now();
            reissue_tickets(true);
        } else {
            // What was on its way may have been taken there, for a caller who gives up elsewhere.
            tally& t = tallies_[name];
            t.unknown += std::clamp<std::int64_t>(t.total - left_anywhere(name) - taken(name), 0,
                                                  on_their_way(name));
            add_to_total(name, -left_at(p, name));
        }
    }
}

// DEL, of the first that is there.
bool simulation::by_stranger(fault) {
    const std::size_t first = world_.chance.below(specs_.size());
    for (std::size_t i = 0; i < specs_.size(); ++i) {
        const std::size_t name = (first + i) % specs_.size();
        const std::string& key = specs_[name]->name();
        const std::int64_t before = left(name);
        if (!server_.redis().exists(key, server_.wall_clock())) {
            continue;
        }
        server_.redis().remove(key, server_.wall_clock());
        if (is_latch(name)) {
            count_ = 0;
            opened_at_ = world_.now();
            told_ = false;
            reissue_tickets(false);
        } else {
            add_to_total(name, -before);
            tallies_[name].set.erase(place(server_.redis().master_of(key)));
        }
        return true;
    }
    return false;
}

}  // namespace conch::sim::counters
