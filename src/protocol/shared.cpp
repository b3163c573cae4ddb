// SPDX-License-Identifier: BSL-1.0
// A read-write lock, as Redisson's RReadWriteLock. On the server: a hash of "mode" and of the
// holders' fields; beside it a timeout key for each read hold, and a key while a writer waits.
#include "core/number.hpp"
#include "core/time.hpp"
#include "protocol/exclusive.hpp"

#include <string>
#include <vector>

namespace conch::protocol {
namespace {

constexpr std::string_view writer_suffix = ":write";
constexpr std::string_view waiting_writer_prefix = "conch_rw_writer:{";

/// As Redisson derives a key from a lock's name, the field of a reader and the number of its hold.
std::string timeout_key(const impl::lock_spec& spec, std::string_view reader, unsigned number) {
    const std::string_view name = spec.name();
    std::string key;
    if (name.find('{') == name.npos) {
        key.append("{").append(name).append("}");
    } else {
        key.append(name);
    }
    key.append(":").append(reader).append(":rwlock_timeout:");
    return key.append(std::to_string(number));
}

/// A reader of conch has one hold.
std::string timeout_key(const impl::lock_spec& spec, const field& f) {
    return timeout_key(spec, std::string{f.text}.append(std::to_string(f.number)), 1);
}

/// Whoever has more of them is not asked about.
constexpr unsigned most_holds = 16;

/// 0: none, or too many.
unsigned holds_in(std::string_view text) noexcept {
    const unsigned n = core::number_in<unsigned>(text).value_or(0);
    return n <= most_holds ? n : 0;
}

wire::joint_script alone(const acquire_request&) { return wire::leaves_alone; }

void acquire_to_read(const wire::call& c, const acquire_request& r, resp::writer& w) {
    wire::write_script(w, c, wire::script_id::shared_read, 3, 2)
        .arg(r.spec.name())
        .arg(timeout_key(r.spec, r.mine));
    write_name(w, r.spec.derived(waiting_writer_prefix));
    r.mine.write(w);
    w.arg(core::ceil_millis(r.lease));
}

// The readers of the last answer are named with their timeout keys: a crashed one has none.
void acquire_to_write(const wire::call& c, const acquire_request& r, resp::writer& w) {
    static const std::vector<std::string> nobody{};
    const std::vector<std::string>& readers = r.beside ? *r.beside : nobody;
    std::size_t keys = 0;
    for (std::size_t i = 1; i < readers.size(); i += 2) {
        keys += holds_in(readers[i]);
    }
    wire::write_script(w, c, wire::script_id::shared_write, 2 + keys, 3 + readers.size())
        .arg(r.spec.name());
    write_name(w, r.spec.derived(waiting_writer_prefix));
    for (std::size_t i = 1; i < readers.size(); i += 2) {
        for (unsigned n = 1; n <= holds_in(readers[i]); ++n) {
            w.arg(timeout_key(r.spec, readers[i - 1], n));
        }
    }
    r.mine.write(w);
    w.arg(core::ceil_millis(r.lease)).arg(core::ceil_millis(r.waits_for));
    for (const std::string& one : readers) {
        w.arg(one);
    }
}

acquire_answer read_acquire_to_write(const impl::lock_spec& spec, const resp::value& reply) {
    if (reply.type() != resp::kind::array || !reply.at(0).is_integer() ||
        reply.at(0).integer() < -1) {
        return exclusive::read_acquire(spec, reply);
    }
    acquire_answer a{.what = acquire_answer::kind::busy, .ttl_ms = reply.at(0).integer()};
    for (std::size_t i = 1; i + 1 < reply.size(); i += 2) {
        if (holds_in(reply.at(i + 1).text()) > 0) {
            a.beside.emplace_back(reply.at(i).text());
            a.beside.emplace_back(reply.at(i + 1).text());
        }
    }
    return a;
}

wire::joint_script release_alone(const release_request&) { return wire::leaves_alone; }

/// The holders of a forced release stand in one text, with blanks between.
template <typename Function>
void for_each_field(std::string_view text, Function f) {
    while (!text.empty()) {
        const std::size_t end = text.find(' ');
        f(text.substr(0, end));
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
}

void release(const wire::call& c, const release_request& r, resp::writer& w) {
    std::size_t fields = 0;
    for_each_field(r.holder.text, [&](std::string_view) { ++fields; });
    const bool has_deadline = r.holder.number != 0 && is_shared(r.spec) && !r.sharded;
    wire::write_script(w, c, wire::script_id::shared_release, has_deadline ? 2 : 1, 2 + fields)
        .arg(r.spec.name());
    if (has_deadline) {
        w.arg(timeout_key(r.spec, r.holder));
    }
    write_name(w, r.spec.channel());
    w.arg(r.sharded ? "spublish" : "publish");
    if (r.holder.number != 0) {
        r.holder.write(w);
    } else {
        for_each_field(r.holder.text, [&](std::string_view one) { w.arg(one); });
    }
}

void renew_keys(const renew_item& i, resp::writer& w) {
    w.arg(i.spec.name()).arg(timeout_key(i.spec, i.holder));
}

void encode_status(const wire::call& c, const status_request& r, resp::writer& w) {
    wire::write_script(w, c, wire::script_id::shared_status, 1, 0).arg(r.spec.name());
}

constexpr lock_protocol read_write(lock_protocol p) {
    p.release_form = &release_alone;
    p.release_alone = &release;
    p.acquire_form = &alone;
    p.encode_status = &encode_status;
    p.family = &shared_write_protocol;
    return p;
}

constexpr exclusive::names common{
    .type_name = "conch::shared_mutex",
    .channel_prefix = "redisson_rwlock:{",
    .fence_key_prefix = waiting_writer_prefix,
    .acquire = {},
    .release = {},
    .renew = wire::script_id::renew,
    .nest = wire::script_id::nest,
    .status = wire::script_id::shared_status,
};

constexpr lock_protocol to_read() {
    lock_protocol p = read_write(exclusive::protocol_of(common));
    p.mode = lock_mode::shared;
    p.acquire_alone = &acquire_to_read;
    p.renew = wire::script_id::shared_renew;
    p.renew_keys_each = 2;
    p.renew_keys = &renew_keys;
    return p;
}

constexpr lock_protocol to_write() {
    lock_protocol p = read_write(exclusive::protocol_of(common));
    p.field_suffix = writer_suffix;
    p.acquire_alone = &acquire_to_write;
    p.read_acquire = &read_acquire_to_write;
    return p;
}

}  // namespace

constinit const lock_protocol shared_read_protocol = to_read();
constinit const lock_protocol shared_write_protocol = to_write();

}  // namespace conch::protocol
