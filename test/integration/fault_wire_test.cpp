// SPDX-License-Identifier: BSL-1.0
// A damaged wire between clients and a healthy server, while they work.
#include "integration/fault_fixture.hpp"
#include "support/told_in_time.hpp"

#include <optional>

namespace {

using namespace conch;
using namespace conch::test;

using fault_wire_test = fault_test;

TEST_F(fault_wire_test, a_cut_connection_harms_nobody) {
    const endured e = endure({.strike = [&] { wire.cut(); }});
    EXPECT_GE(e.connection_losses(), 8u);
}

TEST_F(fault_wire_test, a_connection_that_is_reset_harms_nobody) {
    const endured e = endure({.strike = [&] { wire.reset(); }});
    EXPECT_GE(e.connection_losses(), 8u);
}

TEST_F(fault_wire_test, slow_a_half_open_connection_that_the_server_has_left_harms_nobody) {
    const endured e = endure({.strike = [&] { wire.cut_servers_only(); }, .times = 2});
    EXPECT_GE(e.connection_losses(), 4u) << "a silent connection is given up";
}

TEST_F(fault_wire_test, a_half_open_connection_that_the_client_has_left_harms_nobody) {
    const endured e = endure({.strike = [&] { wire.cut_clients_only(); }});
    EXPECT_GE(e.of_a.old_fenced + e.of_b.old_fenced, 8u) << "what is left of the old ones is ended";
    EXPECT_TRUE(run_until(io, [&] { return raw.connections("through").empty(); }));
}

TEST_F(fault_wire_test, a_wire_on_which_nothing_passes_for_a_while_harms_nobody) {
    std::size_t before = 0;
    const auto strike = [&] {
        wire.stall();
        before = wire.passed();
    };
    const auto heal = [&] {
        EXPECT_EQ(wire.passed(), before);
        wire.heal();
    };
    endure({.strike = strike, .heal = heal, .length = 300ms});
}

TEST_F(fault_wire_test, slow_a_wire_that_is_dead_for_longer_than_the_client_waits_harms_nobody) {
    const endured e = endure(
        {.strike = [&] { wire.stall(); }, .heal = [&] { wire.heal(); }, .length = 3s, .times = 1});
    EXPECT_GE(e.connection_losses(), 2u) << "it was given up meanwhile";
}

TEST_F(fault_wire_test, delay_harms_nobody) {
    const endured e = endure({.strike = [&] { wire.delay(40ms); },
                              .heal = [&] { wire.heal(); },
                              .length = 600ms,
                              .times = 3});
    EXPECT_EQ(e.connection_losses(), 0u);
    EXPECT_GE(e.longest_wait(), 80ms) << "there and back";
}

TEST_F(fault_wire_test, one_byte_at_a_time_harms_nobody) {
    const endured e =
        endure({.strike = [&] { wire.dribble(); }, .heal = [&] { wire.heal(); }, .length = 500ms});
    EXPECT_EQ(e.connection_losses(), 0u);
    EXPECT_GT(wire.dribbled(), 1000u);
}

TEST_F(fault_wire_test, replies_cut_off_in_their_middle_harm_nobody) {
    std::size_t bytes = 0;
    const endured e = endure({.strike = [&] { wire.truncate_replies(++bytes); }, .times = 24});
    EXPECT_GE(e.connection_losses(), 24u);
}

TEST_F(fault_wire_test, messages_out_of_order_harm_nobody) {
    const endured e = endure(
        {.strike = [&] { wire.reorder_pushes(); }, .heal = [&] { wire.heal(); }, .length = 500ms});
    EXPECT_GT(wire.reordered(), 10u);
    EXPECT_EQ(e.connection_losses(), 0u);
}

TEST_F(fault_wire_test, replies_that_never_come_harm_nobody) {
    const endured e =
        endure({.strike = [&] { wire.swallow_replies(); }, .heal = [&] { wire.cut(); }});
    EXPECT_GE(e.connection_losses(), 8u);
    EXPECT_GT(e.of_a.in_doubt + e.of_b.in_doubt, 0u) << "no reply was swallowed";
}

TEST_F(fault_wire_test, commands_that_never_arrive_harm_nobody) {
    const endured e =
        endure({.strike = [&] { wire.swallow_requests(); }, .heal = [&] { wire.cut(); }});
    EXPECT_GE(e.connection_losses(), 8u);
    EXPECT_GT(wire.swallowed_of_clients(), 0u) << "every command arrived";
}

TEST_F(fault_wire_test, a_server_that_cannot_be_reached_for_a_while_harms_nobody) {
    const auto strike = [&] {
        wire.refuse();
        wire.cut();
    };
    const auto before = wire.accepted();
    endure({.strike = strike, .heal = [&] { wire.heal(); }, .length = 300ms});
    EXPECT_GT(wire.accepted(), before + 10u) << "it was tried again";
}

struct noise {
    std::string label;
    std::string bytes;
};

void PrintTo(const noise& n, std::ostream* out) { *out << n.label; }

class fault_garbage_test : public fault_wire_test, public ::testing::WithParamInterface<noise> {};

TEST_P(fault_garbage_test, between_replies_costs_a_connection_and_harms_nobody) {
    const endured e = endure({.strike = [&] { wire.inject(GetParam().bytes); }});
    EXPECT_GE(e.connection_losses(), 8u);
}

INSTANTIATE_TEST_SUITE_P(each_kind, fault_garbage_test,
                         ::testing::Values(noise{"text", "?!\r\n"},
                                           noise{"binary", {"\0\xff\x80\r\n", 5}},
                                           noise{"http", "HTTP/1.1 400 Bad Request\r\n\r\n"},
                                           noise{"a_huge_count", "*9223372036854775807\r\n"},
                                           noise{"a_negative_length", "$-77\r\n"}),
                         [](const auto& which) { return which.param.label; });

TEST_F(fault_wire_test, on_a_tcp_wire_that_is_reset_again_and_again_a_hold_is_kept) {
    config s = through();
    s.unix_path.clear();
    s.port = wire.port();
    client c{io, s};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "lock:0"};
        hold h = co_await m.async_lock({.lease = 6s});
        const auto fields = raw.hgetall("lock:0");
        for (int i = 0; i < 5; ++i) {
            const auto before = c.stats().connects;
            wire.reset();
            const bool again = co_await when([&] { return c.stats().connects > before; });
            EXPECT_TRUE(again);
        }
        EXPECT_TRUE(h.owns_lock());
        EXPECT_EQ(raw.hgetall("lock:0"), fields);
        co_await h.async_unlock();
    });
    expect_nothing_left({&c});
}

