// SPDX-License-Identifier: BSL-1.0
#include "raw_relay.hpp"

#include "greeting.hpp"
#include "raw_command.hpp"

#include <utility>

namespace conch::bench {
namespace {

constexpr std::string_view name = "conch-bench:raw-relay";

}  // namespace

raw_relay::raw_relay(const config& server) : socket_{server}, buffer_(4096) {
    greet(socket_, server);
    const std::string channel = channel_of(name);
    append_acquire(first_, name, field_of(0));
    for (const std::size_t i : {0u, 1u}) {
        append_release(next_.emplace_back(), name, field_of(i), channel);
        append_acquire(next_.back(), name, field_of(1 - i));
    }
    append_release(last_, name, field_of(0), channel);
}

void raw_relay::exchange(std::string_view commands, std::size_t replies) {
    socket_.send(commands);
    for (std::size_t got = 0; got < replies;) {
        const std::size_t n = socket_.receive(buffer_);
        got += replies_.feed({buffer_.data(), n});
    }
}

slice raw_relay::run(const slice_length& length) {
    using clock = std::chrono::steady_clock;
    std::vector<double> latencies;
    latencies.reserve(last_count_ + last_count_ / 2);
    const slice_meter meter;
    auto before = clock::now();
    const auto end = before + std::chrono::duration_cast<clock::duration>(length.time);
    exchange(first_, 1);
    // Two at a time, so that the last release is of the first field.
    while (before < end && latencies.size() < length.pairs) {
        for (const std::string& commands : next_) {
            exchange(commands, 2);
            const auto now = clock::now();
            latencies.push_back(std::chrono::duration<double, std::micro>{now - before}.count());
            before = now;
        }
    }
    exchange(last_, 1);
    last_count_ = latencies.size();
    return meter.finish(std::move(latencies));
}

}  // namespace conch::bench
