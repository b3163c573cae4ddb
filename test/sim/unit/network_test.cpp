// SPDX-License-Identifier: BSL-1.0
// What the simulated network does to bytes and to those who wait for them.
#include "sim/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace conch::sim;

/// Writes down what it hears, and when.
struct client_ear final : client_end {
    explicit client_ear(world& of) : w{of} {}
    void opened(std::uint64_t number) override { open = number; }
    void bytes_came(std::uint64_t, std::string_view bytes) override {
        got += bytes;
        pieces.push_back(bytes.size());
        last_at = w.now();
    }
    void broken(std::uint64_t number) override {
        ended = number;
        ended_at = w.now();
    }

    world& w;
    std::uint64_t open = 0;
    std::uint64_t ended = 0;
    instant ended_at = -1;
    std::string got{};
    std::vector<std::size_t> pieces{};
    instant last_at = -1;
};

struct server_ear final : server_end {
    explicit server_ear(world& of) : w{of} {}
    bool accepts(std::uint64_t) override { return listens; }
    void accepted(std::uint64_t l) override { line = l; }
    void bytes_arrived(std::uint64_t l, std::string_view bytes) override {
        EXPECT_FALSE(hung_up_at >= 0 && l == line) << "bytes behind the end";
        got += bytes;
        pieces.push_back(bytes.size());
        last_at = w.now();
    }
    void hung_up(std::uint64_t) override { hung_up_at = w.now(); }

    world& w;
    bool listens = true;
    std::uint64_t line = 99;
    std::string got{};
    std::vector<std::size_t> pieces{};
    instant last_at = -1;
    instant hung_up_at = -1;
};

class network_test : public ::testing::Test {
protected:
    static constexpr network::settings usual{};

    void connect(const network::settings& how = usual) {
        net = std::make_unique<network>(w, server, how);
        me = net->add(client);
        net->connect(me, 1);
        run_for(1 * seconds);
        ASSERT_EQ(client.open, 1u);
        ASSERT_EQ(server.line, 0u);
    }
    void run_for(instant t) {
        const instant until = w.now() + t;
        while (w.step(until)) {
        }
    }

    world w{1};
    server_ear server{w};
    client_ear client{w};
    std::unique_ptr<network> net{};
    std::uint64_t me = 0;
};

TEST_F(network_test, bytes_arrive_in_order_however_they_are_cut_up) {
    connect({.spike_once_in = 4, .piece = 3});
    std::string sent;
    for (int i = 0; i < 100; ++i) {
        const std::string line = "line " + std::to_string(i) + "\n";
        sent += line;
        net->send(me, 1, line);
        net->reply(server.line, line);
        run_for(100 * micros);
    }
    run_for(10 * seconds);
    EXPECT_EQ(server.got, sent);
    EXPECT_EQ(client.got, sent);
    for (const auto& pieces : {server.pieces, client.pieces}) {
        EXPECT_EQ(*std::max_element(pieces.begin(), pieces.end()), 3u);
        EXPECT_EQ(*std::min_element(pieces.begin(), pieces.end()), 1u);
    }
}

TEST_F(network_test, bytes_come_whole_or_in_two_pieces_and_more_where_nothing_limits_them) {
    connect();
    for (int i = 0; i < 100; ++i) {
        net->send(me, 1, "0123456789");
    }
    run_for(1 * seconds);
    EXPECT_GT(std::count(server.pieces.begin(), server.pieces.end(), 10u), 20);
    EXPECT_LT(std::count(server.pieces.begin(), server.pieces.end(), 10u), 100);
}

TEST_F(network_test, a_piece_takes_its_time_and_no_more_than_the_jitter) {
    connect();
    for (int i = 0; i < 100; ++i) {
        const instant sent = w.now();
        net->send(me, 1, "x");
        run_for(1 * seconds);
        ASSERT_GE(server.last_at - sent, usual.latency);
        ASSERT_LE(server.last_at - sent, usual.latency + usual.jitter);
    }
}

