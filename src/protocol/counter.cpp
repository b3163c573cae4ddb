// SPDX-License-Identifier: BSL-1.0
#include "protocol/counter.hpp"

#include "core/number.hpp"
#include "protocol/permits.hpp"

#include <string>

namespace conch::protocol {
namespace {

/// The keys of a counting script, and the first argument.
resp::writer& write_request(resp::writer& w, const wire::call& c, wire::script_id script,
                            const impl::count_spec& spec, request_id id, std::size_t more) {
    const std::string number = std::to_string(id.number);
    const bool leased = spec.what() == impl::count_spec::kind::permits;
    wire::write_script(w, c, script, leased ? 3 : 2, 1 + more)
        .arg(spec.name())
        .arg(spec.request_prefix(), id.prefix, number);
    if (leased) {
        w.arg(permits_out_key(spec.name()));
    }
    return w.arg(request_kept.count());
}

std::string_view text_of(count_change what) noexcept {
    switch (what) {
        case count_change::add: return "add";
        case count_change::set: return "set";
        case count_change::try_set: return "try_set";
        case count_change::drain: return "drain";
        case count_change::arm: return "arm";
        case count_change::count_down: return "count_down";
    }
    return {};
}

}  // namespace

void encode_acquire_permits(const wire::call& c, const impl::count_spec& spec, request_id id,
                            bool wanted, std::span<const std::int64_t> permits, resp::writer& w) {
    write_request(w, c, wire::script_id::semaphore_acquire, spec, id, 1 + permits.size())
        .arg(!wanted                ? "mark"
             : c.history.copies > 1 ? "again"
                                    : "take");
    for (const std::int64_t n : permits) {
        w.arg(n);
    }
}

std::optional<std::size_t> read_acquired(const resp::value& reply, std::size_t requests) {
    const std::int64_t granted = reply.integer();
    if (!reply.is_integer() || granted < 0 || static_cast<std::uint64_t>(granted) > requests) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(granted);
}

void encode_change(const wire::call& c, const impl::count_spec& spec, request_id id, bool wanted,
                   count_change what, std::int64_t permits, bool sharded, resp::writer& w) {
    write_request(w, c, wire::script_id::semaphore_change, spec, id, 4)
        .arg(spec.channel())
        .arg(sharded ? "spublish" : "publish")
        .arg(wanted ? text_of(what) : "mark")
        .arg(permits);
}

std::optional<change_answer> read_change(const resp::value& reply) {
    if (reply.size() != 2 || !reply.at(0).is_integer() || !reply.at(1).is_integer()) {
        return std::nullopt;
    }
    using kind = change_answer::kind;
    switch (reply.at(0).integer()) {
        case 1: return change_answer{kind::done, reply.at(1).integer()};
        case 0: return change_answer{kind::not_done, reply.at(1).integer()};
        case -1: return change_answer{kind::too_many, reply.at(1).integer()};
        default: return std::nullopt;
    }
}

void encode_available(const impl::count_spec& spec, resp::writer& w) {
    w.command(2).arg("GET").arg(spec.name());
}

std::optional<std::int64_t> read_available(const resp::value& reply) {
    if (reply.is_null()) {
        return 0;
    }
    return reply.is_text() ? core::number_in<std::int64_t>(reply.text()) : std::nullopt;
}

}  // namespace conch::protocol
