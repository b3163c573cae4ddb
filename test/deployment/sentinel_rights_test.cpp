// SPDX-License-Identifier: BSL-1.0
// The least that users must be allowed where sentinels watch: what the page on security says.
#include "support/rights.hpp"
#include "deployment/sentinel_test.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace conch::test {
namespace {

class sentinel_rights_test : public sentinel_test {
protected:
    raw_client raw_sentinel(std::size_t i) { return raw_client{group.sentinel(i).socket_path()}; }

    /// Each sentinel allows the user this, and has refused nothing yet.
    void give(const std::vector<std::string>& rights) {
        std::vector<std::string> line = words_of_user(rights);
        line.insert(line.begin(), {"ACL", "SETUSER"});
        line.insert(line.begin() + 3, "reset");
        for (std::size_t i = 0; i < sentinel_group::sentinel_count; ++i) {
            raw_sentinel(i).must(line);
            raw_sentinel(i).must({"ACL", "LOG", "RESET"});
        }
    }
    std::vector<std::string> refused_by_sentinels() {
        std::vector<std::string> out;
        for (std::size_t i = 0; i < sentinel_group::sentinel_count; ++i) {
            for (std::string& what : raw_sentinel(i).refused()) {
                out.push_back(std::move(what));
            }
        }
        return out;
    }
    std::vector<std::string> refused_by_servers() {
        std::vector<std::string> out;
        for (std::size_t i = 0; i < sentinel_group::server_count; ++i) {
            for (std::string& what : group.raw(i).refused()) {
                out.push_back(std::move(what));
            }
        }
        return out;
    }
    /// They are asked, listened to, and pinged, all of that often.
    config busy() const {
        config c = group.settings("busy");
        c.sentinel->scan_interval = 50ms;
        c.ping_interval = 20ms;
        c.operation_timeout = 1s;
        return c;
    }
};

const std::vector<std::string> nothing{};

TEST_F(sentinel_rights_test, slow_what_the_readme_says_is_enough) {
    config c = busy();
    c.operation_timeout = long_patience;
    client asks{io, c};
    run([&]() -> asio::awaitable<void> {
        const mutex m{asks, "m", {.fenced = true}};
        hold h = co_await m.async_lock({.lease = 60s});
        EXPECT_TRUE(group.replicated(0));
        group.server(0).freeze();
        const std::size_t now = co_await next_master(0);
        const bool moved = co_await when([&] { return asks.stats().connects == 2; }, long_patience);
        EXPECT_TRUE(moved);
        EXPECT_EQ(group.raw(now).connections("busy").size(), 1u);
        EXPECT_TRUE(h.owns_lock());
        co_await h.async_unlock();
        group.server(0).thaw();
    });
    EXPECT_EQ(refused_by_servers(), nothing);
    EXPECT_EQ(refused_by_sentinels(), nothing);
}

TEST_F(sentinel_rights_test, slow_each_right_at_the_sentinels_is_needed) {
    for (const std::string& right : rights_at_sentinels()) {
        if (right == "resetchannels") {
            continue;  // the one that takes rights away
        }
        std::vector<std::string> fewer = rights_at_sentinels();
        std::erase(fewer, right);
        give(fewer);
        client c{io, busy()};
        run([&]() -> asio::awaitable<void> {
            const mutex m{c, "m"};
            const auto [ec, h] = co_await m.async_lock({}, as_result);
            const bool asked = co_await when([&] { return refused_by_sentinels() != nothing; });
            EXPECT_TRUE(asked) << "without " << right;
            co_await c.async_shutdown(as_result);
        });
    }
}

TEST_F(sentinel_rights_test, slow_who_may_not_ask_for_the_role_is_not_kept_from_the_master) {
    for (std::size_t i = 0; i < sentinel_group::server_count; ++i) {
        group.raw(i).must({"ACL", "SETUSER", std::string{conch_user}, "-info"});
    }
    run([&]() -> asio::awaitable<void> {
        hold h = co_await mutex{a, "m"}.async_lock();
        EXPECT_EQ(group.raw(0).refused(), (std::vector<std::string>{"info"}));
        co_await h.async_unlock();
    });
}

}  // namespace
}  // namespace conch::test
