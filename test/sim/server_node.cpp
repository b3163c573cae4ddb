// SPDX-License-Identifier: BSL-1.0
#include "sim/server_node.hpp"

#include "wire/script.hpp"

#include <algorithm>

namespace conch::sim {
namespace {

/// Empty if the library has none of this SHA1.
std::string_view script_named(std::string_view sha) noexcept {
    for (std::size_t id = 0; id < wire::script_count; ++id) {
        const wire::script& s = wire::get_script(static_cast<wire::script_id>(id));
        if (s.sha1 == sha) {
            return s.name;
        }
    }
    return {};
}

}  // namespace

bool server_node::accepts(std::uint64_t line) {
    const machine& m = machines_[process_of(line)];
    feel(m.down ? m.back.by : nullptr);
    return !m.down;
}

void server_node::accepted(std::uint64_t line) {
    const fake_redis::connection c = redis_.connect(process_of(line));
    by_line_[line] = c;
    by_connection_[c] = line;
    opened_[line] = world_.now();
}

void server_node::bytes_arrived(std::uint64_t line, std::string_view bytes) {
    if (machine& m = machines_[process_of(line)]; stalls(process_of(line))) {
        m.unread.emplace_back(line, bytes);
        feel(m.stalled.by);
    } else {
        run(line, bytes);
    }
}

// A server that stalls notices a hang-up only when it goes on: after it has read what came first.
void server_node::hung_up(std::uint64_t line) {
    if (stalls(process_of(line))) {
        machines_[process_of(line)].unread.emplace_back(line, std::string{});
        return;
    }
    const auto it = by_line_.find(line);
    if (it != by_line_.end()) {
        redis_.disconnect(it->second);
        by_connection_.erase(it->second);
        by_line_.erase(it);
        flush();
    }
}

void server_node::run(std::uint64_t line, std::string_view bytes) {
    const auto it = by_line_.find(line);
    if (it != by_line_.end()) {
        world_.show("to the server on", line, bytes);
        const bool over = network_->closed_at(line) >= 0;
        const std::set<std::string> before = over ? all_fields() : std::set<std::string>{};
        redis_.receive(it->second, bytes, wall_clock());
        if (was_split()) {
            note_standings(process_of(line));
        }
        if (over) {
            note_late(line, before);
        }
        keep_late_messages();
        flush();
    }
}

std::set<std::string> server_node::all_fields() {
    std::set<std::string> all;
    for (const std::string& name : names_) {
        const bool shared = redis_.has_field(name, "mode", wall_clock());
        for (std::string& field : redis_.fields(name, wall_clock())) {
            // A reader without its timeout key may as well not be there.
            if (!shared || field.ends_with(":write") ||
                redis_.exists(timeout_key(name, field), wall_clock())) {
                all.insert(std::move(field));
            }
        }
        for (auto& [field, left] : redis_.in_line(name, wall_clock())) {
            if (left > 0) {
                all.insert("in line " + field);
            }
        }
    }
    return all;
}

void server_node::note_late(std::uint64_t line, const std::set<std::string>& before) {
    const instant closed = world_.now() - network_->closed_at(line);
    for (const std::string& name : names_) {
        for (const std::string& field : redis_.fields(name, wall_clock())) {
            // Just set: all of the lease is left. That of a reader is the time of its timeout key.
            const std::string timeout = timeout_key(name, field);
            const bool reads = redis_.exists(timeout, wall_clock());
            const instant lease = redis_.left(reads ? timeout : name, wall_clock()) * millis;
            // The clients' clocks drift.
            if (!before.contains(field) && !before.contains("in line " + field) &&
                closed >= lease * 98 / 100) {
                late_.insert(field);
            }
        }
        for (const auto& [field, left] : redis_.in_line(name, wall_clock())) {
            if (!before.contains("in line " + field) && closed >= left * millis * 98 / 100) {
                late_.insert(field);
            }
        }
    }
}

void server_node::saw(std::int64_t connection, std::string_view field, sight what) {
    const auto line = by_connection_.find(connection);
    if (line == by_connection_.end()) {
        return;
    }
    const fleet::process p = process_of(line->second);
    sightings_[std::string{field}].push_back(
        {world_.now(), network_->client_of(line->second), line->second, what});
    if (what != sight::there && split_) {
        note_left(p, field);
    }
}

void server_node::ran(std::int64_t connection, std::string_view sha, arguments keys, arguments args,
                      const reply& answer) {
    const auto line = by_connection_.find(connection);
    const std::string_view name = script_named(sha);
    if (line == by_connection_.end() || name.empty() || keys.empty()) {
        return;
    }
    constexpr std::string_view many = "_many";
    if (!name.ends_with(many)) {
        tell_run(line->second, name, keys, args, answer);
        return;
    }
    // As the runs that it stands for.
    const std::size_t runs = answer.items.size();
    const std::size_t height = runs == 0 ? 0 : keys.size() / runs;
    const std::size_t width = runs == 0 ? 0 : (args.size() - 1) / runs;
    for (std::size_t i = 0; i < runs; ++i) {
        tell_run(line->second, name.substr(0, name.size() - many.size()),
                 keys.subspan(i * height, height), args.subspan(1 + i * width, width),
                 answer.items[i]);
    }
}

void server_node::tell_run(std::uint64_t line, std::string_view name, arguments keys,
                           arguments args, const reply& answer) {
    const std::string_view owner = args.empty() ? std::string_view{} : args.front();
    const auto refusal = refusals_.find({line, std::string{owner}});
    const script_run r{.script = name,
                       .line = line,
                       .client = network_->client_of(line),
                       .at = world_.now(),
                       .sent_after = refusal != refusals_.end() ? refusal->second : opened_[line],
                       .keys = keys,
                       .args = args,
                       .answer = answer};
    tell_count(r);
    note_renewals(r);
    if (ran_) {
        ran_(r);
    }
}

void server_node::acknowledged(std::int64_t connection, std::int64_t replicas) {
    const auto line = by_connection_.find(connection);
    if (line != by_connection_.end() && acknowledged_) {
        acknowledged_(line->second, replicas);
    }
}

// Of a script the first argument for each key: an acquire's field.
void server_node::refused(std::int64_t connection, arguments command) {
    const auto line = by_connection_.find(connection);
    const auto keys =
        static_cast<std::size_t>(command.size() > 4 ? to_integer(command[2]).value_or(0) : 0);
    if (line == by_connection_.end() || keys == 0 || command.size() < 3 + 2 * keys) {
        return;
    }
    const std::size_t width = (command.size() - 3 - keys) / keys;
    for (std::size_t i = 0; i < keys; ++i) {
        refusals_[{line->second, std::string{command[3 + keys + i * width]}}] = world_.now();
    }
}

void server_node::tell_count(const script_run& r) {
    const auto limit = std::find_if(limits_.begin(), limits_.end(), [&](const limit_terms& l) {
        return r.keys.front() == l.key() && r.args.front() == std::to_string(l.permits());
    });
    if (limit == limits_.end() || r.answer.items.size() != 4) {
        return;
    }
    permit_count c{.limit = static_cast<std::size_t>(limit - limits_.begin()),
                   .at = r.at,
                   .wall_us = wall_clock(),
                   .client = r.client,
                   .granted = static_cast<std::size_t>(r.answer.items[0].integer),
                   .used = static_cast<std::uint64_t>(r.answer.items[1].integer),
                   .retry_ms = r.answer.items[2].integer};
    for (const std::string_view permits : r.args.subspan(r.script == "rate_gcra" ? 3 : 2)) {
        c.asked.push_back(static_cast<std::uint64_t>(to_integer(permits).value_or(0)));
    }
    counted_(c);
}

const std::vector<server_node::sighting>& server_node::sightings(std::string_view field) const {
    static const std::vector<sighting> none;
    const auto it = sightings_.find(field);
    return it == sightings_.end() ? none : it->second;
}

void server_node::flush() {
    for (const fake_redis::connection c : redis_.take_ready()) {
        const auto it = by_connection_.find(c);
        if (it == by_connection_.end()) {
            tell_outsider(c);
            continue;
        }
        const std::uint64_t line = it->second;
        const std::string out = redis_.take_output(c);
        if (!out.empty()) {
            network_->reply(line, out);
        }
        if (redis_.closed(c)) {
            by_connection_.erase(c);
            by_line_.erase(line);
            network_->hang_up(line);
        }
    }
}

void server_node::stall(instant until, effect* e, fleet::process p) {
    machines_[p].stalled.prolong(until, e);
    world_.plan<&server_node::go_on>(machines_[p].stalled.until, this, p);
}

void server_node::go_on(std::uint64_t process, std::uint64_t) {
    machine& m = machines_[process];
    if (stalls(process)) {  // it was prolonged
        feel(m.unread.empty() ? nullptr : m.stalled.by);
        return;
    }
    for (const auto& [line, bytes] : std::exchange(m.unread, {})) {
        if (bytes.empty()) {
            hung_up(line);
        } else {
            run(line, bytes);
        }
    }
}

// Whether that ended a client's connection.
bool server_node::end_process(fleet::process p, bool keep_data, bool heard) {
    machines_[p].unread.clear();
    machines_[p].stalled = {};
    machines_[p].down = true;
    erase_if(by_connection_, [&](const auto& c) { return process_of(c.second) == p; });
    erase_if(by_line_, [&](const auto& l) { return process_of(l.first) == p; });
    std::erase_if(outsiders_, [&](const auto& o) { return o.second.at == p; });
    redis_.restart(keep_data, p);
    const bool is_one_of_many = redis_.processes().processes() > 1;
    return network_->reset_all(heard,
                               is_one_of_many ? std::optional{fleet::port_of(p)} : std::nullopt);
}

void server_node::restart(bool keep_data, bool heard, instant back, effect* e, fleet::process p) {
    const std::set<std::string> lost =
        keep_data ? std::set<std::string>{} : redis_.keys_at(p, wall_clock());
    note_loss(lost);
    machines_[p].back.prolong(back, keep_data ? e : nullptr);
    const bool ends_lines = end_process(p, keep_data, heard);
    feel(!lost.empty() || (keep_data && ends_lines) ? e : nullptr);
    world_.plan<&server_node::come_back>(machines_[p].back.until, this, p);
}

void server_node::fail_over(std::size_t lost_writes, bool heard, instant back, effect* e) {
    lose_last_writes(lost_writes, 0, e);
    restart(true, heard, back);
}

void server_node::lose_last_writes(std::size_t k, std::size_t shard, effect* e) {
    const std::string before = redis_.dump(wall_clock());
    const std::set<std::string> there = all_fields();
    note_loss(redis_.lose_last_writes(k, shard));
    feel(redis_.dump(wall_clock()) != before ? e : nullptr);
    for (const std::string& field : all_fields()) {
        if (!there.contains(field)) {
            brought_back_.insert(field.substr(field.rfind(' ') + 1));
        }
    }
}

void server_node::note_loss(const std::set<std::string>& keys) {
    for (const std::string& key : keys) {
        losses_[key] = world_.now();
    }
}

instant server_node::last_loss(std::string_view key) const {
    const auto it = losses_.find(key);
    return it == losses_.end() ? -1 : it->second;
}

void server_node::step_clock(std::int64_t us, effect* e) {
    feel(us != 0 && redis_.any_expires(wall_clock()) ? e : nullptr);
    step_us_ += us;
    stepped_at_ = world_.now();
    set_forward_at_ = us > 0 ? stepped_at_ : set_forward_at_;
    furthest_step_us_ = std::max(furthest_step_us_, step_us_);
    least_step_us_ = std::min(least_step_us_, step_us_);
}

bool server_node::end_subscriptions(std::string_view channel) {
    for (fleet::process p = 0; p < machines_.size(); ++p) {
        if (stalls(p)) {
            return false;
        }
    }
    const bool any = redis_.end_subscriptions(channel) > 0;
    flush();
    if (any) {
        ended_.insert_or_assign(std::string{channel}, world_.now());
    }
    return any;
}

void server_node::come_back(std::uint64_t process, std::uint64_t) {
    machine& m = machines_[process];
    if (m.back.until <= world_.now() && !m.awaits_heir) {
        m.down = false;
        learn(process);
    }
}

void server_node::heal() {
    redis_.refuse({});
    settle_processes();
    for (fleet::process p = 0; p < machines_.size(); ++p) {
        machines_[p].back = {};
        machines_[p].down = false;
        machines_[p].stalled = {};
        go_on(p, 0);
    }
}

}  // namespace conch::sim
