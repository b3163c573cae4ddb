// SPDX-License-Identifier: BSL-1.0
// What is a lock, and who has it: keys of one type, each looked at in steps that cost little.
#include "cli/lock_survey.hpp"
#include "cli/lock_waits.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace conch::cli {
namespace {

namespace asio = boost::asio;

/// The server leaves out every field of another shape, and its value.
constexpr const char* fields =
    "????????"
    "-????"
    "-????"
    "-????"
    "-????????????"
    ":*";
/// So many fields are looked at to find one of this shape. Of a hash that is no lock, no more.
constexpr const char* glance = "16";
/// So many holders of a lock are told.
constexpr const char* most_holders = "100";

std::int64_t number_in(std::string_view text) noexcept {
    std::int64_t n = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), n);
    return wrong == std::errc{} && end == text.data() + text.size() ? n : 0;
}

std::string in_hexadecimal(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out += digits[byte >> 4];
        out += digits[byte & 15];
    }
    return out;
}

/// A server may tell more milliseconds than a duration has: then it is the longest.
duration from_millis(std::int64_t ms) noexcept {
    using std::chrono::milliseconds;
    constexpr auto most = std::chrono::duration_cast<milliseconds>(duration::max()).count();
    return milliseconds{std::min<std::int64_t>(ms, most)};
}

std::optional<duration> ttl_in(const answer& a) noexcept {
    return a.is_number() && a.reply.number >= 0
               ? std::optional<duration>{from_millis(a.reply.number)}
               : std::nullopt;
}

/// Those of an answer to HSCAN: fields with a depth. (Wishes of those in line have another value.)
std::vector<lock_holder> holders_in(const server_reply& page) {
    std::vector<lock_holder> out;
    const server_reply& pairs = page.at(1);
    for (std::size_t i = 0; i + 1 < pairs.list.size(); i += 2) {
        if (is_lock_field(pairs.at(i).text) && number_in(pairs.at(i + 1).text) > 0) {
            out.push_back({pairs.at(i).text, {}, {}});
        }
    }
    return out;
}

}  // namespace

asio::awaitable<lock_survey::entries> lock_survey::examine_hashes(const names& keys) {
    std::vector<question> looks;
    for (const std::string& key : keys) {
        looks.push_back(about_key({"HSCAN", key, "0", "MATCH", fields, "COUNT", glance}));
    }
    const std::vector<answer> shapes = co_await ask(std::move(looks));
    entries found;
    std::vector<question> more;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        lock_entry e;
        e.name = keys[i];
        e.holders = holders_in(shapes[i].reply);
        if (e.holders.empty()) {
            continue;
        }
        e.depth = static_cast<std::uint64_t>(
            std::max<std::int64_t>(number_in(shapes[i].reply.at(1).at(1).text), 0));
        more.push_back(about_key({"HLEN", e.name}));
        more.push_back(about_key({"HGET", e.name, "mode"}));
        more.push_back(about_key({"PTTL", e.name}));
        more.push_back(about_key({"GET", derived_key("redisson_lock_token", e.name)}));
        more.push_back(about_key({"LLEN", derived_key("redisson_lock_queue", e.name)}));
        found.push_back(std::move(e));
    }
    const std::vector<answer> told = co_await ask(std::move(more));
    entries locks;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const answer* const a = &told[5 * i];
        lock_entry& e = found[i];
        const std::int64_t length = a[0].is_number() ? a[0].reply.number : 0;
        const std::string mode = a[1].is_text() ? a[1].reply.text : "";
        const bool shared = mode == "read" || mode == "write";
        if (length < (shared ? 2 : 1) || (!shared && length > 1)) {
            continue;  // released meanwhile, or a stranger's
        }
        e.held_by = static_cast<std::uint64_t>(length - (shared ? 1 : 0));
        e.ttl = ttl_in(a[2]);
        e.hides_end = !a[2].is_number();
        const std::int64_t in_line = a[4].is_number() ? a[4].reply.number : 0;
        e.kind = mode == "read"    ? entry_kind::reading
                 : mode == "write" ? entry_kind::writing
                 : in_line > 0     ? entry_kind::fair
                                   : entry_kind::mutex;
        if (!shared) {
            e.fence = static_cast<std::uint64_t>(
                std::max<std::int64_t>(a[3].is_text() ? number_in(a[3].reply.text) : 0, 0));
        }
        if (e.kind == entry_kind::fair) {
            e.waiting = static_cast<std::uint64_t>(in_line);
        }
        locks.push_back(std::move(e));
    }
    co_await name_readers(locks);
    co_return locks;
}

