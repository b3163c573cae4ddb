// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_TOPOLOGY_CLUSTER_HPP
#define CONCH_SRC_TOPOLOGY_CLUSTER_HPP

#include "core/repeated_log.hpp"
#include "topology/discovery_timeouts.hpp"
#include "topology/node_list.hpp"
#include "topology/slot_map.hpp"
#include "wire/connection.hpp"
#include "wire/link.hpp"

#include <conch/config.hpp>
#include <conch/stats.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conch::topology {

/// What is heard of a cluster.
struct cluster_events {
    void* owner = nullptr;
    /// A node told which master serves which hash slots; at least one master serves some.
    void (*learned)(void* owner, const std::vector<slot_range>& ranges) = nullptr;
    /// All nodes refuse to tell, and would again.
    void (*lost)(void* owner, errc lasting_reason) = nullptr;
    /// Is asked from time to time: there are calls that a server put off, and that wait for that.
    bool (*put_off)(void* owner) = nullptr;
};

/// Asks the nodes of a cluster which master serves which hash slots: when it is told to, and from
/// time to time. It has a connection of its own, as the masters' connections may be the trouble.
///
/// It stays with a node that answers. What nodes tell has no epoch, and one that was cut off from
/// the others tells of masters that are none any more: to go round without need would lead there
/// and back. But who goes by such a table is refused (CLUSTERDOWN), finds no master, or is sent on
/// (MOVED) to one that the table does not have. Then the next node is asked: at once where the
/// table contradicts MOVED, which is believed until then; else when calls were put off at two looks
/// in a row.
class cluster {
public:
    /// Of `settings.cluster`. `last_words`: gets what a node says that refuses.
    cluster(const config& settings, core::timer_heap& timers, core::random& jitter,
            const core::log& log, const time_point& now, std::string& last_words,
            cluster_events events);
    cluster(const cluster&) = delete;
    cluster& operator=(const cluster&) = delete;
    ~cluster();

    /// Asks soon; connects for it if need be.
    void ask();
    /// No master was met there, or `replica`, one: a node that goes on to name it makes way for the
    /// next one, at once if it is a replica.
    void not_there(const wire::address& at, bool replica);
    /// One was met.
    void there(const wire::address& at);
    /// A server says that this hash slot is there (MOVED). A node that does not know that is left
    /// for the next one.
    void moved(std::uint16_t hash_slot, const wire::address& to);
    /// A node that the one at `by` tells of, as the client reaches it; none if it can't.
    std::optional<wire::address> reached(const wire::address& told, const wire::address& by) const;
    /// Release messages go by SPUBLISH. Known when `learned` is called.
    bool sharded() const noexcept { return sharded_; }
    wire::connection& connection() noexcept { return connection_; }
    void close();

private:
    struct question : wire::call {
        question(const wire::call_type& t, cluster& c) noexcept : call{t}, home{c} {}
        cluster& home;
    };

    struct missed {
        wire::address at{};
        time_point since{};
        bool replica = false;
    };

    static void encode_slots(wire::call& c, resp::writer& w);
    static void encode_sharded(wire::call& c, resp::writer& w);
    static void slots_done(wire::call& c, const wire::outcome& o);
    static void sharded_done(wire::call& c, const wire::outcome& o);
    static void on_poll(void* self);
    static void on_ready(void* self);
    static void on_address_needed(void* self, bool was_ready);
    static const wire::call_type slots_type;
    static const wire::call_type sharded_type;

    void refused(const std::string& command, std::string_view words);
    void answered(const resp::value& reply);
    std::vector<slot_range> read(const resp::value& reply) const;
    std::optional<slot_range> read_range(const resp::value& one) const;
    const missed* named_of_missed(const std::vector<slot_range>& ranges) const;
    bool contradicts_moved(const std::vector<slot_range>& ranges);
    void fail(errc why, const std::string& words);
    void suspect(const std::string& words);
    void next_poll();

    const cluster_options& options_;
    discovery_timeouts timeouts_;
    core::timer_heap& timers_;
    core::random& jitter_;
    const time_point& now_;
    mutable core::repeated_log repeated_;
    std::string& last_words_;
    cluster_events events_;
    stats ignored_{};
    node_list nodes_;
    std::size_t failed_ = 0;              // so many of them in a row, since one answered
    std::size_t refused_ = 0;             // so many of these would refuse again
    errc why_{};                          // this one would
    std::vector<missed> missed_{};        // where no master was met since
    std::optional<slot_range> moved_{};   // a hash slot that this node knows to have moved
    time_point moved_at_{};
    bool put_off_ = false;                   // calls were, at the last look
    std::optional<time_point> suspected_{};  // when a node was last left that had answered
    bool known_ = false;                     // a node has told
    bool sharded_ = false;
    bool sharded_known_;
    bool closed_ = false;
    std::string words_{};
    question slots_{slots_type, *this};
    question shards_{sharded_type, *this};
    core::timer poll_{this, &cluster::on_poll};
    wire::connection connection_;
    wire::link link_;
};

}  // namespace conch::topology

#endif
