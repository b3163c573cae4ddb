// SPDX-License-Identifier: BSL-1.0
// A lock that its waiters get in the order in which they came, as Redisson's RFairLock. On the
// server: a mutex; beside it the line of the waiters, a list and a sorted set, and what those of
// conch want, a hash.
#include "core/time.hpp"
#include "protocol/exclusive.hpp"

#include <array>
#include <string>

namespace conch::protocol {
namespace {

constexpr std::string_view fair_channel_prefix = "redisson_lock__channel:{";
constexpr std::string_view fair_fence_key_prefix = "redisson_lock_token:{";
constexpr std::array<std::string_view, 3> line_prefixes{
    "redisson_lock_queue:{", "redisson_lock_timeout:{", "conch_fair_lease:{"};

constexpr std::string_view verb_of(bool sharded) { return sharded ? "spublish" : "publish"; }

wire::joint_script fair_acquire_form(const acquire_request&) { return wire::leaves_alone; }

void write_keys(const impl::lock_spec& spec, bool with_fence, resp::writer& w) {
    w.arg(spec.name());
    for (const std::string_view prefix : line_prefixes) {
        write_name(w, spec.derived(prefix));
    }
    if (with_fence) {
        write_name(w, spec.derived(fair_fence_key_prefix));
    }
}

void write_fair_acquire(const wire::call& c, const acquire_request& r, resp::writer& w) {
    const bool fenced = r.spec.fenced();
    const bool watched = !r.spec.protocol().watched_as.empty();
    wire::write_script(w, c, wire::script_id::fair_acquire, fenced ? 5 : 4, watched ? 7 : 5);
    write_keys(r.spec, fenced, w);
    r.mine.write(w);
    w.arg(core::ceil_millis(r.lease))
        .arg(r.spec.fence_key_ttl_ms())
        .arg(core::ceil_millis(r.waits_for))
        .arg(r.try_number);
    if (watched) {
        w.arg(watch_channel_of(r.spec)).arg(verb_of(r.sharded));
    }
}

wire::joint_script fair_release_form(const release_request& r) {
    return r.lock_key_only ? exclusive::release_form(r) : wire::leaves_alone;
}

// The first in line may want a fence, whatever the holder wanted.
void write_fair_release(const wire::call& c, const release_request& r, resp::writer& w) {
    const std::string_view watched_as = r.spec.protocol().watched_as;
    wire::write_script(w, c, wire::script_id::fair_release, 5, watched_as.empty() ? 3 : 4);
    write_keys(r.spec, true, w);
    r.holder.write(w);
    w.arg(r.spec.channel().text().append(":")).arg(verb_of(r.sharded));
    if (!watched_as.empty()) {
        w.arg(watched_as);
    }
}

std::optional<gift> read_gift(const impl::lock_spec& spec, std::string_view message) {
    const auto colon = message.find(':');
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    const auto next = message.find(':', colon + 1);
    const bool has_try = next != std::string_view::npos;
    const std::uint64_t fence = exclusive::number_in(message.substr(0, colon));
    const std::uint64_t ms = exclusive::number_in(message.substr(colon + 1, next - colon - 1));
    constexpr auto most =
        static_cast<std::uint64_t>(core::longest_lease / std::chrono::milliseconds{1});
    const gift g{.fence = fence,
                 .lease = std::chrono::milliseconds{std::min(ms, most)},
                 .try_number = has_try ? exclusive::number_in(message.substr(next + 1)) : 0};
    const bool is_whole = g.lease == duration{} || (fence != 0) == spec.fenced();
    return is_whole ? std::optional{g} : std::nullopt;
}

constexpr lock_protocol fair(const char* type_name, std::string_view watched_as) {
    lock_protocol p = exclusive::protocol_of({
        .type_name = type_name,
        .channel_prefix = fair_channel_prefix,
        .fence_key_prefix = fair_fence_key_prefix,
        .acquire = {},
        .release = {wire::script_id::release, wire::script_id::release_many},
        .renew = wire::script_id::renew,
        .nest = wire::script_id::nest,
        .status = wire::script_id::status,
    });
    p.watched_as = watched_as;
    p.queue_prefix = line_prefixes.front();
    p.read_gift = &read_gift;
    p.acquire_form = &fair_acquire_form;
    p.acquire_alone = &write_fair_acquire;
    p.release_form = &fair_release_form;
    p.release_alone = &write_fair_release;
    return p;
}

}  // namespace

constinit const lock_protocol fair_protocol = fair("conch::fair_mutex", {});
constinit const lock_protocol leader_protocol = fair("conch::leader", "leader");

}  // namespace conch::protocol
