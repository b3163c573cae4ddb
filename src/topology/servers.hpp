// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_TOPOLOGY_SERVERS_HPP
#define CONCH_SRC_TOPOLOGY_SERVERS_HPP

#include "topology/sentinel.hpp"
#include "wire/link.hpp"

#include <conch/config.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

namespace conch::topology {

/// The connections of one client: which of them serves a key, and which there are. One server
/// serves every key: that of the settings, or the master that sentinels name.
class servers {
public:
    servers(const config& settings, core::timer_heap& timers, core::random& jitter,
            const core::log& log, stats& counters, const time_point& now, wire::link_events events);
    servers(const servers&) = delete;
    servers& operator=(const servers&) = delete;

    // For the locks.

    wire::link& serving(std::string_view /*key*/) noexcept { return main_; }
    wire::link& main() noexcept { return main_; }
    const wire::link& main() const noexcept { return main_; }

    // For the driver. The first is `main()`.

    std::size_t count() const noexcept { return sentinel_ ? 2 : 1; }
    wire::link& at(std::size_t i) noexcept { return i == 0 ? main_ : sentinel_->link(); }
    const wire::link& at(std::size_t i) const noexcept {
        return i == 0 ? main_ : sentinel_->link();
    }
    void set_now(time_point now) noexcept;
    void close();

private:
    static void on_ready(void* self);
    static void on_lost(void* self, errc lasting_reason);
    static void on_astray(void* self, bool was_ready);

    wire::link_events events_;
    wire::link main_;
    std::optional<sentinel> sentinel_{};
};

}  // namespace conch::topology

#endif
