// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_TOPOLOGY_SENTINEL_HPP
#define CONCH_SRC_TOPOLOGY_SENTINEL_HPP

#include "core/log.hpp"
#include "core/repeated_log.hpp"
#include "topology/discovery_timeouts.hpp"
#include "topology/master_belief.hpp"
#include "wire/connection.hpp"
#include "wire/link.hpp"

#include <conch/config.hpp>
#include <conch/stats.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace conch::topology {

/// Asks sentinels where the master is, and tells its links: when one has no connection, when a
/// sentinel announces a failover, and from time to time.
///
/// A sentinel that was cut off together with an old master goes on to name it. So at each look the
/// next one is asked, and listened to, on one connection at a time; `master_belief` says whom to
/// believe. Where one may not tell how new its configuration is, the others are not asked as long
/// as it answers.
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
    /// No master was met there, or `replica`, one: a sentinel that goes on to name it makes way for
    /// the next one, at once if it is a replica.
    void not_there(const wire::address& at, bool replica);
    /// A master was met.
    void there() noexcept {
        missed_ = {};
        belief_.met();
    }
    /// The connection to the sentinel that is asked at present.
    wire::connection& connection() noexcept { return connection_; }
    void close();

private:
    struct question : wire::call {
        question(const wire::call_type& t, sentinel& s) noexcept : call{t}, home{s} {}
        sentinel& home;
    };

    static config settings_of(const config& all);
    static void encode_epoch(wire::call& c, resp::writer& w);
    static void encode_place(wire::call& c, resp::writer& w);
    static void epoch_done(wire::call& c, const wire::outcome& o);
    static void place_done(wire::call& c, const wire::outcome& o);
    static void on_news(void* self, wire::news what);
    static void on_poll(void* self);
    static void on_ready(void* self);
    static void on_address_needed(void* self, bool was_ready);
    static const wire::call_type epoch_type;
    static const wire::call_type place_type;

    void answered(const resp::value& reply);
    void go_on(bool at_once);
    void blame(errc reason) noexcept;
    bool believes(const wire::address& at);
    void turn_to_next() noexcept;
    void fail(errc why, const std::string& words);
    void next_poll(duration within);
    wire::address address_of(std::size_t which) const;

    const sentinel_options& options_;
    discovery_timeouts timeouts_;
    core::timer_heap& timers_;
    core::random& jitter_;
    const core::log& log_;
    const time_point& now_;
    core::repeated_log repeated_;
    wire::link& master_;
    wire::link& durable_;  // to the same
    wire::link_events events_;
    stats ignored_{};
    core::log log_of_link_;   // that one connection is made after the other is nothing special
    std::size_t asked_ = 0;   // which of them is
    std::size_t failed_ = 0;         // so many of them in a row, since one answered
    std::size_t refused_ = 0;        // so many of these would refuse again
    errc why_{};                     // this one would
    errc reason_{};                  // the first that would, of those that failed
    std::string reason_words_{};     // its own, else those of the last that failed
    wire::address missed_{};         // where no master was met
    time_point missed_since_{};
    bool is_replica_ = false;                  // there
    std::optional<std::int64_t> its_epoch_{};  // of the one that is asked, if it told
    master_belief belief_;
    bool again_ = false;    // there was news after it was asked
    bool warned_ = false;
    bool closed_ = false;
    question epoch_question_{epoch_type, *this};
    question place_question_{place_type, *this};
    wire::listener listener_{this, &sentinel::on_news};
    core::timer poll_{this, &sentinel::on_poll};
    std::string words_{};
    wire::connection connection_;
    wire::link link_;
};

}  // namespace conch::topology

#endif
