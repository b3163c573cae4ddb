// SPDX-License-Identifier: BSL-1.0
// One object of each kind, used by many threads at once; and waits that one thread cancels while
// another one ends them.
#include "threads/workers.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

/// Tells a promise how an acquisition ended, with or without a hold.
struct telling {
    void operator()(error_code ec) { (*this)(ec, hold{}); }
    void operator()(error_code ec, hold h) { told.set_value({ec, std::move(h)}); }
    std::promise<lock_result> told{};
};
using cancellable = asio::cancellation_slot_binder<telling, asio::cancellation_slot>;

/// One object, as threads use it. Who has taken `all` of it is alone.
struct shared_object {
    int all = 1;
    std::function<void(int amount, cancellable)> take{};
    /// Null: what was taken is a hold.
    std::function<std::future<error_code>(int amount)> release{};
};

/// What is tested: its name, how an object of it is made, and how many permits its key has at first
/// (0: it has no key).
struct shared_kind {
    const char* name = "";
    shared_object (*make)(const client& c) = nullptr;
    int permits = 0;
};
void PrintTo(const shared_kind& kind, std::ostream* out) { *out << kind.name; }

constexpr int permits_in_all = 3;

shared_object exclusive(const mutex& m) {
    return {.all = 1, .take = [m](int, cancellable token) { m.async_lock(std::move(token)); }};
}

shared_object readers_and_writers(const client& c) {
    constexpr int writing = 100;
    return {.all = writing, .take = [m = shared_mutex{c, "shared"}](int amount, cancellable token) {
                if (amount == writing) {
                    m.async_lock(std::move(token));
                } else {
                    m.async_lock_shared(std::move(token));
                }
            }};
}

shared_object leased_permits(const client& c) {
    return {.all = permits_in_all,
            .take = [s = semaphore{c, "shared"}](int amount, cancellable token) {
                s.async_acquire(amount, std::move(token));
            }};
}

shared_object plain_permits(const client& c) {
    const auto s = std::make_shared<const counting_semaphore>(c, "shared");
    return {
        .all = permits_in_all,
        .take = [s](int amount, cancellable token) { s->async_acquire(amount, std::move(token)); },
        .release =
            [s](int amount) {
                return from_outside(
                    [&](auto token) { s->async_release(amount, std::move(token)); });
            }};
}

const shared_kind kinds[] = {
    {"fair_mutex", [](const client& c) { return exclusive(fair_mutex{c, "shared"}); }},
    {"token_mutex", [](const client& c) { return exclusive(token_mutex{c, "shared"}); }},
    {"multi_lock",
     [](const client& c) {
         return exclusive(multi_lock{mutex{c, "shared"}, mutex{c, "shared-too"}});
     }},
    {"shared_mutex", readers_and_writers},
    {"semaphore", leased_permits, permits_in_all},
    {"counting_semaphore", plain_permits, permits_in_all},
};

std::future<lock_result> take(const shared_object& from, int amount,
                              asio::cancellation_slot slot = {}) {
    std::promise<lock_result> told;
    std::future<lock_result> f = told.get_future();
    from.take(amount, asio::bind_cancellation_slot(slot, telling{std::move(told)}));
    return f;
}

std::future<error_code> give_back(const shared_object& to, int amount, lock_result& taken) {
    if (to.release) {
        return to.release(amount);
    }
    return from_outside([&](auto token) { taken.got.async_unlock(std::move(token)); });
}

/// Lets other threads get ahead.
void spin(int times) {
    std::atomic<int> turned{0};
    while (turned < times) {
        ++turned;
    }
}

/// The delay at which a signal meets a grant, looked for: the signal is sent later after it won,
/// and earlier after it lost; by twice the last step, or by half of it where that went too far.
struct meeting {
    int delay = 0;
    int step = 100;

