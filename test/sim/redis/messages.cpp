// SPDX-License-Identifier: BSL-1.0
// What a server's sessions are told without having asked.
#include "sim/fake_redis.hpp"

#include <utility>

namespace conch::sim {

std::int64_t fake_redis::publish(std::string_view channel, std::string_view text) {
    return deliver("message", channel, text,
                   [](const fake_redis& r, const session& s, std::string_view c) {
                       return s.channels.contains(c) && r.is_told_by(s.at, r.now_at_);
                   });
}

std::int64_t fake_redis::publish_sharded(std::string_view channel, std::string_view text) {
    return deliver("smessage", channel, text,
                   [](const fake_redis& r, const session& s, std::string_view c) {
                       return s.shard_channels.contains(c) && s.at == r.now_at_;
                   });
}

std::int64_t fake_redis::deliver(std::string_view kind, std::string_view channel,
                                 std::string_view text,
                                 bool (*hears)(const fake_redis&, const session&,
                                               std::string_view)) {
    std::int64_t n = 0;
    for (auto& [id, s] : sessions_) {
        n += hears(*this, s, channel) ? 1 : 0;
    }
    if (n > 0 && messages_to_lose_ > 0) {
        --messages_to_lose_;
        feel(messages_lost_by_);
        return n;
    }
    const reply message{
        reply::kind::push, 0, {}, {reply::bulk(kind), reply::bulk(channel), reply::bulk(text)}};
    for (auto& [id, s] : sessions_) {
        if (hears(*this, s, channel)) {
            message.write(s.output, s.resp3);
            ready(s);
        }
    }
    return n;
}

void fake_redis::end_subscription(session& s, std::string_view kind, std::string_view channel,
                                  std::size_t left) {
    const reply end{
        reply::kind::push,
        0,
        {},
        {reply::bulk(kind), reply::bulk(channel), reply::number(static_cast<std::int64_t>(left))}};
    end.write(s.output, s.resp3);
}

std::size_t fake_redis::end_subscriptions(std::string_view channel) {
    std::size_t ended = 0;
    for (auto& [id, s] : sessions_) {
        const auto it = s.channels.find(channel);
        const auto sharded = s.shard_channels.find(channel);
        if (it != s.channels.end()) {
            s.channels.erase(it);
            end_subscription(s, "unsubscribe", channel, s.channels.size());
        } else if (sharded != s.shard_channels.end()) {
            s.shard_channels.erase(sharded);
            end_subscription(s, "sunsubscribe", channel, s.shard_channels.size());
        } else {
            continue;
        }
        ++ended;
        ready(s);
    }
    return ended;
}

}  // namespace conch::sim
