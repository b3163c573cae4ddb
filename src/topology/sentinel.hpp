// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_TOPOLOGY_SENTINEL_HPP
#define CONCH_SRC_TOPOLOGY_SENTINEL_HPP

#include "wire/link.hpp"

#include <conch/config.hpp>
#include <conch/stats.hpp>

#include <cstddef>
#include <string>

namespace conch::topology {

/// Asks sentinels, one after the other, where the master is, and tells its links: when one has no
/// connection, when a sentinel announces a failover, and from time to time.
class sentinel {
public:
    /// Of `settings.sentinel`. `lost`: is told why all sentinels refuse.
    sentinel(const config& settings, core::timer_heap& timers, core::random& jitter,
             const core::log& log, const time_point& now, wire::link& master, wire::link& durable,
             wire::link_events events);
    sentinel(const sentinel&) = delete;
    sentinel& operator=(const sentinel&) = delete;
    ~sentinel();

    /// Asks soon; connects for it if need be.
    void ask();
    /// No master was met there: a sentinel that goes on to name it makes way for the next one.
    void not_there(const wire::address& at);
    /// The connection to the sentinel that is asked at present.
    wire::link& link() noexcept { return link_; }
    const wire::link& link() const noexcept { return link_; }
    void close();

private:
    struct question : wire::call {
        explicit question(sentinel& s) noexcept : call{sentinel::type}, home{s} {}
        sentinel& home;
    };

    static config settings_of(const config& all);
    static void encode(wire::call& c, resp::writer& w);
    static void done(wire::call& c, const wire::outcome& o);
    static void on_news(void* self, wire::news what);
    static void on_poll(void* self);
    static void on_astray(void* self, bool was_ready);
    static const wire::call_type type;

    void answered(const resp::value& reply);
    void fail(errc why, const std::string& words);
    void next_poll();
    wire::address address_of(std::size_t which) const;

    const sentinel_options& options_;
    const config settings_;  // of the connection to a sentinel
    core::timer_heap& timers_;
    core::random& jitter_;
    const core::log& log_;
    const time_point& now_;
    wire::link& master_;
    wire::link& durable_;  // to the same
    wire::link_events events_;
    stats ignored_{};
    std::size_t asked_ = 0;    // which of them is
    std::size_t failed_ = 0;   // so many of them in a row, since one answered
    std::size_t refused_ = 0;  // so many of these would refuse again
    errc why_{};               // this one would
    wire::address missed_{};   // where no master was met
    time_point missed_since_{};
    bool closed_ = false;
    question question_{*this};
    wire::listener listener_{this, &sentinel::on_news};
    core::timer poll_{this, &sentinel::on_poll};
    std::string words_{};
    wire::link link_;
};

}  // namespace conch::topology

#endif
