// SPDX-License-Identifier: BSL-1.0
#include "sim/majority/standing.hpp"

#include "protocol/permits.hpp"
#include "sim/majority/simulation.hpp"

#include <algorithm>
#include <cmath>

namespace conch::sim::majority {
namespace {

constexpr const protocol::lock_protocol* kinds[] = {
    &protocol::mutex_protocol, &protocol::fair_protocol, &protocol::shared_write_protocol,
    &protocol::permits_protocol, &protocol::value_lock_protocol};
constexpr std::uint32_t most_permits = 3;

bool is_of(const impl::spec_ptr& spec, const protocol::lock_protocol& kind) noexcept {
    return &spec->protocol() == &kind;
}

bool is_of_line(const std::string& key) noexcept {
    return key.starts_with("redisson_lock_queue:") || key.starts_with("redisson_lock_timeout:") ||
           key.starts_with("conch_fair_lease:");
}

}  // namespace

standing::standing(simulation& all, std::uint64_t seed) : all_{all} {
    const scenario& how = all.how();
    dice chance{seed};
    for (std::size_t name = 0; name < how.names; ++name) {
        std::vector<impl::spec_ptr>& at = specs_.emplace_back();
        for (std::size_t place = 0; place < how.places(); ++place) {
            const auto& kind = how.mixed ? *kinds[chance.below(std::size(kinds))] : *kinds[0];
            const std::string key =
                "lock:" + std::to_string(name) + (place < how.servers ? "" : ":too");
            const bool limited = &kind == &protocol::permits_protocol;
            const auto permits =
                limited ? 1 + static_cast<std::uint32_t>(chance.below(most_permits)) : 1u;
            at.push_back(impl::lock_spec::make(kind, key, {}, permits));
            if (limited) {
                server_node& s = all.server_of(place);
                s.redis().set_number(key, permits, s.wall_clock());
            }
        }
    }
}

bool standing::is_text(std::size_t name, std::size_t place) const noexcept {
    return is_of(spec(name, place), protocol::value_lock_protocol);
}

bool standing::nameless(std::size_t name, std::size_t place) const noexcept {
    return is_of(spec(name, place), protocol::permits_protocol);
}

std::string standing::told_as(std::size_t name, std::size_t place, const std::string& field) const {
    const bool writes = is_of(spec(name, place), protocol::shared_write_protocol);
    return nameless(name, place) ? "" : writes ? field + ":write" : field;
}

bool standing::taken(std::size_t name, std::size_t place) {
    server_node& s = all_.server_of(place);
    return nameless(name, place) ? left(name, place) > 0
                                 : s.redis().exists(spec(name, place)->name(), s.wall_clock());
}

bool standing::has(std::size_t name, std::size_t place, const std::string& field) {
    return nameless(name, place)
               ? taken(name, place)
               : std::ranges::count(fields(name, place), told_as(name, place, field)) > 0;
}

std::vector<std::string> standing::fields(std::size_t name, std::size_t place) {
    server_node& s = all_.server_of(place);
    return nameless(name, place) ? std::vector<std::string>{}
                                 : s.redis().fields(spec(name, place)->name(), s.wall_clock());
}

instant standing::left(std::size_t name, std::size_t place) {
    server_node& s = all_.server_of(place);
    const auto& key = spec(name, place)->name();
    if (!nameless(name, place)) {
        const std::int64_t left = s.redis().left(key, s.wall_clock());
        return left == -1 ? forever.count() / 2 : left * millis;
    }
    double ends = 0;
    for (const double one : s.redis().scores(protocol::permits_out_key(key), s.wall_clock())) {
        ends = std::max(ends, one);
    }
    return std::max<instant>(std::llround(ends) - s.wall_clock() / 1000, 0) * millis;
}

// Who crashed in line is left there until somebody else comes, and so are permits whose lease is
// over; who would write, a moment.
bool standing::may_stay(std::size_t server, const std::string& key, bool now) {
    const scenario& how = all_.how();
    const bool some_left_theirs = how.has(fault::crash) || how.closing || how.detaching;
    if (is_of_line(key)) {
        return some_left_theirs;
    }
    if (key.starts_with("conch_rw_writer:")) {
        return now;
    }
    for (std::size_t name = 0; name < specs_.size(); ++name) {
        for (std::size_t place = server; place < specs_[name].size(); place += how.servers) {
            const std::string count{spec(name, place)->name()};
            const std::string out = protocol::permits_out_key(count);
            if (nameless(name, place) && (key == count || key == out)) {
                server_node& s = all_.server(server);
                const auto left = s.redis().number(count, s.wall_clock()).value_or(0);
                const std::size_t over = s.redis().scores(out, s.wall_clock()).size();
                return !taken(name, place) &&
                       left + static_cast<std::int64_t>(over) == spec(name, place)->permits() &&
                       (over == 0 || some_left_theirs);
            }
        }
    }
    return false;
}

}  // namespace conch::sim::majority