// The glance may have missed some.
asio::awaitable<void> lock_survey::name_readers(entries& found) {
    std::vector<question> questions;
    std::vector<lock_entry*> of;
    for (lock_entry& e : found) {
        if (e.held_by > e.holders.size()) {
            questions.push_back(
                about_key({"HSCAN", e.name, "0", "MATCH", fields, "COUNT", most_holders}));
            of.push_back(&e);
        }
    }
    const std::vector<answer> answers = co_await ask(std::move(questions));
    for (std::size_t i = 0; i < of.size(); ++i) {
        std::vector<lock_holder> readers = holders_in(answers[i].reply);
        if (readers.size() > of[i]->holders.size()) {
            of[i]->holders = std::move(readers);
        }
    }
}

asio::awaitable<lock_survey::entries> lock_survey::examine_permits(const names& keys) {
    const std::string now = std::to_string(now_us_ / 1000);
    std::vector<question> looks;
    for (const std::string& key : keys) {
        looks.push_back(about_key({"ZRANGE", key, "0", "0"}));
    }
    const std::vector<answer> shapes = co_await ask(std::move(looks));
    names semaphores;
    std::vector<question> more;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        constexpr std::size_t id_size = 16;
        if (shapes[i].ec || shapes[i].reply.at(0).text.size() != id_size) {
            continue;
        }
        more.push_back(about_key({"ZRANGEBYSCORE", keys[i], '(' + now, "+inf", "WITHSCORES",
                                  "LIMIT", "0", most_holders}));
        more.push_back(about_key({"ZCOUNT", keys[i], '(' + now, "+inf"}));
        more.push_back(about_key({"ZCOUNT", keys[i], "-inf", now}));
        more.push_back(about_key({"GET", semaphore_of(keys[i])}));
        semaphores.push_back(semaphore_of(keys[i]));
    }
    const std::vector<answer> told = co_await ask(std::move(more));
    entries found;
    for (std::size_t i = 0; i < semaphores.size(); ++i) {
        const answer* const a = &told[4 * i];
        const server_reply& out = a[0].reply;
        if (a[0].ec || !a[1].is_number() || out.list.empty()) {
            continue;
        }
        lock_entry e;
        e.name = semaphores[i];
        e.kind = entry_kind::semaphore;
        e.held_by = static_cast<std::uint64_t>(a[1].reply.number);
        e.depth = 1;
        // RESP3 has the scores as numbers, each in a pair with its permit.
        for (const server_reply& pair : out.list) {
            e.holders.push_back({in_hexadecimal(pair.at(0).text), {}, {}});
        }
        constexpr double never = 9.2e14;
        const double ends = std::strtod(out.at(0).at(1).text.c_str(), nullptr);
        if (ends < never) {
            e.ttl = from_millis(
                std::max<std::int64_t>(static_cast<std::int64_t>(ends) - now_us_ / 1000, 0));
        }
        if (a[3].is_text()) {
            e.permits = number_in(a[3].reply.text) + a[1].reply.number +
                        (a[2].is_number() ? a[2].reply.number : 0);
        }
        found.push_back(std::move(e));
    }
    co_return found;
}

