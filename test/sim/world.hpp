// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_WORLD_HPP
#define CONCH_TEST_SIM_WORLD_HPP

#include "core/random.hpp"

#include <cstdint>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

namespace conch::sim {

/// True time, in nanoseconds since the simulation began: the server's, and the one in which bytes
/// travel. Clients have clocks of their own.
using instant = std::int64_t;

inline constexpr instant micros = 1'000;
inline constexpr instant millis = 1'000'000;
inline constexpr instant seconds = 1'000'000'000;

/// Chance, from the one seed of a run.
class dice {
public:
    explicit dice(std::uint64_t seed) noexcept : random_{seed} {}

    /// From 0 to n - 1; 0 if n is 0.
    std::uint64_t below(std::uint64_t n) noexcept { return n == 0 ? 0 : random_.next() % n; }
    /// Evenly from [from, to].
    std::int64_t between(std::int64_t from, std::int64_t to) noexcept {
        return from + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(to - from) + 1));
    }
    /// True once in so many times.
    bool once_in(std::uint64_t n) noexcept { return below(n) == 0; }
    /// From [from, to], short ones as often as long ones: each doubling is equally likely.
    std::int64_t spread(std::int64_t from, std::int64_t to) noexcept;
    std::uint64_t seed() noexcept { return random_.next(); }

private:
    core::random random_;
};

/// Virtual time, what is going to happen in it, and the trace of what did. Everything that happens
/// in a simulation is one of its events; two events of one moment happen in the order in which they
/// were planned.
class world {
public:
    explicit world(std::uint64_t seed, bool print = false) : chance{seed}, print_{print} {}
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    instant now() const noexcept { return now_; }
    /// Plans `what(owner, a, b)` for this moment, or for now if that is over. The owner must live
    /// until then.
    void at(instant when, void (*what)(void* owner, std::uint64_t a, std::uint64_t b), void* owner,
            std::uint64_t a = 0, std::uint64_t b = 0);
    /// The same for a member: `plan<&network::deliver>(when, this, connection)`.
    template <auto Member, typename Owner>
    void plan(instant when, Owner* owner, std::uint64_t a = 0, std::uint64_t b = 0) {
        at(
            when,
            [](void* o, std::uint64_t x, std::uint64_t y) {
                (static_cast<Owner*>(o)->*Member)(x, y);
            },
            owner, a, b);
    }
    /// The next event; false if there is none before or at `until`: then it is `until`.
    bool step(instant until);

    /// One line of the trace: what happened to whom, and two numbers that say how.
    void note(std::string_view what, std::uint64_t whom = 0, std::uint64_t how = 0);
    /// Bytes of the wire, printed only: they are no part of the trace's hash.
    void show(std::string_view whose, std::uint64_t number, std::string_view bytes) const;
    /// Of all lines so far.
    std::uint64_t trace_hash() const noexcept { return hash_; }
    std::uint64_t events() const noexcept { return events_; }

    dice chance;

private:
    struct event {
        instant at;
        std::uint64_t order;
        void (*what)(void*, std::uint64_t, std::uint64_t);
        void* owner;
        std::uint64_t a;
        std::uint64_t b;
    };
    struct later {
        bool operator()(const event& x, const event& y) const noexcept {
            return x.at != y.at ? x.at > y.at : x.order > y.order;
        }
    };

    std::priority_queue<event, std::vector<event>, later> queue_{};
    instant now_ = 0;
    std::uint64_t order_ = 0;
    std::uint64_t events_ = 0;
    std::uint64_t hash_ = 0xcbf29ce484222325u;
    bool print_;
};

}  // namespace conch::sim

#endif
