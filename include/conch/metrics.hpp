// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_METRICS_HPP
#define CONCH_METRICS_HPP

#include <conch/clock.hpp>
#include <conch/observer.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace conch {

/// How an acquire ended.
enum class wait_outcome {
    granted,
    busy,           ///< a try found the lock held
    timed_out,      ///< `lock_options::wait` was over
    cancelled,      ///< by its caller
    not_connected,  ///< no server answered
    deadlock,       ///< it would have waited for ever: `config::deadlock_detection`
    failed,         ///< any other error
};
/// How a hold ended.
enum class hold_end {
    released,  ///< or detached
    lost,      ///< see `loss_reason`
    closed,    ///< with its client
};
/// Why a hold was lost: as the values of `errc` of these names.
enum class loss_reason {
    lease_expired,
    renewal_refused,
    lock_lost,
    lost_in_failover,
    max_hold_reached,
    no_progress,
};
/// How a request to a rate limit ended.
enum class rate_outcome {
    granted,
    refused,  ///< or not granted in time
    failed,   ///< by an error, or cancelled
};

/// How this acquire ended.
wait_outcome outcome_of(const wait_span& w) noexcept;
/// How this hold ended.
hold_end end_of(const hold_span& h) noexcept;
/// Why this hold was lost, if its end is `hold_end::lost`.
loss_reason loss_of(const hold_span& h) noexcept;

/// The enumerator, as a label's value: "timed_out".
std::string_view to_string(wait_outcome o) noexcept;
/// The enumerator, as a label's value.
std::string_view to_string(hold_end e) noexcept;
/// The enumerator, as a label's value.
std::string_view to_string(loss_reason r) noexcept;
/// The enumerator, as a label's value.
std::string_view to_string(rate_outcome o) noexcept;

/// Durations that were counted by their length.
struct duration_histogram {
    /// The greatest duration of each bucket: from 0.1 ms to an hour. What is longer is in one more.
    static constexpr std::array<duration, 20> bounds{
        std::chrono::microseconds{100},  std::chrono::microseconds{250},
        std::chrono::microseconds{500},  std::chrono::milliseconds{1},
        std::chrono::microseconds{2500}, std::chrono::milliseconds{5},
        std::chrono::milliseconds{10},   std::chrono::milliseconds{25},
        std::chrono::milliseconds{50},   std::chrono::milliseconds{100},
        std::chrono::milliseconds{250},  std::chrono::milliseconds{500},
        std::chrono::seconds{1},         std::chrono::milliseconds{2500},
        std::chrono::seconds{5},         std::chrono::seconds{10},
        std::chrono::seconds{30},        std::chrono::minutes{1},
        std::chrono::minutes{5},         std::chrono::hours{1}};

    /// Those in each bucket alone (not with those below it); the last has no bound.
    std::array<std::uint64_t, bounds.size() + 1> counts{};
    /// All durations together.
    duration sum{};

    /// How many were counted.
    std::uint64_t count() const noexcept;
};

/// What is known of the locks, or the rate limits, of one class. An array has one element for each
/// enumerator, in their order.
struct class_metrics {
    /// The class.
    std::string name{};
    /// Acquires that ended, from their call to their answer, by `wait_outcome`.
    std::array<duration_histogram, 7> waits{};
    /// Holds that ended, from their grant on, by `hold_end`. Nested holds count for themselves.
    std::array<duration_histogram, 3> holds{};
    /// Holds that were lost, by `loss_reason`.
    std::array<std::uint64_t, 6> lost{};
    /// Acquires that were granted and that nobody kept waiting.
    std::uint64_t acquired_uncontended = 0;
    /// Acquires that were granted after another holder or waiter kept them waiting.
    std::uint64_t acquired_contended = 0;
    /// Permits of rate limits, by `rate_outcome`.
    std::array<std::uint64_t, 3> rate_permits{};
    /// Now: acquires that have no answer yet.
    std::uint64_t waiting_now = 0;
    /// Now: holds, nested ones too.
    std::uint64_t held_now = 0;
    /// Now: those of them that are older than `metrics_options::long_hold`.
    std::uint64_t held_long_now = 0;