asio::awaitable<lock_survey::entries> lock_survey::examine_strings(const names& keys) {
    std::vector<question> looks;
    for (const std::string& key : keys) {
        looks.push_back(about_key({"STRLEN", key}));
    }
    const std::vector<answer> lengths = co_await ask(std::move(looks));
    names short_ones;
    std::vector<question> more;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        constexpr std::int64_t longest = 128;
        if (!lengths[i].is_number() || lengths[i].reply.number > longest) {
            continue;
        }
        more.push_back(about_key({"GET", keys[i]}));
        more.push_back(about_key({"PTTL", keys[i]}));
        more.push_back(about_key({"GET", derived_key("conch_token_mutex_fence", keys[i])}));
        short_ones.push_back(keys[i]);
    }
    const std::vector<answer> told = co_await ask(std::move(more));
    entries found;
    for (std::size_t i = 0; i < short_ones.size(); ++i) {
        const answer* const a = &told[3 * i];
        const std::string& value = a[0].reply.text;
        const bool ends = a[1].is_number() && a[1].reply.number >= 0;
        const auto kind = a[0].is_text() ? kind_of_string(value, ends) : std::nullopt;
        const bool hides_end = !a[1].is_number();
        if (!kind || (hides_end && *kind == entry_kind::counter)) {  // it may be a rate limit
            continue;
        }
        lock_entry e;
        e.name = short_ones[i];
        e.kind = *kind;
        e.ttl = ttl_in(a[1]);
        e.hides_end = hides_end;
        if (*kind == entry_kind::plain) {
            e.holders.push_back({value, {}, {}});
            e.held_by = e.depth = 1;
            e.fence = static_cast<std::uint64_t>(
                std::max<std::int64_t>(a[2].is_text() ? number_in(a[2].reply.text) : 0, 0));
        } else if (*kind == entry_kind::counter) {
            e.permits = number_in(value);
        }
        found.push_back(std::move(e));
    }
    co_return found;
}

asio::awaitable<void> lock_survey::ask_for_line(lock_entry& e) {
    std::vector<question> one;
    one.push_back(about_key({"LRANGE", derived_key("redisson_lock_queue", e.name), "0", "99"}));
    const std::vector<answer> line = co_await ask(std::move(one));
    for (const server_reply& field : line.front().reply.list) {
        e.line.push_back({field.text, {}, {}});
    }
}

// Most clients tell nothing, and this user need not have the right.
asio::awaitable<void> lock_survey::ask_for_waits(entries& found, std::size_t from) {
    std::vector<question> questions;
    std::vector<lock_holder*> of;
    for (std::size_t i = from; i < found.size(); ++i) {
        if (found[i].kind == entry_kind::semaphore) {
            continue;
        }
        for (lock_holder& h : found[i].holders) {
            questions.push_back(
                about_key({"GETRANGE", key_of_waits(found[i].name, h.field), "0", longest_waits}));
            of.push_back(&h);
        }
    }
    const std::vector<answer> answers = co_await ask_all(server_, std::move(questions));
    for (std::size_t i = 0; i < of.size(); ++i) {
        if (answers[i].is_text()) {
            of[i]->waits = waits_in(answers[i].reply.text, now_us_);
        }
    }
}

asio::awaitable<void> lock_survey::follow_waits(lock_entry& e) {
    wait_paths paths{e};
    const std::int64_t now_us = now_us_;
    while (wait_step* const step = paths.next()) {
        co_await look_at_step(*step);
    }
    now_us_ = now_us;  // other masters have other clocks
    e.chain = paths.longest();
}

asio::awaitable<void> lock_survey::look_at_step(wait_step& step) {
    using state = wait_step::state;
    try {
        entries found = co_await find(step.wait.name);
        if (!found.empty()) {
            const bool is_read = found.front().kind == entry_kind::reading;
            step.is = step.wait.reads && is_read ? state::behind_writer : state::held;
            step.holders = std::move(found.front().holders);
        }
    } catch (const system_error&) {
        step.is = state::unknown;
    }
}

}  // namespace conch::cli
