// SPDX-License-Identifier: BSL-1.0
// What a server's sessions are told without having asked.
#include "sim/fake_redis.hpp"

#include <algorithm>

namespace conch::sim {

std::int64_t fake_redis::publish(std::string_view channel, std::string_view text) {
    return tell(channel, text, false);
}

std::int64_t fake_redis::publish_sharded(std::string_view channel, std::string_view text) {
    return tell(channel, text, true);
}

bool fake_redis::hears(const session& s, std::string_view channel, bool sharded) const noexcept {
    return sharded ? s.shard_channels.contains(channel) && s.at == now_at_
                   : s.channels.contains(channel) && is_told_by(s.at, now_at_);
}

std::int64_t fake_redis::tell(std::string_view channel, std::string_view text, bool sharded) {
    ++messages_;
    const std::int64_t n = std::count_if(sessions_.begin(), sessions_.end(), [&](const auto& s) {
        return hears(s.second, channel, sharded);
    });
    if (n > 0 && messages_to_lose_ > 0) {
        --messages_to_lose_;
        feel(messages_lost_by_);
    } else if (n > 0 && messages_to_delay_ > 0) {
        --messages_to_delay_;
        delayed_.push_back(
            {now_at_, sharded, std::string{channel}, std::string{text}, messages_delayed_by_});
    } else {
        deliver(channel, text, sharded);
    }
    return n;
}

void fake_redis::deliver(std::string_view channel, std::string_view text, bool sharded) {
    const reply message{reply::kind::push,
                        0,
                        {},
                        {reply::bulk(sharded ? "smessage" : "message"), reply::bulk(channel),
                         reply::bulk(text)}};
    for (auto& [id, s] : sessions_) {
        if (hears(s, channel, sharded)) {
            message.write(s.output, s.resp3);
            ready(s);
        }
    }
}

void fake_redis::deliver(const late_message& m) {
    now_at_ = m.at;
    const bool any = std::any_of(sessions_.begin(), sessions_.end(), [&](const auto& s) {
        return hears(s.second, m.channel, m.sharded);
    });
    feel(any ? m.by : nullptr);
    deliver(m.channel, m.text, m.sharded);
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
