// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_WANTED_LATELY_HPP
#define CONCH_SRC_WAIT_WANTED_LATELY_HPP

#include <conch/clock.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <string_view>

namespace conch::lock {

/// Which names several waiters wanted a moment ago. A guess, of fixed size: it may forget a name,
/// or mistake one for another.
class wanted_lately {
public:
    void note(std::string_view name, time_point now) noexcept {
        const std::size_t h = hash(name);
        all_[h % all_.size()] = {h, now};
    }
    bool has(std::string_view name, time_point now) const noexcept {
        const std::size_t h = hash(name);
        const entry& e = all_[h % all_.size()];
        return e.hash == h && e.at != time_point{} && now - e.at < moment;
    }

private:
    static constexpr duration moment = std::chrono::seconds{1};

    struct entry {
        std::size_t hash = 0;
        time_point at{};  ///< the epoch: none
    };

    static std::size_t hash(std::string_view name) noexcept {
        return std::hash<std::string_view>{}(name);
    }

    std::array<entry, 64> all_{};
};

}  // namespace conch::lock

#endif