    void next(bool won) {
        const bool too_far = won != (step > 0);
        step = too_far ? -step / 2 : std::clamp(2 * step, -100'000, 100'000);
        if (std::abs(step) < 20) {
            step = won ? 20 : -20;
        }
        delay = std::clamp(delay + step, -1'000'000, 1'000'000);
    }
};

/// Clients hear of what they wait for by its message, or not at all.
class shared_family : public redis_test {
protected:
    static constexpr int turns = 12;
    static constexpr int races = 60;

    /// `round(k, delay)` starts a wait, lets it succeed, cancels it `delay` turns of a loop after
    /// that (negative: before), and gives what the waiter was told. Two waiters take turns.
    template <typename Round>
    static void race(Round round) {
        std::array<meeting, 2> meetings{};
        int granted = 0;
        for (int k = 0; k < races; ++k) {
            meeting& m = meetings.at(static_cast<std::size_t>(k % 2));
            const error_code ec = round(k, m.delay);
            if (ec) {
                EXPECT_EQ(ec, asio::error::operation_aborted);
            }
            granted += ec ? 0 : 1;
            m.next(static_cast<bool>(ec));
        }
        EXPECT_GT(granted, 0) << "each was cancelled";
        EXPECT_LT(granted, races) << "none was cancelled";
    }

    /// One thread cancels, while another one makes `open()` let the waiter have what it waits for.
    template <typename Open>
    static void cancel_and_open(asio::cancellation_signal& signal, int delay, Open open) {
        workers both{2, [&](std::size_t i) {
                         if (i == 0) {
                             spin(delay);
                             signal.emit(asio::cancellation_type::terminal);
                         } else {
                             spin(-delay);
                             const error_code ec = in_time(open());
                             EXPECT_FALSE(ec) << ec.message();
                         }
                     }};
        both.join();
    }

    void expect_nothing_left(std::initializer_list<const client*> clients) {
        for (const client* c : clients) {
            EXPECT_TRUE(run_until(io, [&] {
                const stats s = c->stats();
                return s.slots_now == 0 && s.holds_now == 0 && s.waiting_now == 0 &&
                       s.subscriptions_now == 0;
            }));
        }
        EXPECT_TRUE(run_until(io, [&] { return raw.channels().empty(); }));
    }

    threaded_context context{2};
};

class shared_family_test : public shared_family, public ::testing::WithParamInterface<shared_kind> {
protected:
    void SetUp() override {
        if (GetParam().permits > 0) {
            raw.must({"SET", "shared", std::to_string(GetParam().permits)});
        }
    }

    /// At the server nobody has any of it, nor stands in line.
    bool free() {
        if (GetParam().permits > 0) {
            return raw.get("shared") == std::to_string(GetParam().permits) &&
                   !raw.exists("{shared}:timeout");
        }
        return raw.dbsize() == 0;
    }
};