TEST_F(network_test, who_is_not_let_in_is_told) {
    server.listens = false;
    net = std::make_unique<network>(w, server, usual);
    me = net->add(client);
    net->connect(me, 1);
    run_for(1 * seconds);
    EXPECT_EQ(client.open, 0u);
    EXPECT_EQ(client.ended, 1u);
}

TEST_F(network_test, an_end_that_closes_still_delivers_what_it_sent) {
    connect();
    net->send(me, 1, "last words");
    net->close(me, 1);
    run_for(1 * seconds);
    EXPECT_EQ(server.got, "last words");
    EXPECT_GE(server.hung_up_at, server.last_at);
}

TEST_F(network_test, a_silent_cut_is_half_open_until_an_end_looks) {
    connect();
    net->send(me, 1, "lost");
    net->reply(server.line, "lost");
    net->cut_silently(me);
    EXPECT_FALSE(net->passes(me));
    net->send(me, 1, "lost, too");
    run_for(60 * seconds);
    EXPECT_EQ(server.got + client.got, "");
    EXPECT_EQ(client.ended, 0u);
    EXPECT_EQ(server.hung_up_at, -1);

    const instant closed = w.now();
    net->close(me, 1);
    run_for(60 * seconds);
    EXPECT_EQ(server.hung_up_at, closed + usual.keepalive) << "only the keepalive tells the server";
}

TEST_F(network_test, a_reset_loses_what_was_under_way) {
    connect();
    net->send(me, 1, "lost");
    net->reply(server.line, "lost");
    run_for(usual.latency / 2);
    net->reset(me, false);
    EXPECT_EQ(server.hung_up_at, w.now());
    run_for(1 * seconds);
    EXPECT_EQ(server.got + client.got, "");
    EXPECT_EQ(client.ended, 1u);
}

TEST_F(network_test, a_reset_after_the_server_read_loses_the_answers_only) {
    connect();
    net->send(me, 1, "a request");
    net->reply(server.line, "lost");
    run_for(usual.latency / 2);
    net->reset(me, true);
    EXPECT_EQ(server.got, "a request");
    run_for(1 * seconds);
    EXPECT_EQ(client.got, "");
    EXPECT_EQ(client.ended, 1u);
}

TEST_F(network_test, a_clog_holds_up_one_direction_of_all_connections) {
    connect();
    const instant until = w.now() + 2 * seconds;
    net->clog(me, way::up, until);
    net->send(me, 1, "late");
    net->reply(server.line, "in time");
    run_for(1 * seconds);
    EXPECT_EQ(server.got, "");
    EXPECT_EQ(client.got, "in time");
    net->close(me, 1);
    net->connect(me, 2);
    run_for(5 * seconds);
    EXPECT_EQ(server.got, "late");
    EXPECT_GE(server.last_at, until);
    EXPECT_EQ(client.open, 2u);
}

TEST_F(network_test, what_was_held_up_comes_when_all_is_healed) {
    connect();
    net->clog(me, way::up, w.now() + 100 * seconds);
    net->hold_up(me, w.now() + 100 * seconds);
    net->send(me, 1, "late");
    run_for(1 * seconds);
    EXPECT_EQ(server.got, "");
    net->heal();
    run_for(1 * millis);
    EXPECT_EQ(server.got, "late");
}

TEST_F(network_test, an_old_connection_that_is_held_up_comes_after_the_next_one) {
    connect();
    net->hold_up(me, w.now() + 2 * seconds);
    net->send(me, 1, "old");
    net->close(me, 1);
    net->connect(me, 2);
    run_for(1 * seconds);
    ASSERT_EQ(client.open, 2u);
    net->send(me, 2, "new ");
    run_for(5 * seconds);
    EXPECT_EQ(server.got, "new old");
}

}  // namespace
