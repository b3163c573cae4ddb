// SPDX-License-Identifier: BSL-1.0
// Commands on hashes, lists and sorted sets.
#include "sim/fake_redis.hpp"
#include "sim/redis/command.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace conch::sim {
namespace {

using sight = field_witness::sight;

/// The value of this type to read; null if there is none.
template <typename T>
const T* look(fake_redis& r, std::string_view key, bool* wrong) {
    const entry* e = r.data().find(key);
    const T* v = e ? std::get_if<T>(&e->value) : nullptr;
    *wrong = e && !v;
    return v;
}

template <typename Hash>
auto field_of(Hash& h, std::string_view field) {
    return std::find_if(h.begin(), h.end(), [&](const auto& f) { return f.first == field; });
}

reply hset(fake_redis& r, session&, arguments a) {
    if (a.size() % 2 != 0) {
        return reply::error("ERR wrong number of arguments for 'hset' command");
    }
    bool wrong = false;
    look<hash_value>(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    hash_value& h = *r.data().find_or_make<hash_value>(a[1], &wrong);
    std::int64_t added = 0;
    for (std::size_t i = 2; i < a.size(); i += 2) {
        const auto it = field_of(h, a[i]);
        if (it == h.end()) {
            h.emplace_back(a[i], a[i + 1]);
            ++added;
        } else {
            it->second = a[i + 1];
        }
    }
    return reply::number(added);
}

reply hsetnx(fake_redis& r, session& by, arguments a) {
    bool wrong = false;
    const hash_value* h = look<hash_value>(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    if (h && field_of(*h, a[2]) != h->end()) {
        return reply::number(0);
    }
    return hset(r, by, a);
}

reply hget(fake_redis& r, session&, arguments a) {
    bool wrong = false;
    const hash_value* h = look<hash_value>(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    if (!h) {
        return reply::nil();
    }
    const auto it = field_of(*h, a[2]);
    return it == h->end() ? reply::nil() : reply::bulk(it->second);
}

reply hexists(fake_redis& r, session& by, arguments a) {
    bool wrong = false;
    const hash_value* h = look<hash_value>(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    const bool there = h && field_of(*h, a[2]) != h->end();
    r.saw(by, a[2], there ? sight::there : sight::missing);
    return reply::number(there ? 1 : 0);
}

reply hlen(fake_redis& r, session&, arguments a) {
    bool wrong = false;
    const hash_value* h = look<hash_value>(r, a[1], &wrong);
    return wrong ? reply::error(wrong_type)
                 : reply::number(h ? static_cast<std::int64_t>(h->size()) : 0);
}

reply hkeys(fake_redis& r, session&, arguments a) {
    bool wrong = false;
    const hash_value* h = look<hash_value>(r, a[1], &wrong);
    reply all{reply::kind::array, 0, {}, {}};
    for (std::size_t i = 0; h && i < h->size(); ++i) {
        all.items.push_back(reply::bulk((*h)[i].first));
    }
    return wrong ? reply::error(wrong_type) : all;
}

reply hgetall(fake_redis& r, session&, arguments a) {
    bool wrong = false;
    const hash_value* h = look<hash_value>(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    reply all{reply::kind::map, 0, {}, {}};
    if (h) {
        for (const auto& [field, value] : *h) {
            all.items.push_back(reply::bulk(field));
            all.items.push_back(reply::bulk(value));
        }
    }
    return all;
}

reply hdel(fake_redis& r, session& by, arguments a) {
    bool wrong = false;
    const hash_value* seen = look<hash_value>(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    const auto has = [&](std::string_view f) { return field_of(*seen, f) != seen->end(); };
    for (const std::string_view field : a.subspan(2)) {
        if (!is_of_waiters(a[1])) {
            r.saw(by, field, seen && has(field) ? sight::deleted : sight::missing);
        }
    }
    if (!seen || std::none_of(a.begin() + 2, a.end(), has)) {
        return reply::number(0);
    }
    hash_value& h = *r.data().find_or_make<hash_value>(a[1], &wrong);
    std::int64_t n = 0;
    for (const std::string_view field : a.subspan(2)) {
        const auto it = field_of(h, field);
        if (it != h.end()) {
            h.erase(it);
            ++n;
        }
    }
    r.data().erase_if_empty(a[1]);
    return reply::number(n);
}

reply hincrby(fake_redis& r, session& by, arguments a) {
    const auto amount = to_integer(a[3]);
    if (!amount) {
        return reply::error(not_an_integer);
    }
    const reply old = hget(r, by, a.first(3));
    if (old.is_error()) {
        return old;
    }
    const auto from =
        old.what == reply::kind::nil ? std::optional<std::int64_t>{0} : to_integer(old.text);
    if (!from) {
        return reply::error("ERR hash value is not an integer");
    }
    std::int64_t sum = 0;
    if (__builtin_add_overflow(*from, *amount, &sum)) {
        return reply::error("ERR increment or decrement would overflow");
    }
    const std::string text = std::to_string(sum);
    const std::string_view words[] = {"hset", a[1], a[2], text};
    hset(r, by, words);
    return reply::number(sum);
}

reply push(fake_redis& r, arguments a, bool left) {
    bool wrong = false;
    look<list_value>(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    list_value& l = *r.data().find_or_make<list_value>(a[1], &wrong);
    for (const std::string_view s : a.subspan(2)) {
        if (left) {
            l.emplace_front(s);
        } else {
            l.emplace_back(s);
        }
    }
    return reply::number(static_cast<std::int64_t>(l.size()));
}

reply lpush(fake_redis& r, session&, arguments a) { return push(r, a, true); }
reply rpush(fake_redis& r, session&, arguments a) { return push(r, a, false); }

reply llen(fake_redis& r, session&, arguments a) {
    bool wrong = false;
    const list_value* l = look<list_value>(r, a[1], &wrong);
    return wrong ? reply::error(wrong_type)
                 : reply::number(l ? static_cast<std::int64_t>(l->size()) : 0);
}

reply lindex(fake_redis& r, session&, arguments a) {
    bool wrong = false;
    const auto at = to_integer(a[2]);
    const list_value* l = look<list_value>(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    if (l && !at) {
        return reply::error(not_an_integer);
    }
    const auto n = static_cast<std::int64_t>(l ? l->size() : 0);
    const std::int64_t i = !at ? 0 : *at < 0 ? *at + n : *at;
    return i < 0 || i >= n ? reply::nil() : reply::bulk((*l)[static_cast<std::size_t>(i)]);
}

/// [first, last) of `n` things, from the two ends that a range command was given.
std::optional<std::pair<std::size_t, std::size_t>> range(std::string_view from, std::string_view to,
                                                         std::size_t n) {
    auto first = to_integer(from);
    auto last = to_integer(to);
    if (!first || !last) {
        return std::nullopt;
    }
    const auto size = static_cast<std::int64_t>(n);
    const std::int64_t begin = std::max<std::int64_t>(*first < 0 ? *first + size : *first, 0);
    const std::int64_t end = std::min<std::int64_t>(*last < 0 ? *last + size : *last, size - 1);
    if (begin > end) {
        return std::pair<std::size_t, std::size_t>{0, 0};
    }
    return std::pair{static_cast<std::size_t>(begin), static_cast<std::size_t>(end) + 1};
}

reply lrange(fake_redis& r, session&, arguments a) {
    bool wrong = false;
    if (!to_integer(a[2]) || !to_integer(a[3])) {
        return reply::error(not_an_integer);
    }
    const list_value* l = look<list_value>(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    reply all = reply::array();
    const auto which = range(a[2], a[3], l ? l->size() : 0);
    for (std::size_t i = which->first; i < which->second; ++i) {
        all.items.push_back(reply::bulk((*l)[i]));
    }
    return all;
}

reply lpop(fake_redis& r, session&, arguments a) {
    bool wrong = false;
    const list_value* seen = look<list_value>(r, a[1], &wrong);
    if (wrong || !seen) {
        return wrong ? reply::error(wrong_type) : reply::nil();
    }
    list_value& l = *r.data().find_or_make<list_value>(a[1], &wrong);
    const reply first = reply::bulk(l.front());
    l.pop_front();
    r.data().erase_if_empty(a[1]);
    return first;
}

reply lrem(fake_redis& r, session&, arguments a) {
    const auto count = to_integer(a[2]);
    if (!count) {
        return reply::error(not_an_integer);
    }
    bool wrong = false;
    const list_value* seen = look<list_value>(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    if (!seen || std::find(seen->begin(), seen->end(), a[3]) == seen->end()) {
        return reply::number(0);
    }
    list_value& l = *r.data().find_or_make<list_value>(a[1], &wrong);
    const std::int64_t most = *count == 0 ? static_cast<std::int64_t>(l.size()) : std::abs(*count);
    std::int64_t n = 0;
    const auto drop = [&](const std::string& s) { return s == a[3] && n < most && ++n > 0; };
    if (*count >= 0) {
        std::erase_if(l, drop);
    } else {
        std::reverse(l.begin(), l.end());
        std::erase_if(l, drop);
        std::reverse(l.begin(), l.end());
    }
    r.data().erase_if_empty(a[1]);
    return reply::number(n);
}

reply lpos(fake_redis& r, session&, arguments a) {
    bool wrong = false;
    const list_value* l = look<list_value>(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    const auto it = l ? std::find(l->begin(), l->end(), a[2]) : list_value::const_iterator{};
    return !l || it == l->end() ? reply::nil() : reply::number(it - l->begin());
}

constexpr unsigned w = command::writes;
constexpr unsigned wg = command::writes | command::grows;
constexpr command commands[] = {
    {"hset", -4, wg, hset},     {"hsetnx", 4, wg, hsetnx},   {"hget", 3, 0, hget},
    {"hexists", 3, 0, hexists}, {"hlen", 2, 0, hlen},        {"hgetall", 2, 0, hgetall},
    {"hdel", -3, w, hdel},      {"hincrby", 4, wg, hincrby}, {"lpush", -3, wg, lpush},
    {"rpush", -3, wg, rpush},   {"llen", 2, 0, llen},        {"lindex", 3, 0, lindex},
    {"hkeys", 2, 0, hkeys},     {"lrange", 4, 0, lrange},    {"lpop", 2, w, lpop},
    {"lrem", 4, w, lrem},       {"lpos", 3, 0, lpos},
};

}  // namespace

std::span<const command> type_commands() noexcept { return commands; }

}  // namespace conch::sim
