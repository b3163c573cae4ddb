// SPDX-License-Identifier: BSL-1.0
// Commands on keys of any type, and on strings.
#include "sim/fake_redis.hpp"
#include "sim/redis/command.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

namespace conch::sim {
namespace {

std::int64_t ms_left(const entry& e, std::int64_t now) noexcept {
    return e.expires_ms < 0 ? -1 : std::max<std::int64_t>(e.expires_ms - now, 0);
}

reply del(fake_redis& r, session&, arguments a) {
    std::int64_t n = 0;
    for (const std::string_view key : a.subspan(1)) {
        n += r.data().erase(key) ? 1 : 0;
    }
    return reply::number(n);
}

reply exists(fake_redis& r, session&, arguments a) {
    std::int64_t n = 0;
    for (const std::string_view key : a.subspan(1)) {
        n += r.data().find(key) ? 1 : 0;
    }
    return reply::number(n);
}

reply type(fake_redis& r, session&, arguments a) {
    const entry* e = r.data().find(a[1]);
    return reply::status(e ? type_name(e->value) : "none");
}

reply pttl(fake_redis& r, session&, arguments a) {
    const entry* e = r.data().find(a[1]);
    return reply::number(e ? ms_left(*e, r.data().now_ms()) : -2);
}

reply ttl(fake_redis& r, session&, arguments a) {
    const entry* e = r.data().find(a[1]);
    const std::int64_t ms = e ? ms_left(*e, r.data().now_ms()) : -2;
    return reply::number(ms < 0 ? ms : (ms + 500) / 1000);
}

reply expire_in(fake_redis& r, arguments a, std::int64_t unit) {
    bool nx = false, xx = false, gt = false, lt = false;
    for (const std::string_view word : a.subspan(3)) {
        nx |= same_word(word, "NX");
        xx |= same_word(word, "XX");
        gt |= same_word(word, "GT");
        lt |= same_word(word, "LT");
        if (!same_word(word, "NX") && !same_word(word, "XX") && !same_word(word, "GT") &&
            !same_word(word, "LT")) {
            return reply::error("ERR Unsupported option " + std::string{word});
        }
    }
    if (nx && (xx || gt || lt)) {
        return reply::error("ERR NX and XX, GT or LT options at the same time are not compatible");
    }
    if (gt && lt) {
        return reply::error("ERR GT and LT options at the same time are not compatible");
    }
    const auto amount = to_integer(a[2]);
    if (!amount) {
        return reply::error(not_an_integer);
    }
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    if ((unit > 1 && (*amount > most / unit || *amount < -most / unit)) ||
        *amount * unit > most - r.data().now_ms()) {
        return reply::error("ERR invalid expire time in '" +
                            std::string{unit == 1 ? "pexpire" : "expire"} + "' command");
    }
    entry* e = r.data().find(a[1]);
    if (!e) {
        return reply::number(0);
    }
    const std::int64_t when = r.data().now_ms() + *amount * unit;
    const std::int64_t old = e->expires_ms;
    // A key without deadline lasts for ever: GT never applies, LT always.
    if ((nx && old >= 0) || (xx && old < 0) || (gt && (old < 0 || when <= old)) ||
        (lt && old >= 0 && when >= old)) {
        return reply::number(0);
    }
    if (when <= r.data().now_ms()) {
        r.data().erase(a[1]);
    } else {
        r.data().find_to_write(a[1])->expires_ms = when;
    }
    return reply::number(1);
}

reply pexpire(fake_redis& r, session&, arguments a) { return expire_in(r, a, 1); }
reply expire(fake_redis& r, session&, arguments a) { return expire_in(r, a, 1000); }

reply persist(fake_redis& r, session&, arguments a) {
    const entry* e = r.data().find(a[1]);
    if (!e || e->expires_ms < 0) {
        return reply::number(0);
    }
    r.data().find_to_write(a[1])->expires_ms = -1;
    return reply::number(1);
}

reply get(fake_redis& r, session&, arguments a) {
    const entry* e = r.data().find(a[1]);
    if (!e) {
        return reply::nil();
    }
    const auto* s = std::get_if<std::string>(&e->value);
    return s ? reply::bulk(*s) : reply::error(wrong_type);
}

reply strlen(fake_redis& r, session& by, arguments a) {
    const reply value = get(r, by, a);
    return value.is_error() ? value : reply::number(static_cast<std::int64_t>(value.text.size()));
}

// Negative places count from the end.
reply getrange(fake_redis& r, session& by, arguments a) {
    const auto from = to_integer(a[2]);
    const auto to = to_integer(a[3]);
    if (!from || !to) {
        return reply::error(not_an_integer);
    }
    const reply value = get(r, by, a.first(2));
    if (value.is_error()) {
        return value;
    }
    const auto size = static_cast<std::int64_t>(value.text.size());
    const auto place = [&](std::int64_t n) {
        return n < 0 ? std::max<std::int64_t>(n + size, 0) : n;
    };
    const std::int64_t first = place(*from);
    const std::int64_t last = std::min(place(*to), size - 1);
    if (first > last || (*from < 0 && *to < 0 && *from > *to)) {
        return reply::bulk("");
    }
    return reply::bulk(std::string_view{value.text}.substr(
        static_cast<std::size_t>(first), static_cast<std::size_t>(last - first + 1)));
}

reply set(fake_redis& r, session&, arguments a) {
    bool nx = false, xx = false, keep = false, old_wanted = false;
    std::int64_t expires = -1;
    for (std::size_t i = 3; i < a.size(); ++i) {
        const bool px = same_word(a[i], "PX");
        if (same_word(a[i], "NX") && !xx) {
            nx = true;
        } else if (same_word(a[i], "XX") && !nx) {
            xx = true;
        } else if (same_word(a[i], "KEEPTTL") && expires < 0) {
            keep = true;
        } else if (same_word(a[i], "GET")) {
            old_wanted = true;
        } else if ((px || same_word(a[i], "EX")) && i + 1 < a.size() && expires < 0 && !keep) {
            const auto amount = to_integer(a[++i]);
            if (!amount) {
                return reply::error(not_an_integer);
            }
            constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2000;
            if (*amount <= 0 || *amount > most) {
                return reply::error("ERR invalid expire time in 'set' command");
            }
            expires = r.data().now_ms() + *amount * (px ? 1 : 1000);
        } else {
            return reply::error(syntax_error);
        }
    }
    const entry* e = r.data().find(a[1]);
    reply old = reply::nil();
    if (old_wanted && e) {
        const auto* s = std::get_if<std::string>(&e->value);
        if (!s) {
            return reply::error(wrong_type);
        }
        old = reply::bulk(*s);
    }
    if ((nx && e) || (xx && !e)) {
        return old_wanted ? old : reply::nil();
    }
    r.data().set(a[1], std::string{a[2]}, keep && e ? e->expires_ms : expires);
    return old_wanted ? old : reply::ok();
}

reply add(fake_redis& r, std::string_view key, std::int64_t amount) {
    entry* e = r.data().find(key);
    const auto* s = e ? std::get_if<std::string>(&e->value) : nullptr;
    if (e && !s) {
        return reply::error(wrong_type);
    }
    const auto old = s ? to_integer(*s) : std::optional<std::int64_t>{0};
    if (!old) {
        return reply::error(not_an_integer);
    }
    std::int64_t sum = 0;
    if (__builtin_add_overflow(*old, amount, &sum)) {
        return reply::error("ERR increment or decrement would overflow");
    }
    r.data().set(key, std::to_string(sum), e ? e->expires_ms : -1);
    return reply::number(sum);
}

reply incr(fake_redis& r, session&, arguments a) { return add(r, a[1], 1); }
reply decr(fake_redis& r, session&, arguments a) { return add(r, a[1], -1); }
reply incrby(fake_redis& r, session&, arguments a) {
    const auto amount = to_integer(a[2]);
    return amount ? add(r, a[1], *amount) : reply::error(not_an_integer);
}

reply dbsize(fake_redis& r, session&, arguments) {
    return reply::number(static_cast<std::int64_t>(r.data().size()));
}

reply flushall(fake_redis& r, session&, arguments) {
    r.data().clear();
    return reply::ok();
}

constexpr unsigned w = command::writes;
constexpr unsigned wg = command::writes | command::grows;
constexpr command commands[] = {
    {"del", -2, w, del},          {"unlink", -2, w, del},    {"exists", -2, 0, exists},
    {"type", 2, 0, type},         {"pttl", 2, 0, pttl},      {"ttl", 2, 0, ttl},
    {"pexpire", -3, w, pexpire},  {"expire", -3, w, expire}, {"persist", 2, w, persist},
    {"get", 2, 0, get},           {"strlen", 2, 0, strlen},  {"set", -3, wg, set},
    {"getrange", 4, 0, getrange}, {"incr", 2, wg, incr},     {"decr", 2, wg, decr},
    {"incrby", 3, wg, incrby},    {"dbsize", 1, 0, dbsize},  {"flushall", -1, w, flushall},
};

}  // namespace

std::span<const command> key_commands() noexcept { return commands; }

}  // namespace conch::sim
