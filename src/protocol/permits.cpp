// SPDX-License-Identifier: BSL-1.0
// Permits of a semaphore, each with a lease, as Redisson's RPermitExpirableSemaphore. On the
// server: a string, how many are left; beside it the ids of those that are out, a sorted set, each
// with the end of its lease by the server's clock.
#include "protocol/permits.hpp"
#include "core/number.hpp"
#include "core/time.hpp"
#include "protocol/exclusive.hpp"

#include <array>
#include <charconv>
#include <string>

namespace conch::protocol {
namespace {

constexpr std::string_view permits_channel_prefix = "redisson_sc:{";

/// What the 16 bytes of a permit's id begin with; the rest is its number within the acquisition.
using id_start = std::array<char, 14>;

std::optional<unsigned> hex_digit(char c) noexcept {
    unsigned digit = 0;
    const auto read = std::from_chars(&c, &c + 1, digit, 16);
    return read.ec == std::errc{} ? std::optional{digit} : std::nullopt;
}

/// 64 random bits of the client's UUID, of which the version and the variant are left out, and the
/// number of the acquisition, which is never used again.
id_start permit_id_of(const field& f) noexcept {
    id_start id{};
    std::size_t seen = 0;
    std::size_t kept = 0;
    for (const char c : f.text) {
        const std::optional<unsigned> digit = hex_digit(c);
        if (!digit || kept == 16) {
            continue;
        }
        if (seen != 12 && seen != 16) {
            const auto before = static_cast<unsigned char>(id[kept / 2]);
            id[kept / 2] = static_cast<char>(before << 4 | *digit);
            ++kept;
        }
        ++seen;
    }
    for (std::size_t i = 0; i < 6; ++i) {
        id[13 - i] = static_cast<char>(f.number >> (8 * i) & 0xff);
    }
    return id;
}

void write_id(const field& f, resp::writer& w) {
    const id_start id = permit_id_of(f);
    w.arg(std::string_view{id.data(), id.size()});
}

void write_permits_keys(const impl::lock_spec& spec, resp::writer& w) {
    w.arg(spec.name()).arg(permits_out_key(spec.name()));
}

wire::joint_script take_permits_alone(const acquire_request&) { return wire::leaves_alone; }

void take_permits(const wire::call& c, const acquire_request& r, resp::writer& w) {
    wire::write_script(w, c, wire::script_id::permits_acquire, 2, r.behind != 0 ? 6 : 5);
    write_permits_keys(r.spec, w);
    write_id(r.mine, w);
    w.arg(r.spec.permits()).arg(core::ceil_millis(r.lease));
    write_name(w, r.spec.channel());
    w.arg(r.sharded ? "spublish" : "publish");
    if (r.behind != 0) {
        write_id({.text = r.mine.text, .number = r.behind}, w);
    }
}

wire::joint_script give_permits_alone(const release_request&) { return wire::leaves_alone; }

/// The ids of a forced release stand in one text, in hexadecimal and with blanks between.
std::size_t ids_in(std::string_view text) noexcept { return (text.size() + 1) / 33; }

std::string raw_id(std::string_view hex) {
    std::string raw;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        const unsigned high = hex_digit(hex[i]).value_or(0);
        raw.push_back(static_cast<char>(high << 4 | hex_digit(hex[i + 1]).value_or(0)));
    }
    return raw;
}

void give_permits(const wire::call& c, const release_request& r, resp::writer& w) {
    const bool forced = r.holder.number == 0;
    const std::size_t ids = forced ? ids_in(r.holder.text) : 1;
    wire::write_script(w, c, wire::script_id::permits_release, 2, 3 + ids);
    write_permits_keys(r.spec, w);
    write_name(w, r.spec.channel());
    w.arg(r.sharded ? "spublish" : "publish");
    if (!forced) {
        write_id(r.holder, w);
        w.arg(r.spec.permits());
        return;
    }
    w.arg("");
    for (std::size_t i = 0; i < ids; ++i) {
        w.arg(raw_id(r.holder.text.substr(33 * i, 32)));
    }
}

void write_permits_renewed(const renew_item& i, resp::writer& w) {
    w.arg(permits_out_key(i.spec.name()));
}

void write_permits_lease(const renew_item& i, resp::writer& w) {
    write_id(i.holder, w);
    const std::int64_t ms = core::ceil_millis(i.lease);
    w.arg(i.spec.permits()).arg(i.lowers ? -ms : ms);
}

std::optional<lock_status> read_permits_status(const resp::value& reply) {
    std::optional<lock_status> s = exclusive::read_status(reply);
    const auto counts = read_permit_counts(reply);
    if (!s || !counts) {
        return std::nullopt;
    }
    if (counts->set) {
        s->permits = counts->left + counts->out;
    }
    return s;
}

void encode_permits_status(const wire::call& c, const status_request& r, resp::writer& w) {
    encode_count_permits(c, r.spec.name(), w);
}

constexpr lock_protocol leased_permits() {
    lock_protocol p = exclusive::protocol_of({
        .type_name = "conch::semaphore",
        .channel_prefix = permits_channel_prefix,
        .fence_key_prefix = permits_channel_prefix,
        .acquire = {},
        .release = {},
        .renew = wire::script_id::permits_renew,
        .nest = wire::script_id::nest,
        .status = wire::script_id::permits_status,
    });
    p.mode = lock_mode::permits;
    p.acquire_form = &take_permits_alone;
    p.acquire_alone = &take_permits;
    p.release_form = &give_permits_alone;
    p.release_alone = &give_permits;
    p.renew_args_each = 3;
    p.renew_keys = &write_permits_renewed;
    p.renew_args = &write_permits_lease;
    p.encode_status = &encode_permits_status;
    p.read_status = &read_permits_status;
    return p;
}

}  // namespace

constinit const lock_protocol permits_protocol = leased_permits();

// Redisson's rule: the name becomes the hash tag, unless it has a brace already.
std::string permits_out_key(std::string_view name) {
    const bool has_brace = name.find('{') != name.npos;
    std::string key{has_brace ? "" : "{"};
    return key.append(name).append(has_brace ? ":timeout" : "}:timeout");
}

void encode_count_permits(const wire::call& c, std::string_view name, resp::writer& w) {
    wire::write_script(w, c, wire::script_id::permits_status, 2, 0)
        .arg(name)
        .arg(permits_out_key(name));
}

std::optional<permit_counts> read_permit_counts(const resp::value& reply) {
    if (reply.size() != 7 || !reply.at(5).is_integer() || !reply.at(6).is_integer()) {
        return std::nullopt;
    }
    const auto out = core::number_in<std::int64_t>(reply.at(3).text());
    if (!out) {
        return std::nullopt;
    }
    return permit_counts{
        .left = reply.at(5).integer(), .out = *out, .set = reply.at(6).integer() != 0};
}

}  // namespace conch::protocol
