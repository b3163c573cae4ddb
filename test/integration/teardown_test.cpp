// SPDX-License-Identifier: BSL-1.0
// Everything is destroyed after every k-th handler, in several orders. What may go wrong here is
// seen by AddressSanitizer; without it, by a crash, a hang or a socket left open.
#include "support/attempt.hpp"
#include "support/redis_test.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

/// Two clients that compete for a lock. What a user owns is here, outside of the coroutines.
struct world {
    world(const config& settings, const std::string& name)
        : a{std::in_place, io, settings},
          b{std::in_place, io, settings},
          of_a{std::in_place, *a, name},
          of_b{std::in_place, *b, name} {}

    asio::io_context io{};
    std::optional<client> a;
    std::optional<client> b;
    std::optional<mutex> of_a;
    std::optional<mutex> of_b;
    hold first{};
    hold inner{};
    hold second{};
    owner me{};
    bool finished = false;
    bool failed = false;
    bool ending = false;
};

asio::awaitable<void> wait_for_second(world& w) {
    w.second = co_await w.of_b->async_lock({.wait = 10s, .lease = 5s});
}

asio::awaitable<void> watch(hold& h) { co_await h.async_wait_lost(as_result); }

/// Contention, nesting, extension, status, unlock, hand-over, shutdown.
asio::awaitable<void> story(world& w) {
    w.first = co_await w.of_a->async_lock({.lease = 5s, .owner = &w.me});
    asio::co_spawn(w.io, watch(w.first), asio::detached);
    task_group group{w.io.get_executor()};
    group.spawn(wait_for_second(w));
    w.inner = co_await w.of_a->async_lock({.lease = 5s, .owner = &w.me});
    co_await w.inner.async_extend(9s);
    const lock_status s = co_await w.of_b->async_status();
    EXPECT_TRUE(s.depth == 2 || w.ending) << s.depth;
    w.inner.release();
    co_await w.first.async_unlock();
    co_await group.join();
    EXPECT_TRUE(w.second.owns_lock() || w.ending);
    if (w.b) {  // a test may end the clients before this
        const auto [ec] = co_await w.b->async_shutdown(as_result);
        EXPECT_FALSE(ec);
    }
    w.finished = true;
}

/// A lock on three databases, which stand for three servers. As above.
struct quorum_world {
    quorum_world(config settings, const std::string& name) {
        for (settings.database = 0; settings.database < 3; ++settings.database) {
            clients.emplace_back(io, settings);
        }
        const std::vector<std::reference_wrapper<const client>> all{clients.begin(), clients.end()};
        lock.emplace(all, name, quorum_options{.answer_timeout = 500ms});
    }

    asio::io_context io{};
    std::deque<client> clients{};
    std::optional<quorum_mutex> lock;
    hold first{};
    hold second{};
    bool finished = false;
    bool failed = false;
    bool ending = false;
};

asio::awaitable<void> wait_for_second(quorum_world& w) {
    w.second = co_await w.lock->async_lock({.wait = 10s, .lease = 5s});
}

/// Contention, extension, status, unlock, shutdown.
asio::awaitable<void> story(quorum_world& w) {
    w.first = co_await w.lock->async_lock({.lease = 5s});
    asio::co_spawn(w.io, watch(w.first), asio::detached);
    task_group group{w.io.get_executor()};
    group.spawn(wait_for_second(w));
    co_await w.first.async_extend(9s);
    const lock_status s = co_await w.lock->async_status();
    EXPECT_TRUE(s.locked || w.ending);
    co_await w.first.async_unlock();
    co_await group.join();
    EXPECT_TRUE(w.second.owns_lock() || w.ending);
    for (client& each : w.clients) {
        const auto [ec] = co_await each.async_shutdown(as_result);
        EXPECT_FALSE(ec);
    }
    w.finished = true;
}

class teardown_test : public redis_test {
protected:
    static constexpr std::size_t many = 1000;

    /// Plays the story again and again, each time ended by `finish` one handler later.
    template <typename World = world>
    void after_each_handler(
        const std::string& label,
        const std::function<void(std::type_identity_t<World>&, std::size_t)>& finish) {
        std::size_t k = 0;
        for (bool finished = false; !finished && k < many; ++k) {
            World w{settings("doomed"), label + std::to_string(k)};
            asio::co_spawn(w.io, story(w), [&w](std::exception_ptr e) { w.failed = !!e; });
            const std::size_t played = step(w.io, k, 2s);
            finished = w.finished;
            ASSERT_TRUE(finished || (played == k && !w.failed)) << "the story broke off";
            w.ending = true;
            finish(w, k);
        }
        EXPECT_GT(k, 20u);
        EXPECT_LT(k, many) << "the story never came to its end";
        EXPECT_TRUE(run_until(io, [&] { return raw.connections("doomed").empty(); }))
            << "a socket was left open";
    }
};

TEST_F(teardown_test, holds_then_mutexes_then_clients_then_the_context) {
    after_each_handler("holds:", [](world&, std::size_t) {});
}

