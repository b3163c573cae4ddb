// SPDX-License-Identifier: BSL-1.0
// What a server's keys say of the locks that are kept in them, and what strangers put there.
#include "sim/fake_redis.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace conch::sim {
namespace {

/// "<uuid>:<number>", as clients name themselves: a field of a mutex, the value of a token_mutex.
bool names_an_owner(std::string_view text) noexcept {
    constexpr std::size_t uuid = 36;
    return text.size() > uuid + 1 && text[uuid] == ':' && text[8] == '-' &&
           text.find_first_not_of("0123456789", uuid + 1) == std::string_view::npos;
}

const std::string waiters_prefix = "conch_fair_lease:{";

/// A lock, and who acts on it.
struct claim {
    std::string_view key;
    std::string_view owner;
};

/// Those that a script names: who is to hold it comes first, who did (if anybody) last.
std::vector<claim> owners(arguments keys, arguments args) {
    std::vector<std::string_view> locks;
    std::copy_if(keys.begin(), keys.end(), std::back_inserter(locks),
                 [](std::string_view key) { return !is_fence_key(key); });
    std::vector<claim> all;
    if (locks.empty() || args.size() < locks.size()) {
        return all;
    }
    // Each lock has as many arguments; in front of those of several may be the number of runs.
    const std::size_t width = args.size() / locks.size();
    args = args.subspan(args.size() % locks.size());
    for (std::size_t i = 0; i < locks.size(); ++i) {
        for (const std::size_t at : {width * i, width * (i + 1) - 1}) {
            if ((at == width * i || width > 1) && names_an_owner(args[at])) {
                all.push_back({locks[i], args[at]});
            }
        }
    }
    return all;
}

constexpr std::string_view strangers_field = "whose";
constexpr std::string_view strangers_text = "mine now";

any_value value_of(fake_redis::foreign what) {
    std::string text{strangers_text};
    switch (what) {
        case fake_redis::foreign::text: break;
        case fake_redis::foreign::list: return list_value{std::move(text)};
        case fake_redis::foreign::hash:
            return hash_value{{std::string{strangers_field}, std::move(text)}};
    }
    return text;
}

/// Null if it holds something else, or what a stranger put there.
const hash_value* hash_in(const entry* e) noexcept {
    const auto* h = e ? std::get_if<hash_value>(&e->value) : nullptr;
    return h && !h->empty() && h->front().first == strangers_field ? nullptr : h;
}

/// Null if it holds something else, or a text that names nobody.
const std::string* token_in(const entry* e) noexcept {
    const auto* text = e ? std::get_if<std::string>(&e->value) : nullptr;
    return text && names_an_owner(*text) ? text : nullptr;
}

}  // namespace

bool is_fence_key(std::string_view key) noexcept {
    return key.starts_with("redisson_lock_token:{") || key.starts_with("conch_token_mutex_fence:{");
}

bool is_beside_readers(std::string_view key) noexcept {
    return key.starts_with("conch_rw_writer:{") || key.find(":rwlock_timeout:") != key.npos;
}

std::string timeout_key(std::string_view lock, std::string_view field) {
    return '{' + std::string{lock} + "}:" + std::string{field} + ":rwlock_timeout:1";
}

bool is_of_waiters(std::string_view key) noexcept { return key.starts_with(waiters_prefix); }

void fake_redis::put_foreign(std::string_view key, foreign what, std::int64_t now_us) {
    set_now(now_us);
    begin_command();
    home_of(key).set(key, value_of(what), -1);
}

bool fake_redis::is_as_put(std::string_view key, std::int64_t now_us) {
    set_now(now_us);
    const entry* e = home_of(key).find(key);
    return e && e->expires_ms < 0 &&
           (e->value == value_of(foreign::text) || e->value == value_of(foreign::list) ||
            e->value == value_of(foreign::hash));
}

void fake_redis::set_number(std::string_view key, std::int64_t n, std::int64_t now_us) {
    set_now(now_us);
    begin_command();
    home_of(key).set(key, std::to_string(n), -1);
}

