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
    /// With `rate_algorithm::gcra`: how many of them may be taken at once. From 1 to `limit`; 0,
    /// the default: `limit`. The other algorithms have none.
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
    /// Permits come back one by one at an even pace, `limit` of them in a window, until there are
    /// `burst` of them (the generic cell rate algorithm, a token bucket). One short string on the
    /// server, however many ask. In any interval at most `burst` and what comes back meanwhile is
    /// granted: with a burst of 1 the calls are spread evenly; with the whole limit, an interval of
    /// the window's length may see up to twice the limit.
    gcra,
};

/// What the server said of a request for permits.
struct rate_verdict {
    /// The permits were granted, and count from now on.
    bool allowed = false;
    /// Permits in the window, with those that were just granted; with `gcra`, those that are not
    /// back.
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
