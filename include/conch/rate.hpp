// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_RATE_HPP
#define CONCH_RATE_HPP

#include <conch/clock.hpp>

#include <cstdint>

namespace conch {

/// How much a rate limit allows.
struct rate {
    /// So many permits. From 1 to 1,000,000,000.
    std::uint64_t limit = 1;
    /// In so much time. From 1 ms to one year; counted in whole milliseconds, rounded up.
    duration window = std::chrono::seconds{1};
    /// With `rate_algorithm::gcra`: how many permits are kept ready at most, to be taken at once.
    /// From 1 to `limit`. Default: 0, which means `limit`. With another algorithm a burst is an
    /// error.
    std::uint64_t burst = 0;
};

/// What "in a window" means.
enum class rate_algorithm {
    /// The window that ends now, whenever now is: never more than `limit` permits in any interval
    /// of the window's length, by the server's clock. The server keeps the time of each call that
    /// was granted something, for one window: some 100 bytes a call, and when many are over at once
    /// it does nothing else while it drops them (100,000 in about 0.2 s). Above some 10,000 calls
    /// a window, prefer `fixed_window`.
    sliding_log,
    /// A window begins with the first permit after the last one ended, and counts from zero: one
    /// counter on the server, but an interval that contains the seam of two windows may see up to
    /// twice the limit.
    fixed_window,
    /// A permit that was taken comes back; one comes back each `window / limit`, until `burst` of
    /// them are ready (the generic cell rate algorithm, which is a token bucket). In an interval of
    /// length t at most `burst + limit * t / window` permits are granted. So a burst of 1 spreads
    /// the calls evenly, and the default burst lets up to twice the limit pass within a window. The
    /// server keeps one short string, however many ask.
    gcra,
};

/// What the server said of a request for permits.
struct rate_verdict {
    /// The permits were granted, and count from now on.
    bool allowed = false;
    /// Permits in the window, with those that were just granted; with `gcra`, those that were taken
    /// and are not back yet.
    std::uint64_t count = 0;
    /// The limit that was applied; with `gcra`, the burst.
    std::uint64_t limit = 0;
    /// Permits that may be taken now.
    std::uint64_t remaining = 0;
    /// All permits are free again after so long, if nobody takes any: a window and 1 ms at most.
    duration reset_after{};
    /// Refused: asking this client for as much sooner than after so long is in vain; for less, too,
    /// while who was refused waits in front. Zero if allowed.
    duration retry_after{};
};

/// How `rate_limiter::async_acquire` waits.
struct rate_options {
    /// How long the whole call takes at most, the server away or not; who has had no answer by then
    /// gets 100 ms more. Zero: one try, for which the server gets `config::operation_timeout`.
    /// Not negative. Default: `forever`.
    duration wait = forever;
};

}  // namespace conch

#endif