TEST_F(fault_wire_test, each_truncation_of_the_reply_to_an_acquire_is_one_acquisition) {
    client c{io, through()};
    run([&]() -> asio::awaitable<void> { co_await warm_up(c); });
    const mutex m{c, "lock:0", {.fenced = true}};
    std::uint64_t last = 0;
    for (std::size_t bytes = 0; bytes < 30; ++bytes) {
        wire.truncate_replies(bytes);
        lock_attempt a = start_lock(m);
        ASSERT_TRUE(run_until(io, [&] { return a.done(); })) << bytes << " bytes";
        EXPECT_FALSE(a.ec()) << a.ec().message();
        EXPECT_EQ(a.completions(), 1);
        EXPECT_GT(a.value().fence(), last);
        last = a.value().fence();
        EXPECT_EQ(raw.get(fence_key_of("lock:0")), std::to_string(last)) << "a second token";
        EXPECT_EQ(raw.hlen("lock:0"), 1);
        wire.truncate_replies(bytes);
        plain_attempt u = start_unlock(a.value());
        ASSERT_TRUE(run_until(io, [&] { return u.done(); })) << bytes << " bytes";
        EXPECT_FALSE(u.ec()) << u.ec().message();
        EXPECT_EQ(u.completions(), 1);
        EXPECT_FALSE(raw.exists("lock:0"));
    }
    expect_nothing_left({&c});
}

