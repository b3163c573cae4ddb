// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WIRE_REPLY_ROUTER_HPP
#define CONCH_SRC_WIRE_REPLY_ROUTER_HPP

#include "core/log.hpp"
#include "core/repeated_log.hpp"
#include "core/timer_heap.hpp"
#include "wire/connection.hpp"
#include "wire/delayed_calls.hpp"
#include "wire/link_events.hpp"
#include "wire/pipeline.hpp"
#include "wire/subscriptions.hpp"

#include <conch/stats.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace conch::wire {

/// What a server says on a link's connection: an answer ends its call, or sends it again, later or
/// elsewhere; a message goes to those who listen to its channel.
class reply_router {
public:
    /// `of`: on whose connection calls are answered. `events`: whom to tell of redirections.
    reply_router(link& of, connection& c, subscriptions& channels, delayed_calls& delayed,
                 const link_events& events, core::timer_heap& timers, const core::log& log,
                 stats& counters);
    reply_router(const reply_router&) = delete;
    reply_router& operator=(const reply_router&) = delete;

    void said(const resp::value& message);
    /// As `link::part_refused`.
    bool part_refused(std::string_view words);
    /// Tells the log what has not been told yet.
    void close() { refusals_.close(); }

private:
    void handle_push(const resp::value& push);
    bool is_misdirected(const call* c, const resp::value& reply);
    void answer(call& c, const resp::value& reply);
    void answer_joined(std::size_t count, const resp::value& replies);
    void refused_together(std::size_t count, const resp::value& reply);
    bool redirect(call& c, std::string_view words);
    bool moved_away(call& c, std::string_view words);
    bool demoted(std::string_view words);
    std::string refused_for_now() const;
    void log_refusal(std::string_view words);

    link& of_;
    connection& connection_;
    pipeline& pipeline_;
    subscriptions& channels_;
    delayed_calls& delayed_;
    const link_events& events_;
    stats& counters_;
    core::repeated_log refusals_;
};

}  // namespace conch::wire

#endif
