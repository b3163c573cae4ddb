// SPDX-License-Identifier: BSL-1.0
#include "integration/fault_fixture.hpp"

#include <array>

namespace conch::test {
namespace {

/// Waiters are served by then, or not until a lease has ended.
constexpr std::chrono::seconds soon{12};
constexpr std::chrono::seconds lease{60};
constexpr int names = 2;
constexpr int workers_of_each = 3;

/// The work of an ordeal.
struct labour {
    asio::io_context& io;
    const ordeal& what;
    fenced_resource resource{};
    std::array<std::uint64_t, 2 * workers_of_each> rounds{};
    endured result{};
    bool healed = false;  ///< for good
    bool done = false;

    void note(error_code ec) {
        if (what.told.contains(ec) && !healed) {
            ++result.refusals;
        } else {
            ADD_FAILURE() << "acquire: " << ec.message() << (healed ? ", after all faults" : "");
        }
    }
    void note_lost(error_code ec) {
        ++result.losses;
        EXPECT_TRUE(what.loses_data) << "unlock: " << ec.message();
    }

    asio::awaitable<void> increment(hold& h, const std::string& name) {
        const auto mine = [&] {
            return claim{name, h.fence(), h.owns_lock() ? h.valid_until() : time_point{}, lease};
        };
        const auto seen = resource.enter(mine(), clock::now());
        EXPECT_TRUE(seen.accepted || what.loses_data);
        co_await pass(1ms);
        if (!h.owns_lock()) {
            resource.leave(mine());
        } else {
            const auto written = resource.write(mine(), seen.value + 1, clock::now());
            EXPECT_TRUE(written.accepted || what.loses_data);
        }
    }

    asio::awaitable<void> work(client& c, std::size_t number) {
        while (!done) {
            const std::string name = "lock:" + std::to_string((rounds[number] + number) % names);
            const mutex m{c, name, {.fenced = true}};
            auto [ec, h] = co_await m.async_lock({.lease = lease}, as_result);
            if (ec) {
                note(ec);
                co_await pass(5ms);
                continue;
            }
            co_await increment(h, name);
            const auto [verdict] = co_await h.async_unlock(as_result);
            if (verdict) {
                note_lost(verdict);
            }
            ++rounds[number];
        }
    }

    asio::awaitable<bool> everyone_served() {
        const auto before = rounds;
        co_return co_await when(
            [&] {
                for (std::size_t i = 0; i < rounds.size(); ++i) {
                    if (rounds[i] < before[i] + 2) {
                        return false;
                    }
                }
                return true;
            },
            soon);
    }
};

}  // namespace

endured fault_test::endure(const ordeal& o) {
    labour l{io, o};
    client a{io, through()};
    client b{io, through()};
    run(
        [&]() -> asio::awaitable<void> {
            task_group group{io.get_executor()};
            for (std::size_t i = 0; i < l.rounds.size(); ++i) {
                group.spawn(l.work(i % 2 == 0 ? a : b, i));
            }
            bool served = co_await l.everyone_served();
            EXPECT_TRUE(served) << "before any fault";
            for (int i = 0; i < o.times && served; ++i) {
                const time_point began = clock::now();
                o.strike();
                co_await pass(o.length);
                o.heal();
                if (o.loses_data) {
                    l.resource.data_lost("lock:", began, clock::now());
                }
                served = co_await l.everyone_served();
                EXPECT_TRUE(served) << "after fault " << i + 1;
            }
            // Answers that were under way when the last fault ended have come by now.
            l.healed = true;
            const bool again = co_await l.everyone_served();
            EXPECT_TRUE(again) << "after all faults";
            l.done = true;
            co_await group.join();
        },
        120s);
    raw.reconnect();
    l.result.of_a = a.stats();
    l.result.of_b = b.stats();
    l.result.resource = l.resource.report();
    EXPECT_TRUE(l.result.resource.sound()) << ::testing::PrintToString(l.resource.findings());
    EXPECT_EQ(l.result.resource.refused, o.loses_data ? l.result.resource.refused : 0u);
    expect_nothing_left({&a, &b});
    return l.result;
}

void fault_test::expect_nothing_left(const std::vector<const client*>& clients) {
    for (const client* c : clients) {
        EXPECT_TRUE(run_until(io, [&] {
            const stats s = c->stats();
            return s.slots_now == 0 && s.holds_now == 0 && s.waiting_now == 0 &&
                   s.subscriptions_now == 0;
        }));
    }
    EXPECT_TRUE(run_until(io, [&] { return raw.channels().empty(); }));
    for (int i = 0; i < names; ++i) {
        EXPECT_FALSE(raw.exists("lock:" + std::to_string(i)));
    }
}

}  // namespace conch::test
