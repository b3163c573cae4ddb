// SPDX-License-Identifier: BSL-1.0
// Functions of the settings that are asked while sentinels are: for passwords, and for addresses.
#include "deployment/sentinel_test.hpp"
#include "support/name_server.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;

class sentinel_settings_test : public sentinel_test {
protected:
    static raw_client raw_of(cli::private_redis& server) {
        return raw_client{server.socket_path()};
    }
    /// Who names no user is "default".
    config settings_without_user() const {
        config c = group.settings("c");
        c.username = c.password = c.sentinel->username = c.sentinel->password = "";
        return c;
    }
    void set_password_of_sentinels(const std::string& password) {
        for (std::size_t i = 0; i < sentinel_group::sentinel_count; ++i) {
            raw_of(group.sentinel(i))
                .must({"ACL", "SETUSER", "asks", "on", "resetpass", '>' + password, "+ping",
                       "+subscribe", "+sentinel|get-master-addr-by-name", "allchannels"});
        }
    }
    /// Connections of this client to the sentinels are cut; how many there were.
    std::size_t cut_off_sentinels(const std::string& client_name) {
        std::size_t sum = 0;
        for (std::size_t i = 0; i < sentinel_group::sentinel_count; ++i) {
            sum += raw_of(group.sentinel(i)).kill_connections(client_name);
        }
        return sum;
    }
    /// A client of this name listens at a sentinel.
    bool listens(const std::string& client_name) {
        for (std::size_t i = 0; i < sentinel_group::sentinel_count; ++i) {
            const reply list = raw_of(group.sentinel(i)).must({"CLIENT", "LIST", "TYPE", "pubsub"});
            if (list.text.find("name=" + client_name + ':') != std::string::npos) {
                return true;
            }
        }
        return false;
    }
    /// All that is logged from now on, shared with the sink: a client goes on in the background.
    static std::shared_ptr<std::string> listen_to(config& c) {
        auto all = std::make_shared<std::string>();
        c.least_log_level = log_level::debug;
        c.log = [all](log_level, std::string_view line) { all->append(line).append("\n"); };
        return all;
    }
};

TEST_F(sentinel_settings_test, slow_a_password_of_the_sentinels_that_changes_is_asked_for) {
    auto now = std::make_shared<credentials>("asks", "s3cret-1");
    set_password_of_sentinels(now->password);
    for (std::size_t i = 0; i < sentinel_group::sentinel_count; ++i) {
        raw_of(group.sentinel(i)).must({"ACL", "SETUSER", "default", "-sentinel"});
    }
    config settings = settings_without_user();
    const auto log = listen_to(settings);
    int asked = 0;
    settings.sentinel->credentials = [&asked, now] {
        ++asked;
        return *now;
    };
    client c{io, settings};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await mutex{c, "m"}.async_lock();
        EXPECT_EQ(asked, 1);
        const bool there = co_await when([&] { return listens("c"); });
        EXPECT_TRUE(there);
        now->password = "s3cret-2";
        set_password_of_sentinels(now->password);
        EXPECT_EQ(cut_off_sentinels("c"), 1u);
        const bool back = co_await when([&] { return asked >= 2 && listens("c"); });
        EXPECT_TRUE(back) << asked << ": " << c.last_server_error();
        co_await h.async_unlock();
        co_await c.async_shutdown();
    });
    EXPECT_EQ(c.stats().connects, 1u) << "to the master";
    EXPECT_EQ(log->find("WRONGPASS"), std::string::npos) << *log;
    EXPECT_EQ(log->find("s3cret"), std::string::npos) << *log;
}

TEST_F(sentinel_settings_test, slow_what_the_function_of_the_sentinels_throws_is_told_to_nobody) {
    config settings = settings_without_user();
    const auto log = listen_to(settings);
    int asked = 0;
    settings.sentinel->credentials = [&asked]() -> credentials {
        if (++asked < 5) {
            throw std::runtime_error{"no access to s3cret-1"};
        }
        return {};
    };
    client c{io, settings};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await mutex{c, "m"}.async_lock();
        EXPECT_EQ(asked, 5);
        co_await h.async_unlock();
        co_await c.async_shutdown();
    });
    EXPECT_NE(log->find("sentinel_options::credentials threw"), std::string::npos) << *log;
    EXPECT_EQ((*log + c.last_server_error()).find("s3cret"), std::string::npos) << *log;
}

