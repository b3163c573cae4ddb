// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_TOPOLOGY_SERVERS_HPP
#define CONCH_SRC_TOPOLOGY_SERVERS_HPP

#include "topology/sentinel.hpp"
#include "wire/link.hpp"

#include <conch/config.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace conch::topology {

/// The connections of one client: which of them serves a key, and which there are. One server
/// serves every key: that of the settings, or the master that sentinels name. It has a connection
/// of its own for locks that wait for replicas, as that blocks a connection; not before one is
/// used.
class servers {
public:
    servers(const config& settings, core::timer_heap& timers, core::random& jitter,
            const core::log& log, stats& counters, const time_point& now, wire::link_events events,
            wire::link_events durable_events);
    servers(const servers&) = delete;
    servers& operator=(const servers&) = delete;

    // For the locks.

    /// `durable`: what is written shall be waited for.
    wire::link& serving(std::string_view /*key*/, bool durable = false) noexcept {
        return durable ? durable_ : main_;
    }
    wire::link& durable() noexcept { return durable_; }
    const wire::link& durable() const noexcept { return durable_; }
    wire::link& main() noexcept { return main_; }
    const wire::link& main() const noexcept { return main_; }

    /// What a server said last.
    const std::string& last_words() const noexcept;

    // For the driver. The first is `main()`, the last `durable()`.

    std::size_t count() const noexcept { return sentinel_ ? 3 : 2; }
    bool is_sentinel(std::size_t i) const noexcept { return i == 1 && sentinel_; }
    wire::link& at(std::size_t i) noexcept {
        return i == 0 ? main_ : is_sentinel(i) ? sentinel_->link() : durable_;
    }
    const wire::link& at(std::size_t i) const noexcept {
        return i == 0 ? main_ : is_sentinel(i) ? sentinel_->link() : durable_;
    }
    void set_now(time_point now) noexcept;
    void close();

private:
    static void on_ready(void* self);
    static void on_durable_ready(void* self);
    static void on_lost(void* self, errc lasting_reason);
    static void on_durable_lost(void* self, errc lasting_reason);
    static void on_homeless(void* self, errc lasting_reason);
    static void on_astray(void* self, bool was_ready);
    static void on_durable_astray(void* self, bool was_ready);
    void ask_for(const wire::link& astray, bool was_ready);

    wire::link_events events_;
    wire::link_events durable_events_;
    wire::link main_;
    wire::link durable_;
    std::optional<sentinel> sentinel_{};
};

}  // namespace conch::topology

#endif
