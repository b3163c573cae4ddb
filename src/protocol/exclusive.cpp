// SPDX-License-Identifier: BSL-1.0
#include "protocol/exclusive.hpp"

#include "core/number.hpp"
#include "core/time.hpp"

namespace conch::protocol::exclusive {
namespace {

/// The script's word for a lock that has no holder to take it from.
constexpr std::int64_t is_gone = -2;

}  // namespace

std::uint64_t number_in(std::string_view text) noexcept {
    return core::number_in<std::uint64_t>(text).value_or(0);
}

wire::joint_script acquire_form(const acquire_request& r) {
    const std::uint8_t keys = r.spec.fenced() ? 2 : 1;
    const std::uint8_t args = r.from ? 4 : 3;
    return {r.spec.protocol().acquire, keys, args};
}

void acquire_keys(const acquire_request& r, resp::writer& w) {
    w.arg(r.spec.name());
    if (r.spec.fenced()) {
        write_name(w, r.spec.fence_key());
    }
}

void acquire_args(const acquire_request& r, resp::writer& w) {
    r.mine.write(w);
    w.arg(core::ceil_millis(r.lease));
    w.arg(r.spec.fence_key_ttl_ms());
    if (r.from) {
        r.from->write(w);
    }
}

acquire_answer read_acquire(const impl::lock_spec&, const resp::value& reply) {
    using kind = acquire_answer::kind;
    if (reply.is_text()) {
        return {.what = kind::granted, .fence = number_in(reply.text())};
    }
    if (!reply.is_integer() || reply.integer() < is_gone) {
        return {};
    }
    return reply.integer() == is_gone
               ? acquire_answer{.what = kind::gone}
               : acquire_answer{.what = kind::busy, .ttl_ms = reply.integer()};
}

wire::joint_script release_form(const release_request& r) {
    const std::uint8_t args = r.sharded ? 3 : 2;
    return {r.spec.protocol().release, 1, args};
}

void release_keys(const release_request& r, resp::writer& w) { w.arg(r.spec.name()); }

void release_args(const release_request& r, resp::writer& w) {
    r.holder.write(w);
    write_name(w, r.spec.channel());
    if (r.sharded) {
        w.arg("spublish");
    }
}

release_answer read_release(const resp::value& reply) {
    using kind = release_answer::kind;
    if (!reply.is_integer()) {
        return {};
    }
    return reply.integer() < 0
               ? release_answer{.what = kind::not_held}
               : release_answer{.what = kind::released, .heard_by = reply.integer()};
}

void renew_keys(const renew_item& i, resp::writer& w) { w.arg(i.spec.name()); }

void renew_args(const renew_item& i, resp::writer& w) {
    i.holder.write(w);
    const std::int64_t ms = core::ceil_millis(i.lease);
    w.arg(i.lowers ? -ms : ms);
}

renew_answer read_renew(const resp::value& reply) {
    using kind = renew_answer::kind;
    if (!reply.is_integer() || reply.integer() < 0) {
        return {.what = kind::refused, .words = reply.text()};
    }
    return reply.integer() == 0 ? renew_answer{.what = kind::gone}
                                : renew_answer{.what = kind::held, .longer_ms = reply.integer()};
}

void encode_nest(const wire::call& c, const nest_request& r, resp::writer& w) {
    wire::write_script(w, c, r.spec.protocol().nest, 1, 3).arg(r.spec.name());
    r.holder.write(w);
    w.arg(r.depth).arg(core::ceil_millis(r.lease));
}

nest_answer read_nest(const resp::value& reply) {
    if (!reply.is_integer() || reply.integer() < 0 || reply.integer() > 1) {
        return nest_answer::unintelligible;
    }
    return reply.integer() == 1 ? nest_answer::done : nest_answer::gone;
}

void encode_status(const wire::call& c, const status_request& r, resp::writer& w) {
    wire::write_script(w, c, r.spec.protocol().status, r.with_fence ? 2 : 1, 0).arg(r.spec.name());
    if (r.with_fence) {
        write_name(w, r.spec.fence_key());
    }
}

std::optional<lock_status> read_status(const resp::value& reply) {
    if (!reply.at(0).is_integer() || reply.at(0).integer() < is_gone || !reply.at(1).is_text()) {
        return std::nullopt;
    }
    lock_status s;
    const std::int64_t ttl = reply.at(0).integer();
    s.locked = ttl != is_gone;
    s.fence = number_in(reply.at(1).text());
    if (!s.locked) {
        return s;
    }
    if (ttl >= 0) {
        s.ttl = core::from_millis(ttl);
    }
    s.holder = reply.at(2).text();
    s.depth = number_in(reply.at(3).text());
    s.shared = reply.at(4).text() == "read";
    return s.holder.empty() || s.depth == 0 ? std::nullopt : std::optional{s};
}

}  // namespace conch::protocol::exclusive
