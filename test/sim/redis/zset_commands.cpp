// SPDX-License-Identifier: BSL-1.0
// Commands on sorted sets.
#include "sim/fake_redis.hpp"
#include "sim/redis/command.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

namespace conch::sim {
namespace {

constexpr const char* not_a_float = "ERR value is not a valid float";

std::optional<double> to_score(std::string_view s) noexcept {
    if (same_word(s, "inf") || same_word(s, "+inf")) {
        return std::numeric_limits<double>::infinity();
    }
    if (same_word(s, "-inf")) {
        return -std::numeric_limits<double>::infinity();
    }
    double d = 0;
    const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), d);
    return ec == std::errc{} && end == s.data() + s.size() ? std::optional{d} : std::nullopt;
}

/// RESP2's text of a score: what scripts see.
std::string text_of(double d) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, d).ptr;
    return {digits, end};
}

const zset_value* look(fake_redis& r, std::string_view key, bool* wrong) {
    const entry* e = r.data().find(key);
    const auto* v = e ? std::get_if<zset_value>(&e->value) : nullptr;
    *wrong = e && !v;
    return v;
}

template <typename Zset>
auto member_of(Zset& z, std::string_view member) {
    return std::find_if(z.begin(), z.end(), [&](const auto& m) { return m.second == member; });
}

