// SPDX-License-Identifier: BSL-1.0
#include "sim/world.hpp"

#include <algorithm>
#include <cstdio>

namespace conch::sim {

std::int64_t dice::spread(std::int64_t from, std::int64_t to) noexcept {
    unsigned doublings = 0;
    while (doublings < 62 && (from << (doublings + 1)) <= to) {
        ++doublings;
    }
    const std::int64_t low = from << below(doublings + 1);
    return between(low, std::min(to, 2 * low));
}

void world::at(instant when, void (*what)(void*, std::uint64_t, std::uint64_t), void* owner,
               std::uint64_t a, std::uint64_t b) {
    queue_.push({std::max(when, now_), order_++, what, owner, a, b});
}

bool world::step(instant until) {
    if (queue_.empty() || queue_.top().at > until) {
        now_ = std::max(now_, until);
        return false;
    }
    const event next = queue_.top();
    queue_.pop();
    now_ = next.at;
    ++events_;
    next.what(next.owner, next.a, next.b);
    return true;
}

void world::note(std::string_view what, std::uint64_t whom, std::uint64_t how) {
    // FNV-1a over the words, then each number in one multiplication.
    constexpr std::uint64_t prime = 0x100000001b3u;
    for (const char c : what) {
        hash_ = (hash_ ^ static_cast<unsigned char>(c)) * prime;
    }
    for (const std::uint64_t n : {static_cast<std::uint64_t>(now_), whom, how}) {
        hash_ = (hash_ ^ n) * prime;
        hash_ ^= hash_ >> 29;
    }
    if (print_) {
        std::fprintf(stderr, "%13.6f  %-28.*s %llu %llu\n", static_cast<double>(now_) / 1e6,
                     static_cast<int>(what.size()), what.data(),
                     static_cast<unsigned long long>(whom), static_cast<unsigned long long>(how));
    }
}

void world::show(std::string_view whose, std::uint64_t number, std::string_view bytes) const {
    if (!print_) {
        return;
    }
    std::string text;
    for (const char c : bytes.substr(0, 400)) {
        text.push_back(c == '\r' || c == '\n' ? ' ' : c);
    }
    std::fprintf(stderr, "%13.6f    %.*s %llu: %s\n", static_cast<double>(now_) / 1e6,
                 static_cast<int>(whose.size()), whose.data(),
                 static_cast<unsigned long long>(number), text.c_str());
}

}  // namespace conch::sim
