// SPDX-License-Identifier: BSL-1.0
// The least that a user must be allowed in a cluster: what the page on security says.
#include "support/rights.hpp"
#include "deployment/cluster_test.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace conch::test {
namespace {

class cluster_rights_test : public cluster_test {
protected:
    /// Each node knows the user, who may do all that conch needs but this.
    config user_without(const std::string& right) {
        std::vector<std::string> words{"ACL",   "SETUSER", std::string{conch_user},
                                       "reset", "on",      '>' + std::string{conch_password}};
        for (const std::vector<std::string>& rights : {conch_rights(), cluster_rights()}) {
            std::copy_if(rights.begin(), rights.end(), std::back_inserter(words),
                         [&](const std::string& r) { return r != right; });
        }
        for (std::size_t i = 0; i < group.size(); ++i) {
            group.raw(i).must(words);
        }
        return push_only("user");
    }
    asio::awaitable<void> wait_and_be_woken(client& c) {
        const std::string name = group.name_in(1);
        const mutex of_a{a, name};
        hold h = co_await of_a.async_lock();
        lock_attempt waiting = start_lock(mutex{c, name, {.fenced = true}});
        co_await listens(name);
        co_await h.async_unlock();
        co_await done(waiting, "woken");
        const auto [ec] = co_await waiting.value().async_unlock(as_result);
        EXPECT_FALSE(ec) << ec.message();
    }
};

TEST_F(cluster_rights_test, slow_what_the_readme_says_is_enough) {
    client c{io, user_without("")};
    run([&]() -> asio::awaitable<void> {
        co_await wait_and_be_woken(c);
        const std::string name = group.name_in(0, "moving");
        const unsigned slot = slot_of(name);
        const mutex m{c, name};
        group.begin_migration(slot, 0, 1);
        hold h = co_await m.async_lock();
        const auto [ec] = co_await h.async_unlock(as_result);
        EXPECT_FALSE(ec) << ec.message();
        group.end_migration(slot, 0, 1);
    });
    EXPECT_GE(c.stats().wakes_by_message, 1u);
    EXPECT_EQ(c.last_server_error().find("NOPERM"), std::string::npos) << c.last_server_error();
}

TEST_F(cluster_rights_test, slow_each_right_of_a_cluster_is_needed) {
    const auto refused = [&] {
        std::size_t sum = 0;
        for (std::size_t i = 0; i < group.size(); ++i) {
            sum += group.raw(i).refused().size();
        }
        return sum;
    };
    const std::string name = group.name_in(0, "moving");
    for (const std::string& right : cluster_rights()) {
        config settings = user_without(right);
        settings.operation_timeout = 1s;
        settings.max_poll_interval = 100ms;
        for (std::size_t i = 0; i < group.size(); ++i) {
            group.raw(i).must({"ACL", "LOG", "RESET"});
        }
        client c{io, settings};
        run([&]() -> asio::awaitable<void> {
            const mutex of_a{a, name};
            const mutex m{c, name};
            hold h = co_await of_a.async_lock();
            lock_attempt waiting = start_lock(m);
            co_await when([&] { return refused() > 0; }, 300ms);
            co_await h.async_unlock();
            const bool ended = co_await when([&] { return waiting.done(); });
            EXPECT_TRUE(ended) << "without " << right;
            co_await waiting.value().async_unlock(as_result);
            group.begin_migration(slot_of(name), 0, 1);
            auto [ec, last] = co_await m.async_lock({}, as_result);
            co_await last.async_unlock(as_result);
            const bool asked = co_await when([&] { return refused() > 0; });
            EXPECT_TRUE(asked) << "without " << right;
            co_await c.async_shutdown(as_result);
            group.end_migration(slot_of(name), 0, 1);
            co_await group.settle();  // before 7.0 a next move may leave it to nobody
            group.migrate(slot_of(name), 0);
            co_await group.settle();
        });
    }
}

TEST_F(cluster_rights_test, slow_a_function_is_asked_for_the_password_at_each_node) {
    config settings = user_without("");
    credentials now{settings.username, settings.password};
    settings.username.clear();
    settings.password.clear();
    int asked = 0;
    settings.credentials = [&] {
        ++asked;
        return now;
    };
    client c{io, settings};
    run([&]() -> asio::awaitable<void> {
        const std::string name = group.name_in(1);
        hold h = co_await mutex{c, name}.async_lock();
        EXPECT_GE(asked, 2) << "for the node that tells where the masters are, and for the master";
        now.password = "another";
        for (std::size_t i = 0; i < group.size(); ++i) {
            group.raw(i).must({"ACL", "SETUSER", now.username, "resetpass", '>' + now.password});
        }
        const int before = asked;
        EXPECT_EQ(group.raw(1).kill_connections("user"), 1u);
        const auto is_there = [&] {
            const std::string all = group.raw(1).must({"CLIENT", "LIST"}).text;
            return all.find(" name=user:") != std::string::npos;
        };
        const bool back = co_await when(is_there, long_patience);
        EXPECT_TRUE(back) << c.last_server_error();
        EXPECT_GT(asked, before);
        EXPECT_TRUE(h.owns_lock());
        co_await h.async_unlock();
        co_await c.async_shutdown();
    });
}

TEST_F(cluster_rights_test, slow_who_may_not_ask_for_the_slots_is_told) {
    client c{io, user_without("+cluster|slots")};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "orders"};
        const auto [ec, h] = co_await m.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::permission_denied);
        EXPECT_NE(c.last_server_error().find("NOPERM"), std::string::npos) << c.last_server_error();
    });
}

}  // namespace
}  // namespace conch::test