    /// Whether a lock of it was ever asked for: it may be a class of rate limits alone.
    bool has_locks() const noexcept;
};

/// What `metrics` counted.
struct metrics_snapshot {
    /// The classes that were met, in the order of their first event. "other" stands behind them
    /// once it was needed.
    std::vector<class_metrics> classes{};
    /// How much later than due the renewals of all locks were sent.
    duration_histogram renewal_lateness{};
    /// Now: connections to servers of locks that are up, of all clients together. They are not told
    /// apart by address: in a cluster, or where a server comes back at another address, a series
    /// for each would go on growing, and what is left of an old one would look like an outage.
    std::uint64_t connections_up = 0;
    /// Now: those that are wanted and not up. Anything but 0 for more than seconds is an outage, of
    /// one server at least. Those that are `connection_state::unused` are in neither.
    std::uint64_t connections_down = 0;
};

/// What `metrics` distinguishes.
struct metrics_options {
    /// The class of a lock or of a rate limit, by its name: "orders" of "orders:4711". Each class
    /// costs memory here and dozens of series in a time-series database: so it must not be the name
    /// itself, an id or anything else that goes on growing.
    ///
    /// From 1 to 64 printable ASCII characters; anything else is counted as "other", as is a name
    /// for which the function throws. Must answer the same for the same name, and be safe to be
    /// called by several threads at once if several clients share the `metrics`. Called for
    /// the first wait of each `mutex` or other object, and for each request to a rate limit, on the
    /// client's strand: it must not block, and better doesn't allocate. What it gives is copied at
    /// once. Default: none, all are of the class "all".
    std::function<std::string_view(std::string_view name)> class_of{};
    /// So many classes are distinguished; those that come later are "other". From 1 to 1,000;
    /// default 64.
    std::size_t max_classes = 64;
    /// A hold is a long one after so long: see `class_metrics::held_long_now`, which is that exact
    /// to 1/60 of it. From 1 s to a year; default 1 h.
    duration long_hold = std::chrono::hours{1};
};

/// Counts waits, holds, losses, renewals, requests to rate limits and connections, as an observer
/// of one client or of several:
///
/// `auto m = std::make_shared<conch::metrics>(); config.observer = m;`
///
/// `prometheus_collectable` gives what it counted to Prometheus, `opentelemetry_observer` to
/// OpenTelemetry. Of a `quorum_mutex` and a
/// `multi_lock`, it counts the holds of their members.
///
/// Cost: an event adds to a few counters, and allocates only at the first of its class.
///
/// Thread safety: safe. Lifetime: a client keeps its observer.
class metrics final : public observer {
public:
    /// Throws `std::invalid_argument` for an option out of its range.
    explicit metrics(metrics_options options = {});
    metrics(const metrics&) = delete;
    metrics& operator=(const metrics&) = delete;
    /// What was snapshot stays.
    ~metrics() override;

    /// The class that the lock is counted in. Valid as long as this.
    std::string_view class_of(const wait_span& w) noexcept;
    /// The same.
    std::string_view class_of(const hold_span& h) noexcept;

    /// What was counted so far. Events that happen meanwhile may be in it in part.
    metrics_snapshot snapshot() const;

    // Called by the client.

    /// Counts a waiter.
    void wait_began(const wait_span& w) noexcept override;
    /// Counts how the wait ended, and after how long.
    void waited(const wait_span& w) noexcept override;
    /// Counts a holder.
    void hold_began(const hold_span& h) noexcept override;
    /// Counts how the hold ended, and after how long.
    void held(const hold_span& h) noexcept override;
    /// Counts how late the renewal was.
    void renewed(const renewal_span& r) noexcept override;
    /// Counts the permits.
    void rate_asked(const rate_span& r) noexcept override;
    /// Counts the connections that are up, and those that are down.
    void connection_changed(const connection_change& c) noexcept override;

private:
    class counters;
    std::unique_ptr<counters> counters_;
};

}  // namespace conch

#endif
