// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_TOKEN_SCENE_HPP
#define CONCH_TEST_INTEGRATION_TOKEN_SCENE_HPP

#include "support/attempt.hpp"
#include "support/redis_test.hpp"

#include <conch/counting_semaphore.hpp>
#include <conch/latch.hpp>
#include <conch/multi_lock.hpp>
#include <conch/rate_limiter.hpp>
#include <conch/semaphore.hpp>
#include <conch/shared_mutex.hpp>
#include <conch/token_mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace conch::test {

/// What takes a `mutex` takes them all. `several`: a `multi_lock` of two; `permits`: the only one
/// of a semaphore; `writer`: a `shared_mutex` for writing; `reader`: the same for reading; `token`:
/// a `token_mutex`.
enum class lock_kind { plain, fair, several, permits, writer, reader, token };

/// What every operation of the matrix works on: a client that has taken "held", and a free "asked".
struct scene {
    scene(asio::io_context& context, raw_client& r, const config& settings, lock_kind of);

    /// Another operation of the client succeeds.
    void expect_usable();
    /// Runs until `condition()`; the test fails if it doesn't come true.
    template <typename Condition>
    void expect(Condition condition, const char* what) {
        EXPECT_TRUE(run_until(io, condition)) << what;
    }

    /// A stranger takes "asked", and gives it back. It is a writer where this kind reads: another
    /// reader would be no obstacle.
    void take_asked();
    void give_back_asked();
    /// A stranger, which `holder()` names, has "asked" as a lock of this kind has it.
    void hold_asked();
    std::string holder() const;
    /// At the server: nothing is left of who had it, or waited for it.
    bool free(const std::string& name);
    /// At the server, in ms: of several keys the first one to end. Negative if it isn't held.
    std::int64_t lease_left(const std::string& name);

    asio::io_context& io;
    raw_client& raw;
    client c;
    const lock_kind kind;
    mutex m;                       ///< "asked"
    mutex alone{c, "asked"};       ///< of `several` the first,
    mutex beside{c, "asked-too"};  ///< and the second
    rate_limiter calls{c, "asked", {.limit = 1, .window = 60s}, rate_algorithm::fixed_window};
    rate_limiter paced{c, "asked", {.limit = 1, .window = 60s}, rate_algorithm::gcra};
    counting_semaphore counter{c, "asked"};
    semaphore leased{c, "asked"};
    shared_mutex shared{c, "asked"};
    latch starting{c, "asked"};
    std::uint64_t permits = 1;
    lock_options options{};
    hold h{};
    std::size_t slots = 0;  ///< of the client, for that hold
    std::optional<lock_attempt> before{};
    error_code at_once{};  ///< what `fail_at_once` leads to

private:
    mutex lock_of(const std::string& name) const;
};

/// How often a handler was called, and with what.
template <typename Value>
struct outcome {
    int calls = 0;
    error_code ec{};
    Value value{};

    void operator()(error_code e) { (*this)(e, Value{}); }
    void operator()(error_code e, Value v) {
        ++calls;
        ec = e;
        value = std::move(v);
    }
};

/// A handler that leaves its arguments here. Operations with equal values share the type: what Asio
/// makes of a handler's type is most of what a column costs to compile.
template <typename Value>
struct noting {
    void operator()(error_code ec) { (*this)(ec, Value{}); }
    void operator()(error_code ec, Value v) {
        if (before) {
            before();
        }
        (*o)(ec, std::move(v));
        if (after) {
            after();
        }
    }
    outcome<Value>* o = nullptr;
    std::function<void()> before{};
    std::function<void()> after{};
};

/// Those that end in one script, which waits in the server while that is paused.
struct asking {
    static constexpr lock_kind kinds[] = {lock_kind::plain};
    static void prepare(scene&) {}
    static void park(scene& s) { s.raw.pause_writes(60s); }
    static void unpark(scene& s) { s.raw.unpause(); }
};

}  // namespace conch::test

#endif
