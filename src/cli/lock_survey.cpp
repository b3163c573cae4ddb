// SPDX-License-Identifier: BSL-1.0
// The way over all keys, and to one.
#include "cli/lock_survey.hpp"

#include "cli/lock_waits.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fnmatch.h>

#include <algorithm>
#include <utility>

namespace conch::cli {
namespace {

namespace asio = boost::asio;

/// Where those listen who wait for it. A counter's key does not tell whether it is a counting
/// semaphore or a latch. Who waits for a rate limit listens nowhere.
std::vector<std::string> channels_of(const lock_entry& e) {
    switch (e.kind) {
        case entry_kind::mutex:
        case entry_kind::fair: return {derived_key("redisson_lock__channel", e.name)};
        case entry_kind::reading:
        case entry_kind::writing: return {derived_key("redisson_rwlock", e.name)};
        case entry_kind::semaphore: return {derived_key("redisson_sc", e.name)};
        case entry_kind::plain: return {derived_key("conch_token_mutex_channel", e.name)};
        case entry_kind::counter:
            return {derived_key("redisson_sc", e.name),
                    "redisson_countdownlatch__channel__{" + e.name + '}'};
        case entry_kind::rate_limit: break;
    }
    return {};
}

std::vector<std::string> texts_in(const server_reply& list) {
    std::vector<std::string> out;
    for (const server_reply& member : list.list) {
        out.push_back(member.text);
    }
    return out;
}

/// A number that is kept beside a lock, not a lock itself.
bool is_beside_a_lock(std::string_view key) noexcept {
    return key.starts_with("conch_done:") || key.starts_with("conch_once:") ||
           key.starts_with("redisson_lock_token:");
}

/// Those whose semaphores' names match.
std::vector<std::string> keys_of_semaphores(const server_reply& list, const std::string& pattern) {
    std::vector<std::string> keys = texts_in(list);
    std::erase_if(keys, [&](const std::string& key) {
        const std::string name = semaphore_of(key);
        return name.empty() || ::fnmatch(pattern.c_str(), name.c_str(), 0) != 0;
    });
    return keys;
}

}  // namespace

asio::awaitable<std::vector<answer>> lock_survey::ask(std::vector<question> all) {
    std::vector<answer> answers = co_await ask_all(server_, std::move(all));
    for (const answer& a : answers) {
        if (a.ec == errc::not_connected || a.ec == errc::client_closed) {
            throw system_error{a.ec};
        }
        forbidden_ += a.ec == errc::permission_denied ? 1 : 0;
    }
    co_return answers;
}

asio::awaitable<answer> lock_survey::ask(question q) {
    std::vector<question> one;
    one.push_back(std::move(q));
    std::vector<answer> answers = co_await ask(std::move(one));
    if (answers.front().ec) {
        throw system_error{answers.front().ec};
    }
    co_return std::move(answers.front());
}

asio::awaitable<std::vector<master>> lock_survey::find_masters() {
    std::vector<master> masters(1);
    if (clustered_) {
        question q{{"CLUSTER", "SLOTS"}, 0};
        const answer a = co_await ask(std::move(q));
        masters = masters_in(a.reply);
    }
    co_return masters;
}

asio::awaitable<std::vector<lock_entry>> lock_survey::list(const survey_terms& terms) {
    entries found;
    const std::vector<master> masters = co_await find_masters();
    for (const master& m : masters) {
        if (terms.plain) {
            co_await scan(m, terms, "string", found);
        } else {
            co_await scan(m, terms, "hash", found);
            co_await scan(m, terms, "zset", found);
        }
    }
    if (terms.plain) {
        std::erase_if(found, [](const lock_entry& e) { return e.kind != entry_kind::plain; });
    }
    if (!found.empty()) {
        co_await learn_places(masters);
        locate(found);
        note_longest_waits(found);
    }
    if (clustered_) {
        const std::vector<master> now = co_await find_masters();
        moved_ = now != masters;
    }
    co_return found;
}

asio::awaitable<void> lock_survey::scan(const master& at, const survey_terms& terms,
                                        const char* type, entries& found) {
    asio::steady_timer timer{co_await asio::this_coro::executor};
    const bool permits = type == std::string_view{"zset"};
    const std::string page = std::to_string(terms.page);
    std::string cursor = "0";
    do {
        question q{{"SCAN", cursor, "MATCH", permits ? "*:timeout" : terms.pattern, "COUNT", page,
                    "TYPE", type},
                   at.hash_slot};
        const answer a = co_await ask(std::move(q));
        cursor = a.reply.at(0).text;
        names keys =
            permits ? keys_of_semaphores(a.reply.at(1), terms.pattern) : texts_in(a.reply.at(1));
        if (!keys.empty()) {
            co_await examine(at, type, std::move(keys), found);
        }
        if (cursor != "0" && terms.pause > duration::zero()) {
            timer.expires_after(terms.pause);
            co_await timer.async_wait(asio::use_awaitable);
        }
    } while (cursor != "0" && !cursor.empty());
}

asio::awaitable<void> lock_survey::examine(const master& at, const char* type, names&& keys,
                                           entries& found) {
    question clock{{"TIME"}, at.hash_slot};
    const answer time = co_await ask(std::move(clock));
    now_us_ = std::strtoll(time.reply.at(0).text.c_str(), nullptr, 10) * 1'000'000 +
              std::strtoll(time.reply.at(1).text.c_str(), nullptr, 10);
    const std::size_t before = found.size();
    entries more;
    if (type == std::string_view{"hash"}) {
        more = co_await examine_hashes(keys);
    } else if (type == std::string_view{"zset"}) {
        more = co_await examine_permits(keys);
    } else {
        more = co_await examine_strings(keys);
    }
    for (lock_entry& e : more) {
        if (seen_.insert(e.name).second) {
            found.push_back(std::move(e));
        }
    }
    co_await count_waiting(at, found, before);
    co_await ask_for_waits(found, before);
}

// One command for all locks of a page. Of a fair lock the line tells it.
asio::awaitable<void> lock_survey::count_waiting(const master& at, entries& found,
                                                 std::size_t from) {
    std::vector<question> questions(1);
    questions[0] = {{"PUBSUB", "NUMSUB"}, at.hash_slot};
    std::vector<lock_entry*> of;
    for (std::size_t i = from; i < found.size(); ++i) {
        for (std::string& channel : channels_of(found[i])) {
            questions[0].command.push_back(std::move(channel));
            of.push_back(&found[i]);
        }
    }
    if (of.empty()) {
        co_return;
    }
    if (clustered_) {
        questions.push_back(questions[0]);
        questions[1].command[1] = "SHARDNUMSUB";
    }
    const std::vector<answer> answers = co_await ask(std::move(questions));
    // Of two answers one alone does not tell that nobody waits.
    const bool is_refused = std::ranges::any_of(
        answers, [](const answer& a) { return a.ec == errc::permission_denied; });
    for (std::size_t i = 0; i < of.size(); ++i) {
        for (const answer& a : answers) {
            const server_reply& n = a.reply.at(2 * i + 1);
            if (!is_refused && !a.ec && n.is_number() && of[i]->kind != entry_kind::fair) {
                of[i]->waiting = of[i]->waiting.value_or(0) + static_cast<std::uint64_t>(n.number);
            }
        }
    }
}

// An answer that is too long breaks the connection: then nobody's place is known.
asio::awaitable<void> lock_survey::learn_places(const std::vector<master>& masters) {
    std::vector<question> questions;
    for (const master& m : masters) {
        questions.push_back({{"CLIENT", "LIST"}, m.hash_slot});
    }
    const std::vector<answer> answers = co_await ask_all(server_, std::move(questions));
    for (const answer& a : answers) {
        knows_clients_ = knows_clients_ && a.is_text();
        places_.add(a.reply.text);
    }
}

void lock_survey::locate(entries& found) const {
    for (lock_entry& e : found) {
        std::vector<std::vector<lock_holder>*> told{&e.holders, &e.line};
        for (wait_step& step : e.chain) {
            told.push_back(&step.holders);
        }
        for (std::vector<lock_holder>* const all : told) {
            for (lock_holder& h : *all) {
                if (const client_place* const p = places_.of(h.field)) {
                    h.place = *p;
                }
            }
        }
        // The fence of a holder that counts otherwise says nothing of the time.
        const bool known = e.holders.size() == 1 && e.holders.front().place;
        e.held = known && e.fence != 0 ? age_of_fence(e.fence, now_us_) : std::nullopt;
    }
}

// A lock that is released between two questions is no stranger's key.
asio::awaitable<lock_survey::entries> lock_survey::find(const std::string& name) {
    constexpr int enough = 3;
    entries found;
    stranger_ = true;
    for (int i = 0; i < enough && found.empty() && stranger_; ++i) {
        found = co_await find_once(name);
    }
    co_return found;
}

asio::awaitable<lock_survey::entries> lock_survey::find_once(const std::string& name) {
    seen_.clear();
    std::vector<question> questions;
    questions.push_back(about_key({"TYPE", name}));
    questions.push_back(about_key({"TYPE", key_of_permits_out(name)}));
    const std::vector<answer> types = co_await ask(std::move(questions));
    if (types[0].ec) {
        throw system_error{types[0].ec};
    }
    const master at{{}, inspector::hash_slot_of(name), {}};
    const std::string& type = types[0].reply.text;
    const std::size_t forbidden = forbidden_;
    entries found;
    names key{name};
    if (type == "hash" || (type == "string" && !is_beside_a_lock(name))) {
        co_await examine(at, type == "hash" ? "hash" : "string", std::move(key), found);
    } else if (type == "zset") {
        question q = about_key({"ZRANGE", name, "0", "0"});
        const answer first = co_await ask(std::move(q));
        if (first.reply.list.size() == 1 && first.reply.at(0).text.empty()) {  // the log's sum
            found.emplace_back();
            found.back().name = name;
            found.back().kind = entry_kind::rate_limit;
        }
    }
    if (types[1].reply.text == "zset" && (type == "string" || type == "none")) {
        entries semaphore;
        seen_.clear();
        names out{key_of_permits_out(name)};
        co_await examine(at, "zset", std::move(out), semaphore);
        if (!semaphore.empty()) {
            found = std::move(semaphore);
        }
    }
    if (found.empty() && forbidden_ != forbidden) {
        throw system_error{make_error_code(errc::permission_denied)};
    }
    stranger_ = found.empty() && type != "none";
    co_return found;
}

asio::awaitable<std::optional<lock_entry>> lock_survey::look_at(const std::string& name) {
    entries found = co_await find(name);
    if (found.empty()) {
        co_return std::nullopt;
    }
    if (found.front().kind == entry_kind::fair) {
        co_await ask_for_line(found.front());
    }
    co_await follow_waits(found.front());
    const std::vector<master> here{{{}, inspector::hash_slot_of(name), {}}};
    co_await learn_places(here);
    if (clustered_) {
        std::vector<master> others;
        for (const wait_step& step : found.front().chain) {
            others.push_back({{}, inspector::hash_slot_of(step.wait.name), {}});
        }
        const bool knows_clients = knows_clients_;
        co_await learn_places(others);
        knows_clients_ = knows_clients;
    }
    locate(found);
    co_return std::move(found.front());
}

}  // namespace conch::cli
