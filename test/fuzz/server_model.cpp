// SPDX-License-Identifier: BSL-1.0
#include "fuzz/server_model.hpp"

#include "fuzz/fuzz_check.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>

namespace conch::fuzz {
namespace {

using std::chrono::milliseconds;

std::int64_t number_in(std::string_view text) {
    std::int64_t n = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
    FUZZ_CHECK(bad == std::errc{} && end == text.data() + text.size());
    return n;
}

/// Takes `X<number>CRLF` from the front.
std::size_t take_size(std::string_view& bytes, char type) {
    FUZZ_CHECK(!bytes.empty() && bytes.front() == type);
    const std::size_t end = bytes.find("\r\n");
    FUZZ_CHECK(end != std::string_view::npos);
    const std::int64_t n = number_in(bytes.substr(1, end - 1));
    FUZZ_CHECK(n >= 0);
    bytes.remove_prefix(end + 2);
    return static_cast<std::size_t>(n);
}

std::int64_t time_left(const server_model::key& k, time_point now) {
    return std::chrono::ceil<milliseconds>(k.expires - now).count();
}

void raise(server_model::key& k, std::int64_t lease_ms, time_point now) {
    k.expires = std::max(k.expires, now + milliseconds{lease_ms});
}

}  // namespace

std::string bulk(std::string_view s) {
    return "$" + std::to_string(s.size()) + "\r\n" + std::string{s} + "\r\n";
}

std::string integer(std::int64_t n) { return ":" + std::to_string(n) + "\r\n"; }

std::string push(std::string_view what, std::string_view channel, const std::string& third) {
    return ">3\r\n" + bulk(what) + bulk(channel) + third;
}

std::vector<words> cut_commands(std::string_view bytes) {
    std::vector<words> out;
    while (!bytes.empty()) {
        words command(take_size(bytes, '*'));
        FUZZ_CHECK(!command.empty());
        for (std::string& word : command) {
            const std::size_t size = take_size(bytes, '$');
            FUZZ_CHECK(bytes.size() >= size + 2 && bytes.substr(size, 2) == "\r\n");
            word = bytes.substr(0, size);
            bytes.remove_prefix(size + 2);
        }
        out.push_back(std::move(command));
    }
    return out;
}

std::optional<wire::script_id> script_of(const words& command) {
    if (command[0] != "EVAL" && command[0] != "EVALSHA") {
        return std::nullopt;
    }
    FUZZ_CHECK(command.size() >= 3);
    for (std::size_t i = 0; i < wire::script_count; ++i) {
        const auto id = static_cast<wire::script_id>(i);
        const wire::script& s = wire::get_script(id);
        if (command[1] == (command[0] == "EVAL" ? s.body : s.sha1)) {
            return id;
        }
    }
    failed("an unknown script", __FILE__, __LINE__);
}

namespace {

void append(words& to, const words& from, std::size_t first, std::size_t count) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
    to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

std::vector<words> runs_of(const words& command) {
    const wire::script_id many = *script_of(command);
    const wire::script_id one = many == wire::script_id::acquire_many   ? wire::script_id::acquire
                                : many == wire::script_id::release_many ? wire::script_id::release
                                : many == wire::script_id::value_acquire_many
                                    ? wire::script_id::value_acquire
                                    : wire::script_id::value_release;
    const auto keys = static_cast<std::size_t>(number_in(command.at(2)));
    const auto count = static_cast<std::size_t>(number_in(command.at(3 + keys)));
    const std::size_t all_args = command.size() - 4 - keys;
    FUZZ_CHECK(count > 1 && keys % count == 0 && all_args % count == 0);
    std::vector<words> runs;
    for (std::size_t i = 0; i < count; ++i) {
        words& run = runs.emplace_back(words{"EVALSHA", std::string{wire::get_script(one).sha1},
                                             std::to_string(keys / count)});
        append(run, command, 3 + i * (keys / count), keys / count);
        append(run, command, 4 + keys + i * (all_args / count), all_args / count);
    }
    return runs;
}

server_model::key* server_model::find(const std::string& name, time_point now) {
    const auto it = keys_.find(name);
    if (it == keys_.end()) {
        return nullptr;
    }
    if (it->second.expires <= now) {
        keys_.erase(it);
        return nullptr;
    }
    return &it->second;
}

void server_model::take(const std::string& name, const std::string& field, time_point expires) {
    keys_[name] = {.field = field, .depth = 1, .expires = expires};
}

std::int64_t server_model::publish(const std::string& channel) {
    if (!subscriber || !subscriber->channels.contains(channel)) {
        return 0;
    }
    subscriber->answers.push_back(push("message", channel, bulk("0")));
    return 1;
}

void server_model::restart(bool with_data) {
    if (!with_data) {
        keys_.clear();
        tokens_.clear();
        permits_.clear();
    }
    loaded_ = {};
    ++process_;
    last_id_ = 0;
}

// What is taken anew is known to no replica.
void server_model::written(const std::string& field, bool anew) {
    if (anew) {
        acknowledged.erase(field);
    }
    by_->unacknowledged.push_back(field);
}

std::string server_model::run(const words& command, session& by, time_point now) {
    by_ = &by;
    if (const auto id = script_of(command)) {
        bool& known = loaded_[static_cast<std::size_t>(*id)];
        if (command[0] == "EVALSHA" && !known) {
            return "-NOSCRIPT No matching script.\r\n";
        }
        known = true;
        return call(*id, command, now);
    }
    const std::string& what = command[0];
    if (what == "HELLO") {
        by.id = ++last_id_;
        return "%3\r\n" + bulk("server") + bulk("redis") + bulk("proto") + integer(3) + bulk("id") +
               integer(by.id);
    }
    if (what == "SELECT") {
        return "+OK\r\n";
    }
    if (what == "INFO") {
        const std::string id = std::to_string(process_);
        return command.size() > 1 && command[1] == "replication"
                   ? bulk("# Replication\r\nrole:master\r\nmaster_replid:" + id + "\r\n")
                   : bulk("# Server\r\nrun_id:" + id + "\r\nport:1\r\n");
    }
    if (what == "SCRIPT") {
        for (std::size_t i = 0; i < wire::script_count; ++i) {
            const wire::script& s = wire::get_script(static_cast<wire::script_id>(i));
            loaded_[i] = loaded_[i] || s.body == command.at(2);
        }
        return bulk("sha1");
    }
    if (what == "SUBSCRIBE" || what == "UNSUBSCRIBE") {
        const std::string& channel = command.at(1);
        const bool begins = what == "SUBSCRIBE";
        begins ? void(by.channels.insert(channel)) : void(by.channels.erase(channel));
        return push(begins ? "subscribe" : "unsubscribe", channel, integer(0));
    }
    if (what == "SET") {
        FUZZ_CHECK(command.size() == 6 && command[3] == "NX" && command[4] == "PX");
        if (find(command[1], now)) {
            return "_\r\n";
        }
        take(command[1], command[2], now);
        raise(keys_[command[1]], number_in(command[5]), now);
        written(command[2], true);
        return "+OK\r\n";
    }
    if (what == "WAIT") {
        FUZZ_CHECK(command.size() == 3 && command[1] == "1");
        if (replicas > 0) {
            acknowledged.insert(by.unacknowledged.begin(), by.unacknowledged.end());
            by.unacknowledged.clear();
        }
        return integer(replicas);
    }
    if (what == "PUBSUB") {
        return "*2\r\n" + bulk(command.at(2)) + integer(1);
    }
    if (what == "CLIENT" && command.at(1) == "LIST") {
        return bulk("id=1 addr=10.0.0.1:1 name=conch:host:1:00000000 age=1\n");
    }
    if (what == "CLIENT") {
        killed.push_back(number_in(command.at(3)));
        return integer(1);
    }
    FUZZ_CHECK(what == "PING");
    return "+PONG\r\n";
}

std::string server_model::call(wire::script_id id, const words& command, time_point now) {
    const auto keys = static_cast<std::size_t>(number_in(command[2]));
    const words rest{command.begin() + 3, command.end()};
    FUZZ_CHECK(rest.size() >= keys);
    switch (id) {
        case wire::script_id::value_acquire_many:
        case wire::script_id::acquire_many:
        case wire::script_id::value_release_many:
        case wire::script_id::release_many: return each(command, now);
        case wire::script_id::value_acquire:
        case wire::script_id::acquire: return acquire(rest, keys, now);
        case wire::script_id::value_release:
        case wire::script_id::release: return release(rest, now);
        case wire::script_id::value_renew:
        case wire::script_id::renew: return renew(rest, keys, now);
        case wire::script_id::value_nest:
        case wire::script_id::nest: return nest(rest, now);
        case wire::script_id::value_status:
        case wire::script_id::status: return status(rest, now);
        case wire::script_id::rate_window:
        case wire::script_id::rate_log: return count(rest, now);
        case wire::script_id::rate_gcra: FUZZ_CHECK(!"nobody paces here");
        case wire::script_id::shared_read:
        case wire::script_id::shared_write:
        case wire::script_id::shared_release:
        case wire::script_id::shared_downgrade:
        case wire::script_id::shared_renew:
        case wire::script_id::shared_status: FUZZ_CHECK(!"nobody reads here");
        case wire::script_id::semaphore_acquire:
        case wire::script_id::semaphore_change: FUZZ_CHECK(!"nobody counts here");
        case wire::script_id::fair_acquire:
        case wire::script_id::fair_release: FUZZ_CHECK(!"nobody stands in line here");
        case wire::script_id::permits_acquire:
        case wire::script_id::permits_release:
        case wire::script_id::permits_renew:
        case wire::script_id::permits_status: FUZZ_CHECK(!"nobody takes permits here");
        case wire::script_id::once: FUZZ_CHECK(!"nobody plans here");
    }
    return {};
}

std::string server_model::each(const words& command, time_point now) {
    std::string replies;
    const std::vector<words> all = runs_of(command);
    for (const words& run : all) {
        replies += call(*script_of(run), run, now);
    }
    return "*" + std::to_string(all.size()) + "\r\n" + replies;
}

// As the log of permits does it, for both kinds of limit.
std::string server_model::count(const words& w, time_point now) {
    FUZZ_CHECK(w.size() > 3);
    const std::int64_t limit = number_in(w[1]);
    const duration window = std::chrono::milliseconds{number_in(w[2])};
    auto& log = permits_[w[0]];
    while (!log.empty() && log.front().first + window <= now) {
        log.pop_front();
    }
    std::int64_t used = 0;
    for (const auto& [at, permits] : log) {
        used += permits;
    }
    std::size_t granted = 0;
    for (; granted < w.size() - 3 && used + number_in(w[3 + granted]) <= limit; ++granted) {
        used += number_in(w[3 + granted]);
        log.emplace_back(now, number_in(w[3 + granted]));
    }
    requests_granted += granted;
    const auto left = [&](time_point at) {
        return (at + window - now) / std::chrono::milliseconds{1} + 1;
    };
    const bool refused = granted < w.size() - 3;
    return "*4\r\n" + integer(static_cast<std::int64_t>(granted)) + integer(used) +
           integer(refused && !log.empty() ? left(log.front().first) : 0) +
           integer(log.empty() ? 0 : left(log.back().first));
}

std::string server_model::token(const std::string& name, bool repeated, time_point now) {
    if (name.empty()) {
        return {};
    }
    std::uint64_t& last = tokens_[name];
    if (!repeated || last == 0) {
        const auto micros = std::chrono::floor<std::chrono::microseconds>(now.time_since_epoch());
        last = std::max(last + 1, static_cast<std::uint64_t>(micros.count()));
    }
    return std::to_string(last);
}

std::string server_model::acquire(const words& w, std::size_t keys, time_point now) {
    FUZZ_CHECK(w.size() == keys + 3);
    const std::string& field = w[keys];
    key* k = find(w[0], now);
    if (k && k->field != field) {
        return integer(time_left(*k, now));
    }
    const std::string fence = keys > 1 ? token(w[1], k != nullptr, now) : std::string{};
    written(field, k == nullptr);
    if (!k) {
        take(w[0], field, now);
        k = &keys_[w[0]];
    }
    raise(*k, number_in(w[keys + 1]), now);
    return bulk(fence);
}

std::string server_model::release(const words& w, time_point now) {
    FUZZ_CHECK(w.size() == 3);
    const key* k = find(w[0], now);
    if (!k || k->field != w[1]) {
        return integer(-1);
    }
    erase(w[0]);
    return integer(publish(w[2]));
}

std::string server_model::renew(const words& w, std::size_t keys, time_point now) {
    FUZZ_CHECK(w.size() == 3 * keys);
    std::string out = "*" + std::to_string(keys) + "\r\n";
    for (std::size_t i = 0; i < keys; ++i) {
        key* k = find(w[i], now);
        if (!k || k->field != w[keys + 2 * i]) {
            missed.push_back(w[keys + 2 * i]);
            out += integer(0);
            continue;
        }
        const std::int64_t lease = number_in(w[keys + 2 * i + 1]);
        if (lease < 0) {
            k->expires = std::min(k->expires, now - milliseconds{lease});
        } else {
            raise(*k, lease, now);
        }
        const std::int64_t left = time_left(*k, now);
        out += integer(left > std::abs(lease) ? left : 1);
    }
    return out;
}

std::string server_model::nest(const words& w, time_point now) {
    FUZZ_CHECK(w.size() == 4);
    key* k = find(w[0], now);
    if (!k || k->field != w[1]) {
        missed.push_back(w[1]);
        return integer(0);
    }
    k->depth = number_in(w[2]);
    FUZZ_CHECK(k->depth >= 1);
    raise(*k, number_in(w[3]), now);
    return integer(1);
}

std::string server_model::status(const words& w, time_point now) {
    FUZZ_CHECK(w.size() == 1 || w.size() == 2);
    const key* k = find(w[0], now);
    if (!k) {
        return "*2\r\n" + integer(-2) + bulk("");
    }
    return "*4\r\n" + integer(time_left(*k, now)) + bulk("") + bulk(k->field) +
           bulk(std::to_string(k->depth));
}

}  // namespace conch::fuzz
