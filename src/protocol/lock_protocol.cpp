// SPDX-License-Identifier: BSL-1.0
#include "protocol/lock_protocol.hpp"

#include "protocol/renewing.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>

namespace conch::protocol {

void field::write(resp::writer& w) const {
    if (number == 0) {
        w.arg(text);
        return;
    }
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    w.arg(text, {digits, static_cast<std::size_t>(end - digits)}, suffix);
}

std::string channel_of(const impl::lock_spec& s, const field& waiter) {
    std::string channel = s.channel().text();
    if (has_places(s)) {
        channel.append(":").append(waiter.text).append(std::to_string(waiter.number));
    }
    return channel;
}

std::string watch_channel_of(const impl::lock_spec& s) {
    return s.channel().text().append(":").append(s.protocol().watched_as);
}

void write_name(resp::writer& w, const impl::derived_name& n) { w.arg(n.before, n.name, n.after); }

void encode_acquire(const wire::call& c, const acquire_request& r, resp::writer& w) {
    const lock_protocol& p = r.spec.protocol();
    const wire::joint_script form = p.acquire_form(r);
    if (form == wire::leaves_alone) {
        p.acquire_alone(c, r, w);
        return;
    }
    wire::write_script(w, c, form.scripts.one, form.keys, form.args);
    p.acquire_keys(r, w);
    p.acquire_args(r, w);
}

void encode_release(const wire::call& c, const release_request& r, resp::writer& w) {
    const lock_protocol& p = r.spec.protocol();
    const wire::joint_script form = p.release_form(r);
    if (form == wire::leaves_alone) {
        p.release_alone(c, r, w);
        return;
    }
    wire::write_script(w, c, form.scripts.one, form.keys, form.args);
    p.release_keys(r, w);
    p.release_args(r, w);
}

// First as a renewal, then as one that lowers what was longer before.
void encode_leave(const wire::call& c, const leave_request& r, resp::writer& w) {
    const lock_protocol& p = r.spec.protocol();
    const renew_item both[] = {
        {.spec = r.spec, .holder = r.holder, .lease = r.lease, .lowers = false},
        {.spec = r.spec, .holder = r.holder, .lease = r.lease, .lowers = true}};
    const auto items = std::span{both}.last(r.is_longer ? 1 : 2);
    encode_renewal(
        c, p, items.size(), [&](std::size_t i) -> const renew_item& { return items[i]; }, w);
}

release_answer read_leave(const lock_protocol& p, const resp::value& reply) {
    using kind = release_answer::kind;
    release_answer all{.what = reply.size() > 0 ? kind::released : kind::unintelligible};
    for (std::size_t i = 0; i < reply.size(); ++i) {
        const renew_answer one = p.read_renew(reply.at(i));
        switch (one.what) {
            case renew_answer::kind::held: break;
            case renew_answer::kind::gone: return {.what = kind::not_held};
            case renew_answer::kind::refused: all = {.words = one.words}; break;
        }
    }
    return all;
}

}  // namespace conch::protocol
