// SPDX-License-Identifier: BSL-1.0
#include "raw_baseline.hpp"

#include "greeting.hpp"
#include "raw_command.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace conch::bench {
namespace {

constexpr std::size_t buffer_size = 64 * 1024;

}  // namespace

std::string raw_name(std::size_t slot) { return std::string{tag} + ":raw:" + std::to_string(slot); }

raw_baseline::raw_baseline(const direct_access& to, std::size_t depth, std::size_t permits)
    : socket_{to.home}, depth_{depth}, begun_(depth), buffer_(buffer_size) {
    greet(socket_, to.home);
    if (permits == 0) {
        encode(to.sharded);
    } else {
        encode_permits(permits, to.sharded);
    }
    starts_.push_back(commands_.size());
}

void raw_baseline::encode(bool sharded) {
    for (std::size_t i = 0; i < depth_; ++i) {
        starts_.push_back(commands_.size());
        append_acquire(commands_, raw_name(i), field_of(i));
    }
    for (std::size_t i = 0; i < depth_; ++i) {
        starts_.push_back(commands_.size());
        append_release(commands_, raw_name(i), field_of(i), channel_of(raw_name(i)), sharded);
    }
}

void raw_baseline::encode_permits(std::size_t permits, bool sharded) {
    for (std::size_t i = 0; i < depth_; ++i) {
        starts_.push_back(commands_.size());
        append_take_permits(commands_, raw_name(i), i, permits, sharded);
    }
    for (std::size_t i = 0; i < depth_; ++i) {
        starts_.push_back(commands_.size());
        append_give_permits(commands_, raw_name(i), i, permits, sharded);
    }
}

slice raw_baseline::run(const slice_length& length) {
    latencies_us_.reserve(last_count_ + last_count_ / 2);
    const slice_meter meter;
    const auto begin = clock::now();
    const auto end = begin + std::chrono::duration_cast<clock::duration>(length.time);
    std::size_t under_way = depth_;
    bool stopping = false;
    allow(depth_, begin);
    while (under_way > 0) {
        flush();
        const std::size_t replies = read_replies();
        const auto now = clock::now();
        answered(replies, now);
        stopping = stopping || now >= end || latencies_us_.size() + depth_ > length.pairs;
        // The commands go round: at the start of a round, all locks are released or about to be.
        const std::size_t rest_of_round = next_ == 0 ? 0 : 2 * depth_ - next_;
        const std::size_t more = stopping ? std::min(replies, rest_of_round) : replies;
        allow(more, now);
        under_way = under_way - replies + more;
    }
    last_count_ = latencies_us_.size();
    return meter.finish(std::exchange(latencies_us_, {}));
}

void raw_baseline::allow(std::size_t commands, clock::time_point now) {
    const std::size_t all = 2 * depth_;
    const std::size_t before_end = std::min(commands, all - next_);
    due_ += starts_[next_ + before_end] - starts_[next_];
    due_ += starts_[commands - before_end];
    for (std::size_t i = 0; i < commands; ++i) {
        if (next_ < depth_) {
            begun_[next_] = now;
        }
        next_ = next_ + 1 == all ? 0 : next_ + 1;
    }
}

void raw_baseline::answered(std::size_t replies, clock::time_point now) {
    for (std::size_t i = 0; i < replies; ++i) {
        if (expected_ >= depth_) {
            const std::chrono::duration<double, std::micro> d = now - begun_[expected_ - depth_];
            latencies_us_.push_back(d.count());
        }
        expected_ = expected_ + 1 == 2 * depth_ ? 0 : expected_ + 1;
    }
}

void raw_baseline::flush() {
    const std::string_view commands = commands_;
    while (due_ > 0) {
        const std::string_view first = commands.substr(written_, due_);
        const std::string_view second = commands.substr(0, due_ - first.size());
        const std::size_t sent = socket_.send_some(first, second);
        if (sent == 0) {
            return;
        }
        due_ -= sent;
        written_ = (written_ + sent) % commands_.size();
    }
}

std::size_t raw_baseline::read_replies() {
    const std::size_t n =
        due_ == 0 ? socket_.receive(buffer_) : socket_.receive_or_writable(buffer_);
    return replies_.feed({buffer_.data(), n});
}

}  // namespace conch::bench