TEST_F(teardown_test, clients_then_mutexes_then_holds_then_the_context) {
    after_each_handler("clients:", [](world& w, std::size_t) {
        w.a.reset();
        w.b.reset();
        w.of_a.reset();
        w.of_b.reset();
    });
}

TEST_F(teardown_test, mutexes_then_clients_then_holds_then_the_context) {
    after_each_handler("mutexes:", [](world& w, std::size_t) {
        w.of_a.reset();
        w.of_b.reset();
        w.b.reset();
        w.a.reset();
    });
}

TEST_F(teardown_test, the_context_in_the_middle_of_the_shutdown_of_the_clients) {
    after_each_handler("shutdown:", [](world& w, std::size_t k) {
        w.a.reset();
        w.b.reset();
        step(w.io, k % 11, 10ms);
    });
}

TEST_F(teardown_test, the_context_in_the_middle_of_the_releases_of_holds) {
    after_each_handler("releases:", [](world& w, std::size_t k) {
        w.inner = hold{};
        w.first = hold{};
        w.second = hold{};
        step(w.io, k % 7, 10ms);
    });
}

TEST_F(teardown_test, a_context_that_was_stopped) {
    after_each_handler("stopped:", [](world& w, std::size_t) {
        w.io.stop();
        w.first.release();
        w.a.reset();
        w.io.run();
    });
}

TEST_F(teardown_test, holds_of_a_quorum_then_the_mutex_then_clients_then_the_context) {
    after_each_handler<quorum_world>("quorum-holds:", [](quorum_world&, std::size_t) {});
}

TEST_F(teardown_test, clients_of_a_quorum_then_holds_then_the_context) {
    after_each_handler<quorum_world>("quorum-clients:", [](quorum_world& w, std::size_t k) {
        w.clients.pop_front();
        step(w.io, k % 11, 10ms);
        w.clients.clear();
        step(w.io, k % 7, 10ms);
        w.lock.reset();
    });
}

TEST_F(teardown_test, the_context_in_the_middle_of_the_releases_of_holds_of_a_quorum) {
    after_each_handler<quorum_world>("quorum-releases:", [](quorum_world& w, std::size_t k) {
        w.first = hold{};
        w.second = hold{};
        step(w.io, k % 13, 10ms);
    });
}

/// The same, with everything inside of the coroutine: the context destroys it all.
asio::awaitable<void> self_contained(config settings, std::string name, bool* finished) {
    const auto executor = co_await asio::this_coro::executor;
    client a{executor, settings};
    client b{executor, settings};
    const mutex of_a{a, name};
    const mutex of_b{b, name};
    hold first = co_await of_a.async_lock({.lease = 5s});
    const auto waiter = [](const mutex& m) -> asio::awaitable<void> {
        const hold h = co_await m.async_lock({.lease = 5s});
    };
    asio::co_spawn(executor, waiter(of_b), asio::detached);
    co_await pass(2ms);
    co_await first.async_unlock();
    hold again = co_await of_a.async_lock({.lease = 5s});
    again.release();
    *finished = true;
    co_await pass(60s);
}

TEST_F(teardown_test, the_context_alone_with_all_handles_in_its_coroutines) {
    std::size_t k = 0;
    for (bool finished = false; !finished && k < many; ++k) {
        asio::io_context own;
        asio::co_spawn(own, self_contained(settings("doomed"), "own:" + std::to_string(k),
                                           &finished),
                       asio::detached);
        const std::size_t played = step(own, k, 2s);
        ASSERT_TRUE(finished || played == k) << "the story broke off";
    }
    EXPECT_GT(k, 20u);
    EXPECT_LT(k, many);
    EXPECT_TRUE(run_until(io, [&] { return raw.connections("doomed").empty(); }));
}

TEST_F(teardown_test, callbacks_that_never_run_are_destroyed_and_late_cancels_are_harmless) {
    std::size_t k = 0;
    for (bool parked = false; !parked && k < many; ++k) {
        const std::string name = "callback:" + std::to_string(k);
        auto own = std::make_unique<asio::io_context>();
        std::optional<client> c{std::in_place, *own, settings("doomed")};
        std::optional<mutex> m{std::in_place, *c, name};
        lock_attempt first = start_lock(*m, {.lease = 5s});
        lock_attempt second = start_lock(*m, {.lease = 5s});
        lock_attempt third = start_lock(*m, {.wait = 5s, .lease = 5s});
        parked = step(*own, k, 500ms) < k;
        if (first.done()) {
            first.value().release();
        }
        step(*own, k % 9, 5ms);
        third.cancel();
        for (lock_attempt* one : {&first, &second, &third}) {
            one->value() = hold{};
        }
        c.reset();
        second.cancel();
        m.reset();
        own.reset();
        first.cancel();
        third.cancel();
    }
    EXPECT_GT(k, 3u);
    EXPECT_LT(k, many);
    EXPECT_TRUE(run_until(io, [&] { return raw.connections("doomed").empty(); }));
}

}  // namespace