reply zadd(fake_redis& r, session&, arguments a) {
    if (a.size() % 2 != 0) {
        return reply::error(syntax_error);
    }
    for (std::size_t i = 2; i < a.size(); i += 2) {
        if (!to_score(a[i])) {
            return reply::error(not_a_float);
        }
    }
    bool wrong = false;
    look(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    zset_value& z = *r.data().find_or_make<zset_value>(a[1], &wrong);
    std::int64_t added = 0;
    for (std::size_t i = 2; i < a.size(); i += 2) {
        const auto it = member_of(z, a[i + 1]);
        if (it == z.end()) {
            z.emplace_back(*to_score(a[i]), a[i + 1]);
            ++added;
        } else {
            it->first = *to_score(a[i]);
        }
        std::sort(z.begin(), z.end());
    }
    return reply::number(added);
}

reply zrem(fake_redis& r, session&, arguments a) {
    bool wrong = false;
    const zset_value* seen = look(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    const auto has = [&](std::string_view m) { return member_of(*seen, m) != seen->end(); };
    if (!seen || std::none_of(a.begin() + 2, a.end(), has)) {
        return reply::number(0);
    }
    zset_value& z = *r.data().find_or_make<zset_value>(a[1], &wrong);
    std::int64_t n = 0;
    for (const std::string_view m : a.subspan(2)) {
        const auto it = member_of(z, m);
        if (it != z.end()) {
            z.erase(it);
            ++n;
        }
    }
    r.data().erase_if_empty(a[1]);
    return reply::number(n);
}

reply zcard(fake_redis& r, session&, arguments a) {
    bool wrong = false;
    const zset_value* z = look(r, a[1], &wrong);
    return wrong ? reply::error(wrong_type)
                 : reply::number(z ? static_cast<std::int64_t>(z->size()) : 0);
}

reply zscore(fake_redis& r, session& by, arguments a) {
    bool wrong = false;
    const zset_value* z = look(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    const auto it = z ? member_of(*z, a[2]) : zset_value::const_iterator{};
    if (!z || it == z->end()) {
        return reply::nil();
    }
    (void)by;
    return {reply::kind::floating, 0, text_of(it->first), {}};
}

reply zincrby(fake_redis& r, session&, arguments a) {
    const auto by = to_score(a[2]);
    if (!by) {
        return reply::error(not_a_float);
    }
    bool wrong = false;
    const zset_value* seen = look(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    const auto old = seen ? member_of(*seen, a[3]) : zset_value::const_iterator{};
    const double sum = *by + (seen && old != seen->end() ? old->first : 0);
    if (std::isnan(sum)) {
        return reply::error("ERR resulting score is not a number (NaN)");
    }
    zset_value& z = *r.data().find_or_make<zset_value>(a[1], &wrong);
    const auto it = member_of(z, a[3]);
    if (it == z.end()) {
        z.emplace_back(sum, a[3]);
    } else {
        it->first = sum;
    }
    std::sort(z.begin(), z.end());
    return {reply::kind::floating, 0, text_of(sum), {}};
}

struct bound {
    double score = 0;
    bool open = false;
};

std::optional<bound> to_bound(std::string_view s) noexcept {
    const bool open = s.starts_with("(");
    const auto score = to_score(open ? s.substr(1) : s);
    return score ? std::optional{bound{*score, open}} : std::nullopt;
}

struct score_range {
    bound low;
    bound high;

    bool has(double d) const noexcept {
        return (low.open ? d > low.score : d >= low.score) &&
               (high.open ? d < high.score : d <= high.score);
    }
};

std::optional<score_range> to_range(std::string_view low, std::string_view high) noexcept {
    const auto from = to_bound(low);
    const auto to = to_bound(high);
    return from && to ? std::optional{score_range{*from, *to}} : std::nullopt;
}

constexpr const char* bad_range = "ERR min or max is not a float";

reply zcount(fake_redis& r, session&, arguments a) {
    const auto which = to_range(a[2], a[3]);
    bool wrong = false;
    if (!which) {
        return reply::error(bad_range);
    }
    const zset_value* z = look(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    return reply::number(
        z ? std::count_if(z->begin(), z->end(), [&](const auto& m) { return which->has(m.first); })
          : 0);
}

/// LIMIT: so many are left out, and so many are told (all, if negative).
struct excerpt {
    std::int64_t offset = 0;
    std::int64_t count = -1;
};

reply read_excerpt(arguments a, excerpt& part) {
    if (a.empty()) {
        return {};
    }
    if (a.size() != 3 || !same_word(a[0], "LIMIT")) {
        return reply::error("ERR syntax error");
    }
    const auto offset = to_integer(a[1]);
    const auto count = to_integer(a[2]);
    if (!offset || !count) {
        return reply::error(not_an_integer);
    }
    part = {*offset, *count};
    return {};
}

reply zrangebyscore(fake_redis& r, session&, arguments a) {
    excerpt part;
    const reply refusal = read_excerpt(a.subspan(4), part);
    if (refusal.is_error()) {
        return refusal;
    }
    const auto which = to_range(a[2], a[3]);
    if (!which) {
        return reply::error(bad_range);
    }
    bool wrong = false;
    const zset_value* z = look(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    reply all = reply::array();
    if (z) {
        for (const auto& [score, member] : *z) {
            if (!which->has(score)) {
                continue;
            }
            if (part.offset == 0 && part.count != 0) {
                --part.count;
                all.items.push_back(reply::bulk(member));
            }
            part.offset -= part.offset > 0 ? 1 : 0;
        }
    }
    return all;
}

reply zremrangebyscore(fake_redis& r, session&, arguments a) {
    const auto which = to_range(a[2], a[3]);
    if (!which) {
        return reply::error(bad_range);
    }
    bool wrong = false;
    const zset_value* seen = look(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    const auto hit = [&](const auto& m) { return which->has(m.first); };
    if (!seen || std::none_of(seen->begin(), seen->end(), hit)) {
        return reply::number(0);
    }
    zset_value& z = *r.data().find_or_make<zset_value>(a[1], &wrong);
    const auto n = static_cast<std::int64_t>(std::erase_if(z, hit));
    r.data().erase_if_empty(a[1]);
    return reply::number(n);
}

reply zrange(fake_redis& r, session&, arguments a) {
    const auto from = to_integer(a[2]);
    const auto to = to_integer(a[3]);
    if (!from || !to) {
        return reply::error(not_an_integer);
    }
    bool wrong = false;
    const zset_value* z = look(r, a[1], &wrong);
    if (wrong) {
        return reply::error(wrong_type);
    }
    reply all = reply::array();
    const auto n = static_cast<std::int64_t>(z ? z->size() : 0);
    const std::int64_t first = std::max<std::int64_t>(*from < 0 ? *from + n : *from, 0);
    const std::int64_t last = std::min<std::int64_t>(*to < 0 ? *to + n : *to, n - 1);
    for (std::int64_t i = first; i <= last; ++i) {
        all.items.push_back(reply::bulk((*z)[static_cast<std::size_t>(i)].second));
    }
    return all;
}

constexpr unsigned w = command::writes;
constexpr command commands[] = {
    {"zadd", -4, command::writes | command::grows, zadd},
    {"zrem", -3, w, zrem},
    {"zcard", 2, 0, zcard},
    {"zincrby", 4, command::writes | command::grows, zincrby},
    {"zscore", 3, 0, zscore},
    {"zcount", 4, 0, zcount},
    {"zrange", 4, 0, zrange},
    {"zrangebyscore", -4, 0, zrangebyscore},
    {"zremrangebyscore", 4, w, zremrangebyscore},
};

}  // namespace

std::span<const command> zset_commands() noexcept { return commands; }

}  // namespace conch::sim