TEST_P(shared_family_test, one_object_lets_in_no_more_threads_than_it_promises) {
    std::atomic<int> inside{0};
    std::atomic<int> alone{0};
    int guarded = 0;  // nothing but the object protects it: to ThreadSanitizer, too
    client c{context.io, push_only()};
    const shared_object shared = GetParam().make(c);
    workers many{4, [&](std::size_t i) {
                     for (int k = 0; k < turns; ++k) {
                         const int wanted = (static_cast<int>(i) + k) % 3 + 1;
                         const int amount = wanted == 3 ? shared.all : std::min(wanted, shared.all);
                         lock_result r = in_time(take(shared, amount));
                         ASSERT_FALSE(r.ec) << r.ec.message();
                         EXPECT_LE(inside.fetch_add(amount) + amount, shared.all);
                         if (amount == shared.all) {
                             ++guarded;
                             ++alone;
                         } else {
                             EXPECT_LE(guarded, 4 * turns);
                         }
                         spin(20'000);  // long enough to meet who comes in
                         inside.fetch_sub(amount);
                         const error_code ec = in_time(give_back(shared, amount, r));
                         EXPECT_FALSE(ec) << ec.message();
                     }
                 }};
    many.join();
    EXPECT_EQ(guarded, alone);
    expect_nothing_left({&c});
    EXPECT_TRUE(run_until(io, [&] { return free(); }));
}

TEST_P(shared_family_test, a_wait_that_is_cancelled_as_it_is_granted_gives_all_or_leaves_nothing) {
    client c{context.io, push_only()};
    client other{context.io, push_only("other")};
    const shared_object of_c = GetParam().make(c);
    const shared_object of_other = GetParam().make(other);
    race([&](int k, int delay) {
        const shared_object& waiting = k % 2 == 0 ? of_c : of_other;
        const int amount = k % 4 < 2 ? waiting.all : 1;
        lock_result held = in_time(take(of_c, of_c.all));
        EXPECT_FALSE(held.ec) << held.ec.message();
        asio::cancellation_signal signal;
        std::future<lock_result> f = take(waiting, amount, signal.slot());
        cancel_and_open(signal, delay, [&] { return give_back(of_c, of_c.all, held); });
        lock_result r = in_time(std::move(f));
        EXPECT_EQ(static_cast<bool>(r.got), !r.ec && !waiting.release);
        if (!r.ec) {
            const error_code ec = in_time(give_back(waiting, amount, r));
            EXPECT_FALSE(ec) << ec.message();
        }
        return r.ec;
    });
    expect_nothing_left({&c, &other});
    EXPECT_TRUE(run_until(io, [&] { return free(); }));
}

INSTANTIATE_TEST_SUITE_P(of, shared_family_test, ::testing::ValuesIn(kinds),
                         [](const auto& which) { return std::string{which.param.name}; });

using shared_latch_test = shared_family;

TEST_F(shared_latch_test, one_object_opens_with_the_last_count_of_many_threads) {
    constexpr std::size_t counting = 3;
    std::array<int, counting> counted{};  // nothing but the latch orders these: see above
    client c{context.io, push_only()};
    const latch shared{c, "shared"};
    for (int n = 1; n <= 5; ++n) {
        const int last = static_cast<int>(counting) * turns;
        EXPECT_TRUE(in_time(shared.async_try_set_count(last, asio::use_future)));
        workers all{counting + 2, [&](std::size_t i) {
                        for (int k = 0; i < counting && k < turns; ++k) {
                            ++counted.at(i);
                            const error_code ec = in_time(from_outside(
                                [&](auto token) { shared.async_count_down(std::move(token)); }));
                            EXPECT_FALSE(ec) << ec.message();
                        }
                        if (i >= counting) {
                            const error_code ec = in_time(from_outside(
                                [&](auto token) { shared.async_wait(std::move(token)); }));
                            EXPECT_FALSE(ec) << ec.message();
                            EXPECT_EQ(std::accumulate(counted.begin(), counted.end(), 0), n * last);
                        }
                    }};
        all.join();
        EXPECT_FALSE(raw.exists("shared"));
    }
    expect_nothing_left({&c});
}

TEST_F(shared_latch_test, a_wait_that_is_cancelled_as_the_latch_opens_leaves_nothing) {
    client c{context.io, push_only()};
    client other{context.io, push_only("other")};
    const latch of_c{c, "shared"};
    const latch of_other{other, "shared"};
    race([&](int k, int delay) {
        EXPECT_TRUE(in_time(of_c.async_try_set_count(1, asio::use_future)));
        asio::cancellation_signal signal;
        std::promise<lock_result> told;
        std::future<lock_result> f = told.get_future();
        const latch& waiting = k % 2 == 0 ? of_c : of_other;
        waiting.async_wait(asio::bind_cancellation_slot(signal.slot(), telling{std::move(told)}));
        cancel_and_open(signal, delay, [&] {
            return from_outside([&](auto token) { of_c.async_count_down(std::move(token)); });
        });
        return in_time(std::move(f)).ec;
    });
    EXPECT_FALSE(raw.exists("shared"));
    expect_nothing_left({&c, &other});
}

}  // namespace