TEST_F(fault_wire_test, each_waiter_hears_of_its_release_though_the_messages_come_out_of_order) {
    constexpr int count = 20;
    client c{io, through()};
    const auto name_of = [](int i) { return "many:" + std::to_string(i); };
    for (int i = 0; i < count; ++i) {
        take_as_stranger(raw, name_of(i), 60s);
    }
    std::vector<lock_attempt> waiting;
    for (int i = 0; i < count; ++i) {
        waiting.push_back(start_lock(mutex{c, name_of(i)}));
    }
    for (int i = 0; i < count; ++i) {
        ASSERT_TRUE(run_until(io, [&] { return listening(name_of(i)); }));
    }
    wire.reorder_pushes();
    for (int i = 0; i < count; ++i) {
        redisson_release(raw, name_of(i));
    }
    for (lock_attempt& a : waiting) {
        ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
        EXPECT_FALSE(a.ec()) << a.ec().message();
        EXPECT_EQ(a.completions(), 1);
        a.value().release();
    }
    EXPECT_GE(wire.reordered(), 20u);
    EXPECT_EQ(c.stats().wakes_by_poll, 0u);
    expect_nothing_left({&c});
}

TEST_F(fault_wire_test, a_message_that_comes_byte_by_byte_wakes_its_waiter) {
    client c{io, through()};
    take_as_stranger(raw, "lock:0");
    lock_attempt a = start_lock(mutex{c, "lock:0"});
    ASSERT_TRUE(run_until(io, [&] { return listening("lock:0"); }));
    wire.dribble();
    redisson_release(raw, "lock:0");
    ASSERT_TRUE(run_until(io, [&] { return a.done(); }));
    EXPECT_FALSE(a.ec()) << a.ec().message();
    EXPECT_EQ(c.stats().wakes_by_poll, 0u);
    a.value().release();
    expect_nothing_left({&c});
}

/// How the connection of a holder dies without a word.
struct silence {
    std::string label;
    void (proxy::*begin)();
};

void PrintTo(const silence& s, std::ostream* out) { *out << s.label; }

class fault_silence_test : public fault_wire_test, public ::testing::WithParamInterface<silence> {};

TEST_P(fault_silence_test, tells_the_loss_by_valid_until_and_the_next_waiter_is_served) {
    config s = through();
    s.response_timeout = 60s;  // the deadline alone tells
    client holder{io, s};
    client other{io, push_only()};
    run([&]() -> asio::awaitable<void> {
        const mutex of_holder{holder, "lock:0", {.fenced = true}};
        const mutex of_other{other, "lock:0", {.fenced = true}};
        hold h = co_await of_holder.async_lock({.lease = 2s});
        (wire.*GetParam().begin)();
        lock_attempt next = start_lock(of_other, {.lease = 60s});
        const std::optional<error_code> reason = co_await told_in_time(h);
        EXPECT_TRUE(reason) << "nobody was told of the loss at valid_until()";
        EXPECT_EQ(reason.value_or(error_code{}), errc::lease_expired);
        const bool served = co_await when([&] { return next.done(); });
        EXPECT_TRUE(served);
        EXPECT_GE(clock::now(), h.valid_until());
        EXPECT_GT(next.value().fence(), h.fence());
        const auto [verdict] = co_await h.async_unlock(as_result);
        EXPECT_EQ(verdict, errc::lease_expired);
        wire.heal();
        wire.cut();
        co_await warm_up(holder);
        EXPECT_TRUE(next.value().owns_lock()) << "what the old holder still sent did no harm";
        EXPECT_EQ(raw.hlen("lock:0"), 1);
        co_await next.value().async_unlock();
    });
    expect_nothing_left({&holder, &other});
}

INSTANTIATE_TEST_SUITE_P(each_way, fault_silence_test,
                         ::testing::Values(silence{"stalled", &proxy::stall},
                                           silence{"replies_stalled", &proxy::stall_replies},
                                           silence{"left_by_the_server", &proxy::cut_servers_only},
                                           silence{"swallowed", &proxy::swallow_requests}),
                         [](const auto& which) { return which.param.label; });

}  // namespace