void fake_redis::remove_foreign(std::string_view key, std::int64_t now_us) {
    set_now(now_us);
    begin_command();
    if (is_foreign(key, now_us)) {
        home_of(key).erase(key);
    }
}

void fake_redis::remove(std::string_view key, std::int64_t now_us) {
    set_now(now_us);
    begin_command();
    home_of(key).erase(key);
}

bool fake_redis::is_foreign(std::string_view key, std::int64_t now_us) {
    set_now(now_us);
    const entry* e = home_of(key).find(key);
    return e && !hash_in(e) && !token_in(e);
}

bool fake_redis::exists(std::string_view key, std::int64_t now_us) {
    set_now(now_us);
    return home_of(key).find(key) != nullptr;
}

bool fake_redis::is_text(std::string_view key, std::int64_t now_us) {
    set_now(now_us);
    const entry* e = home_of(key).find(key);
    return e && std::holds_alternative<std::string>(e->value);
}

bool fake_redis::has_field(std::string_view key, std::string_view field, std::int64_t now_us) {
    set_now(now_us);
    const entry* e = home_of(key).find(key);
    if (const std::string* token = token_in(e)) {
        return *token == field;
    }
    const hash_value* h = hash_in(e);
    return h && std::any_of(h->begin(), h->end(), [&](const auto& f) { return f.first == field; });
}

std::optional<std::int64_t> fake_redis::depth(std::string_view key, std::string_view field,
                                              std::int64_t now_us) {
    set_now(now_us);
    const hash_value* h = hash_in(home_of(key).find(key));
    if (!h) {
        return std::nullopt;
    }
    const auto it =
        std::find_if(h->begin(), h->end(), [&](const auto& f) { return f.first == field; });
    return it == h->end() ? std::nullopt : to_integer(it->second);
}

std::optional<std::int64_t> fake_redis::number(std::string_view key, std::int64_t now_us) {
    set_now(now_us);
    return number_in(home_of(key).find(key));
}

std::optional<std::int64_t> fake_redis::number_in(const entry* e) {
    const auto* text = e ? std::get_if<std::string>(&e->value) : nullptr;
    return text ? to_integer(*text) : std::nullopt;
}

std::int64_t fake_redis::left(std::string_view key, std::int64_t now_us) {
    set_now(now_us);
    const entry* e = home_of(key).find(key);
    return !e ? -2 : e->expires_ms < 0 ? -1 : e->expires_ms - now_us / 1000;
}

const std::string* fake_redis::holder(std::string_view key, std::int64_t now_us) {
    set_now(now_us);
    const entry* e = home_of(key).find(key);
    const hash_value* h = hash_in(e);
    return h && !h->empty() ? &h->front().first : token_in(e);
}

std::vector<std::string> fake_redis::fields(std::string_view key, std::int64_t now_us) {
    set_now(now_us);
    return fields_in(home_of(key).find(key));
}

std::vector<std::pair<std::string, std::int64_t>> fake_redis::in_line_of(keyspace& data,
                                                                         std::string_view key,
                                                                         std::int64_t now_us) {
    std::vector<std::pair<std::string, std::int64_t>> all;
    if (const hash_value* h = hash_in(data.find(waiters_prefix + std::string{key} + '}'))) {
        for (const auto& [field, wish] : *h) {  // "<lease>:<end>..."
            all.emplace_back(field, std::atoll(wish.c_str() + wish.find(':') + 1) - now_us / 1000);
        }
    }
    return all;
}

std::vector<double> fake_redis::scores(std::string_view key, std::int64_t now_us) {
    set_now(now_us);
    const entry* e = home_of(key).find(key);
    const auto* set = e ? std::get_if<zset_value>(&e->value) : nullptr;
    std::vector<double> all;
    for (std::size_t i = 0; set && i < set->size(); ++i) {
        all.push_back((*set)[i].first);
    }
    return all;
}

