// SPDX-License-Identifier: BSL-1.0
// Calls that go from one link to another, as the hash slots of a cluster do.
#include "wire/hash_slot.hpp"
#include "wire/reply_router.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace conch::wire {

namespace {

/// What no SUNSUBSCRIBE is refused with: it has no script, no key, writes nothing, and is allowed
/// while a server loads or has lost its master.
constexpr std::string_view of_others[]{"NOSCRIPT ",   "TRYAGAIN ",   "LOADING ",
                                       "MASTERDOWN ", "READONLY ",   "OOM ",
                                       "MISCONF ",    "NOREPLICAS ", "WRONGTYPE "};

bool has(std::string_view words, std::string_view part) noexcept {
    return words.find(part) != std::string_view::npos;
}

/// SUNSUBSCRIBE of a channel of this hash slot may be refused with that.
bool may_be_of_channel(std::uint16_t hash_slot, std::string_view words) {
    if (std::any_of(std::begin(of_others), std::end(of_others),
                    [&](std::string_view of) { return words.starts_with(of); })) {
        return false;
    }
    if (words.starts_with("NOPERM ") && !has(words, "sunsubscribe") && !has(words, "channel")) {
        return false;
    }
    const std::optional<redirection> to = read_redirection(words);
    return !to || (!to->once && to->slot == hash_slot);
}

/// An error that this call can't have met, as it is about another hash slot.
bool is_of_another(const call& c, std::string_view words) {
    const std::optional<redirection> to = read_redirection(words);
    return to && to->slot != (c.type->kind == call_kind::subscription
                                  ? hash_slot_of(static_cast<const subscription&>(c).channel())
                                  : c.hash_slot);
}

}  // namespace

// A reply that isn't that of the oldest call: the replies that follow would be taken for answers to
// the wrong calls, too. (A server that loses a hash slot says so of each channel, in the form of
// the answer to SUNSUBSCRIBE. Then it refuses the SUNSUBSCRIBE that it had not read yet.)
bool reply_router::is_misdirected(const call* c, const resp::value& reply) {
    auto& doubtful = channels_.doubtful();
    if (reply.is_error()) {
        const auto of = std::find_if(doubtful.begin(), doubtful.end(), [&](std::uint16_t slot) {
            return may_be_of_channel(slot, reply.text());
        });
        if (of != doubtful.end()) {
            if (c) {  // the server did nothing wrong: what is asked again is answered
                connection_.leave("whose answer an error is was in doubt");
            } else {
                doubtful.erase(doubtful.begin(), of + 1);
            }
            return true;
        }
    }
    doubtful.clear();
    if (c && reply.is_error() && events_.redirected && is_of_another(*c, reply.text())) {
        connection_.violated("a redirection that is not for the oldest command");
        return true;
    }
    if (!c || (c->type->kind == call_kind::subscription && !reply.is_error())) {
        connection_.violated("a reply that answers no command");
        return true;
    }
    return false;
}

// It did not run. Where it belongs is for the topology to say.
bool reply_router::redirect(call& c, std::string_view words) {
    if (!events_.redirected || c.abandoned() || c.hash_slot == no_hash_slot ||
        (c.type->divisible && is_divided(words))) {
        return false;
    }
    const std::optional<redirection> to = read_redirection(words);
    if (!to) {
        return false;
    }
    c.history.not_run();
    events_.redirected(events_.owner, c, *to);
    return true;
}

// A subscription to a channel that another server has. Its listeners go there when the topology
// knows; till then, as the server may be the one that is to have it, it is asked for here again.
bool reply_router::moved_away(call& c, std::string_view words) {
    if (!events_.redirected || c.type->kind != call_kind::subscription ||
        !static_cast<const subscription&>(c).begins() || !read_redirection(words)) {
        return false;
    }
    delayed_.add(c, errc::server_unavailable);
    events_.ask_for_address(true);
    return true;
}

}  // namespace conch::wire
