// SPDX-License-Identifier: BSL-1.0
#include "protocol/lock_protocol.hpp"

#include <charconv>
#include <cstddef>

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

}  // namespace conch::protocol