TEST_F(sentinel_settings_test, slow_the_function_of_the_servers_is_asked_for_each_master) {
    auto now = std::make_shared<credentials>("locks", "s3cret-1");
    const auto set_password = [&] {
        for (std::size_t i = 0; i < sentinel_group::server_count; ++i) {
            group.raw(i).must({"ACL", "SETUSER", "locks", "on", "resetpass", '>' + now->password,
                               "~*", "+@all", "allchannels"});
        }
    };
    set_password();
    config settings = settings_without_user();
    int asked = 0;
    settings.credentials = [&asked, now] {
        ++asked;
        return *now;
    };
    client c{io, settings};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await mutex{c, "m"}.async_lock();
        EXPECT_EQ(asked, 1) << "sentinels have users of their own";
        const reply list = group.raw(0).must({"CLIENT", "LIST"});
        EXPECT_NE(list.text.find("user=locks"), std::string::npos);
        now->password = "s3cret-2";
        set_password();
        EXPECT_EQ(group.raw(0).kill_connections("c"), 1u);
        const bool back = co_await when([&] { return c.stats().connects == 2; });
        EXPECT_TRUE(back) << c.last_server_error();
        EXPECT_EQ(asked, 2);
        EXPECT_TRUE(h.owns_lock());
        co_await h.async_unlock();
        co_await c.async_shutdown();
    });
}

TEST_F(sentinel_settings_test, a_master_by_a_name_without_answer_is_left_for_another_name) {
    const silent_name silent;
    config settings = group.settings("c");
    settings.connect_timeout = 300ms;
    settings.operation_timeout = long_patience;
    settings.sentinel->map_address = [&](const server_address& announced) {
        return server_address{silent.searches() == 0 ? silent.text() : "localhost", announced.port};
    };
    client c{io, settings};
    run([&]() -> asio::awaitable<void> {
        hold h = co_await mutex{c, "m"}.async_lock();
        EXPECT_TRUE(h.owns_lock());
        EXPECT_EQ(silent.searches(), 1u);
        co_await h.async_unlock();
        co_await c.async_shutdown();
    });
}

TEST_F(sentinel_settings_test, slow_masters_are_reached_where_the_map_says) {
    config settings = group.settings("c");
    const auto log = listen_to(settings);
    std::vector<server_address> told;
    settings.sentinel->map_address = [&told](const server_address& announced) {
        told.push_back(announced);
        return server_address{"localhost", announced.port};
    };
    client c{io, settings};
    const auto connected_to = [&](std::size_t i) {
        const std::string line = "connected to localhost:" + std::to_string(group.port(i)) + '\n';
        return log->find(line) != std::string::npos;
    };
    run([&]() -> asio::awaitable<void> {
        hold h = co_await mutex{c, "m"}.async_lock({.lease = 60s});
        EXPECT_TRUE(connected_to(0)) << *log;
        EXPECT_EQ(told.at(0), (server_address{"127.0.0.1", group.port(0)}));
        EXPECT_TRUE(group.replicated(0));
        group.server(0).kill();
        const std::size_t now = co_await next_master(0);
        const bool back = co_await when([&] { return c.stats().connects == 2; }, long_patience);
        EXPECT_TRUE(back) << c.last_server_error();
        EXPECT_TRUE(connected_to(now)) << *log;
        EXPECT_TRUE(h.owns_lock());
        co_await h.async_unlock();
        co_await c.async_shutdown();
    });
    for (std::size_t i = 0; i < sentinel_group::sentinel_count; ++i) {
        const auto port = group.sentinel_port(i);
        EXPECT_TRUE(std::none_of(told.begin(), told.end(),
                                 [&](const server_address& t) { return t.port == port; }));
    }
}

TEST_F(sentinel_settings_test, a_sentinel_whose_name_server_is_silent_keeps_nobody_waiting) {
    const silent_name silent;
    config c = group.settings("c");
    c.sentinel->addresses.insert(c.sentinel->addresses.begin(), {silent.text(), 26379});
    client one{io, c};
    run([&]() -> asio::awaitable<void> {
        const hold h = co_await mutex{one, "m"}.async_lock();
        EXPECT_TRUE(h.owns_lock());
        EXPECT_GE(silent.searches(), 1u);
    });
}

}  // namespace
