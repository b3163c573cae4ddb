// SPDX-License-Identifier: BSL-1.0
#include "raw_baseline.hpp"

#include "direct_access.hpp"
#include "greeting.hpp"
#include "raw_command.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace conch::bench {
namespace {

constexpr std::size_t buffer_size = 64 * 1024;

/// Of a number in decimal, whose last digit stands there.
void count_up(char* digit) {
    for (; *digit == '9'; --digit) {
        *digit = '0';
    }
    ++*digit;
}

}  // namespace

std::string raw_name(std::size_t slot) { return std::string{tag} + ":raw:" + std::to_string(slot); }

std::vector<slot_command> lock_commands(bool sharded, std::size_t locks) {
    std::vector<slot_command> all;
    const auto name = [](std::size_t i, std::size_t k) {
        return k == 0 ? raw_name(i) : raw_name(i) + ':' + std::to_string(k);
    };
    for (std::size_t k = 0; k < locks; ++k) {
        all.emplace_back(
            [=](std::string& out, std::size_t i) { append_acquire(out, name(i, k), field_of(i)); });
    }
    for (std::size_t k = 0; k < locks; ++k) {
        all.emplace_back([=](std::string& out, std::size_t i) {
            append_release(out, name(i, k), field_of(i), channel_of(name(i, k)), sharded);
        });
    }
    return all;
}

std::vector<slot_command> permit_commands(std::size_t permits, bool sharded) {
    return {[=](std::string& out, std::size_t i) {
                append_take_permits(out, raw_name(i), i, permits, sharded);
            },
            [=](std::string& out, std::size_t i) {
                append_give_permits(out, raw_name(i), i, permits, sharded);
            }};
}

std::vector<slot_command> verdict_commands(const rate& allowed) {
    return {[=](std::string& out, std::size_t i) { append_ask_rate(out, raw_name(i), allowed); }};
}

std::vector<slot_command> count_down_commands() {
    return {[](std::string& out, std::size_t i) { append_count_down(out, raw_name(i), i); }};
}

std::vector<slot_command> counting_commands(bool sharded) {
    return {
        [](std::string& out, std::size_t i) { append_take_permit(out, raw_name(i), i); },
        [=](std::string& out, std::size_t i) { append_give_permit(out, raw_name(i), i, sharded); }};
}

raw_baseline::raw_baseline(const config& server, std::size_t depth,
                           const std::vector<slot_command>& each, reply_counter replies)
    : socket_{server},
      replies_{replies},
      depth_{depth},
      last_{(each.size() - 1) * depth},
      begun_(depth),
      buffer_(buffer_size) {
    greet(socket_, server);
    for (const slot_command& c : each) {
        for (std::size_t i = 0; i < depth_; ++i) {
            append(c, i);
        }
    }
    starts_.push_back(commands_.size());
}

void raw_baseline::append(const slot_command& c, std::size_t slot) {
    starts_.push_back(commands_.size());
    c(commands_, slot);
    const std::size_t number = commands_.find(fresh_number, starts_.back());
    fresh_.push_back(number == commands_.npos ? 0 : number + fresh_number.size() - 1);
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
        const std::size_t rest_of_round = next_ == 0 ? 0 : last_ + depth_ - next_;
        const std::size_t more = stopping ? std::min(replies, rest_of_round) : replies;
        allow(more, now);
        under_way = under_way - replies + more;
    }
    last_count_ = latencies_us_.size();
    return meter.finish(std::exchange(latencies_us_, {}));
}

void raw_baseline::allow(std::size_t commands, clock::time_point now) {
    const std::size_t all = last_ + depth_;
    const std::size_t before_end = std::min(commands, all - next_);
    due_ += starts_[next_ + before_end] - starts_[next_];
    due_ += starts_[commands - before_end];
    for (std::size_t i = 0; i < commands; ++i) {
        if (next_ < depth_) {
            begun_[next_] = now;
        }
        if (fresh_[next_] != 0) {
            count_up(&commands_[fresh_[next_]]);
        }
        next_ = next_ + 1 == all ? 0 : next_ + 1;
    }
}

void raw_baseline::answered(std::size_t replies, clock::time_point now) {
    for (std::size_t i = 0; i < replies; ++i) {
        if (expected_ >= last_) {
            const std::chrono::duration<double, std::micro> d = now - begun_[expected_ - last_];
            latencies_us_.push_back(d.count());
        }
        expected_ = expected_ + 1 == last_ + depth_ ? 0 : expected_ + 1;
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