std::vector<std::pair<std::string, std::int64_t>> fake_redis::in_line(std::string_view key,
                                                                      std::int64_t now_us) {
    set_now(now_us);
    return in_line_of(home_of(waiters_prefix + std::string{key} + '}'), key, now_us);
}

std::vector<std::pair<std::string, std::int64_t>> fake_redis::in_line_at(fleet::process p,
                                                                         std::string_view key,
                                                                         std::int64_t now_us) {
    set_now(now_us);
    return in_line_of(data_.of(p), key, now_us);
}

std::vector<std::string> fake_redis::line(std::string_view key, std::int64_t now_us) {
    set_now(now_us);
    const std::string own = "redisson_lock_queue:{" + std::string{key} + '}';
    const entry* e = home_of(own).find(own);
    const auto* l = e ? std::get_if<list_value>(&e->value) : nullptr;
    return l ? std::vector<std::string>(l->begin(), l->end()) : std::vector<std::string>{};
}

std::vector<std::pair<std::string, std::int64_t>> fake_redis::line_scores(std::string_view key,
                                                                          std::int64_t now_us) {
    set_now(now_us);
    std::vector<std::pair<std::string, std::int64_t>> all;
    const std::string own = "redisson_lock_timeout:{" + std::string{key} + '}';
    const entry* e = home_of(own).find(own);
    if (const auto* z = e ? std::get_if<zset_value>(&e->value) : nullptr) {
        for (const auto& [score, field] : *z) {
            all.emplace_back(field, static_cast<std::int64_t>(score));
        }
    }
    return all;
}

bool fake_redis::is_read_write(const entry* e) noexcept {
    const hash_value* h = hash_in(e);
    return h && std::any_of(h->begin(), h->end(), [](const auto& f) { return f.first == "mode"; });
}

std::vector<std::string> fake_redis::fields_in(const entry* e) {
    std::vector<std::string> all;
    if (const hash_value* h = hash_in(e)) {
        for (const auto& [field, value] : *h) {
            if (field != "mode") {  // of a read-write lock
                all.push_back(field);
            }
        }
    } else if (const std::string* token = token_in(e)) {
        all.push_back(*token);
    } else if (const auto* set = e ? std::get_if<zset_value>(&e->value) : nullptr) {
        for (const auto& [score, member] : *set) {
            all.push_back(member);
        }
    }
    return all;
}

std::string fake_redis::dump(std::int64_t now_us) {
    set_now(now_us);
    std::string all;
    for (std::size_t shard = 0; shard < fleet_.shards(); ++shard) {
        all += data_.of(fleet_.master(shard)).dump();
    }
    return all;
}

std::size_t fake_redis::subscribers() const noexcept {
    std::size_t n = 0;
    for (const auto& [id, s] : sessions_) {
        n += fleet_.is_sentinel(s.at) ? 0 : s.channels.size() + s.shard_channels.size();
    }
    return n;
}

std::vector<fake_redis::token_state> fake_redis::tokens(arguments keys, arguments args) {
    std::vector<token_state> all;
    for (const auto& [key, owner] : witness_ ? owners(keys, args) : std::vector<claim>{}) {
        const entry* e = data().find(key);
        const std::string* token = token_in(e);
        all.push_back(hash_in(e)                 ? token_state::none
                      : token && *token == owner ? token_state::there
                                                 : token_state::missing);
    }
    return all;
}

void fake_redis::compare_tokens(const session& by, const std::vector<token_state>& before,
                                arguments keys, arguments args) {
    const std::vector<token_state> after = tokens(keys, args);
    const std::vector<claim> claims = owners(keys, args);
    for (std::size_t i = 0; i < after.size(); ++i) {
        if (before[i] == token_state::there) {
            saw(by, claims[i].owner,
                after[i] == token_state::there ? field_witness::sight::there
                                               : field_witness::sight::deleted);
        } else if (before[i] == token_state::missing && after[i] == token_state::missing) {
            saw(by, claims[i].owner, field_witness::sight::missing);
        }
    }
}

}  // namespace conch::sim
