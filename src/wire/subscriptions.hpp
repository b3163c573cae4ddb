// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_SUBSCRIPTIONS_HPP
#define CONCH_SRC_WIRE_SUBSCRIPTIONS_HPP

#include "wire/call.hpp"
#include "wire/hash_slot.hpp"
#include "wire/pipeline.hpp"

#include <boost/container_hash/hash.hpp>
#include <boost/intrusive/slist.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace conch::wire {

class subscriptions;
struct subscription;

/// What a listener hears of its channel.
enum class news : std::uint8_t {
    message,     ///< someone published
    subscribed,  ///< from now on messages come; what was published before is lost
    failed,      ///< the server refused: no messages on this connection
    ended,       ///< by the server, which may not be the right one any more; it is asked for anew
};

/// One party that wants the messages of a channel; embedded in it.
struct listener : boost::intrusive::slist_base_hook<> {
    using function = void (*)(void* owner, news what);

    listener(void* o, function f) noexcept : owner{o}, hear{f} {}

    void* owner;
    function hear;
    subscription* to = nullptr;
};

/// One channel, subscribed as long as it has listeners. The channel's name lies behind the object,
/// in the same memory.
struct subscription : call {
    enum class state : std::uint8_t { off, subscribing, on, unsubscribing, refused };

    static subscription& make(subscriptions& home, std::string_view channel);
    void free() noexcept;

    std::string_view channel() const noexcept {
        return {reinterpret_cast<const char*>(this + 1), channel_size};
    }

    /// It is, or is to be, SUBSCRIBE, and somebody wants it.
    bool begins() const noexcept { return now == state::subscribing && !listeners.empty(); }

    subscriptions& home;
    /// Few names share a channel.
    boost::intrusive::slist<listener, boost::intrusive::constant_time_size<false>> listeners{};
    std::uint32_t channel_size;
    state now = state::off;
    bool telling = false;  ///< its listeners hear something just now

private:
    subscription(subscriptions& h, std::string_view name) noexcept;
};

/// The channels of one link. Any number of listeners share a subscription; the last one to leave
/// ends it.
class subscriptions {
public:
    explicit subscriptions(pipeline& p) noexcept : pipeline_{p} {}
    subscriptions(const subscriptions&) = delete;
    subscriptions& operator=(const subscriptions&) = delete;
    ~subscriptions();

    /// Precondition: `l` listens to nothing. It hears `subscribed` (later) unless the
    /// subscription is on already.
    void add(listener& l, std::string_view channel);
    /// No-op if `l` listens to nothing.
    void remove(listener& l);
    /// `l` listens to a channel of these.
    bool has(const listener& l) const noexcept { return l.to && &l.to->home == this; }

    /// Whether `push` is the answer to this call, one of ours.
    static bool is_answer(const call& c, const resp::value& push) noexcept;
    /// Pushes that were taken for answers to SUNSUBSCRIBE, since the last other reply. Each may
    /// have told that the channel's hash slot, which stands here, had left the server before. Then
    /// an error that follows is the answer.
    std::vector<std::uint16_t>& doubtful() noexcept { return doubtful_; }
    /// A push that answers no call: a message, or a subscription that the server ended. False if
    /// it concerns no channel of ours.
    bool on_push(const resp::value& push);

    /// The channels are those of a shard (SSUBSCRIBE): decided before the first is added.
    void shard(bool on) noexcept { sharded_ = on; }
    /// Ends whatever this listener listens to. No-op if that is nothing.
    static void leave(listener& l);

    /// The connection is new and ready: subscribes to everything that has listeners.
    void connection_ready();
    /// The connection broke: nothing is subscribed.
    void connection_lost();

    std::size_t size() const noexcept { return all_.size(); }
    /// The order of the last SUBSCRIBE of this listener's channel among all writes.
    static std::uint64_t serial(const listener& l) noexcept { return l.to ? l.to->serial : 0; }
    /// The message that this listener hears just now.
    static std::string_view message(const listener& l) noexcept { return l.to->home.message_; }
    /// Messages come, or will, on this connection.
    static bool works(const listener& l) noexcept {
        return l.to && l.to->now != subscription::state::refused;
    }
    /// A message that was published by the command whose answer is being read went to this
    /// connection, too: what was written before that and not answered yet came after it.
    bool hears_now(std::string_view channel) const noexcept;
    /// Messages come already: `add()` made no SUBSCRIBE.
    static bool is_on(const listener& l) noexcept {
        return l.to && l.to->now == subscription::state::on;
    }

private:
    friend struct subscription;

    static void encode(call& c, resp::writer& w);
    static void done(call& c, const outcome& o);
    static const call_type subscribe_type;
    static const call_type unsubscribe_type;

    std::string_view plain(std::string_view what) const noexcept;
    subscription* find(std::string_view channel) const noexcept;
    // Does what the listeners and the state call for; before the other calls, if `first`.
    void reconcile(subscription& s, bool first = false);
    void tell(subscription& s, news what);

    // Finds subscriptions by their channels.
    struct hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view channel) const noexcept {
            return boost::hash<std::string_view>{}(channel);
        }
        std::size_t operator()(const subscription* s) const noexcept {
            return (*this)(s->channel());
        }
    };
    struct equal {
        using is_transparent = void;
        bool operator()(const subscription* a, const subscription* b) const noexcept {
            return a == b;
        }
        bool operator()(std::string_view channel, const subscription* s) const noexcept {
            return channel == s->channel();
        }
        bool operator()(const subscription* s, std::string_view channel) const noexcept {
            return channel == s->channel();
        }
    };

    pipeline& pipeline_;
    bool sharded_ = false;
    std::string_view message_{};
    std::vector<std::uint16_t> doubtful_{};
    boost::unordered_flat_set<subscription*, hash, equal> all_{};
};

}  // namespace conch::wire

#endif
