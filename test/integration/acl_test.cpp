// SPDX-License-Identifier: BSL-1.0
// The user of the ACL that conch needs: no right too few, none too many.
#include "support/redis_test.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace {

using namespace conch;
using namespace conch::test;

using rights_list = std::vector<std::string>;

/// The words of the README's ACL SETUSER behind the password, without quotes and line ends.
rights_list rights_of_readme() {
    std::ifstream in{CONCH_README};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    const std::string begin = "ACL SETUSER conch on '>PASSWORD'";
    const std::size_t at = text.find(begin);
    if (at == std::string::npos) {
        return {};
    }
    std::string line = text.substr(at + begin.size(), text.find("```", at) - at - begin.size());
    std::erase_if(line, [](char c) { return c == '\'' || c == '\\'; });
    std::istringstream words{line};
    return {std::istream_iterator<std::string>{words}, {}};
}

class acl_test : public redis_test {
protected:
    void give(const rights_list& given) {
        raw_client::words line{"ACL",   "SETUSER", "conch",
                               "reset", "on",      '>' + std::string{conch_password}};
        line.insert(line.end(), given.begin(), given.end());
        raw.must(line);
        raw.must({"ACL", "LOG", "RESET"});
        raw.must({"SCRIPT", "FLUSH"});
    }
    /// What the server refused since then.
    std::vector<std::string> refused() {
        std::vector<std::string> out;
        for (const reply& entry : raw.must({"ACL", "LOG"}).items) {
            for (std::size_t i = 0; i + 1 < entry.items.size(); i += 2) {
                if (entry.items[i].text == "object") {
                    out.push_back(entry.items[i + 1].text);
                }
            }
        }
        return out;
    }

    config of_database(const std::string& client_name) const {
        config c = settings(client_name);
        c.database = 1;
        c.ping_interval = 20ms;
        c.operation_timeout = 1s;
        return c;
    }

    asio::awaitable<void> use_lock(const mutex& m);
    asio::awaitable<void> contend(const mutex& m, const mutex& other);
    asio::awaitable<void> use_rates(client& c);
    asio::awaitable<void> use_all();

    rights_list rights = conch_rights();
};

constexpr lock_options brief{.wait = 100ms, .lease = 200ms, .renew = false};

asio::awaitable<void> acl_test::use_lock(const mutex& m) {
    auto [ec, h] = co_await m.async_lock(brief, as_result);
    co_await m.async_status(as_result);
    co_await h.async_extend(300ms, as_result);
    co_await h.async_unlock(as_result);
    co_await m.async_lock(brief, as_result);
    co_await m.async_force_unlock(as_result);
}

asio::awaitable<void> acl_test::contend(const mutex& m, const mutex& other) {
    auto [ec, h] = co_await m.async_lock(brief, as_result);
    co_await other.async_lock(brief, as_result);
    co_await h.async_unlock(as_result);
}

asio::awaitable<void> acl_test::use_rates(client& c) {
    for (const rate_algorithm kind : {rate_algorithm::fixed_window, rate_algorithm::sliding_log}) {
        const std::string name = "rate:" + std::to_string(static_cast<int>(kind));
        const rate_limiter calls{c, name, {5, 1h}, kind};
        for (int i = 0; i < 2; ++i) {
            co_await calls.async_try_acquire(as_result);
        }
    }
    // A log that nobody has looked into for longer than its window.
    raw.must({"ZADD", "rate:old", "1000000000000", "1000000000000:1", "1", ""});
    const rate_limiter old{c, "rate:old", {5, 1h}, rate_algorithm::sliding_log};
    co_await old.async_try_acquire(as_result);
}

// Each command that conch may send, and each that its scripts may call.
asio::awaitable<void> acl_test::use_all() {
    raw.must({"SELECT", "1"});
    client c{io, of_database("conch")};
    client other{io, of_database("other")};
    const mutex lock{c, "lock", {.fenced = true}};
    const mutex of_other{other, "lock", {.fenced = true}};
    const token_mutex plain{c, "plain"};
    const token_mutex plain_of_other{other, "plain"};
    co_await use_lock(lock);
    co_await use_lock(plain);
    co_await contend(lock, of_other);
    co_await mutex{c, "asks", {.replicas = {.at_least = 1, .within = 1ms}}}.async_lock(brief,
                                                                                       as_result);
    co_await contend(plain, plain_of_other);
    co_await use_rates(c);
    const std::uint64_t before = c.stats().connects;
    if (raw.kill_connections("conch") > 0) {
        const mutex m{c, "lock"};
        co_await m.async_status(as_result);
        co_await when([&] { return c.stats().connects > before; }, 2s);
    }
    raw.reset_calls();
    co_await when([&] { return raw.calls("ping") > 0 || !refused().empty(); }, 2s);
    co_await c.async_shutdown();
    co_await other.async_shutdown();
    raw.must({"FLUSHALL"});
}

TEST(acl_readme_test, the_readme_names_the_rights_of_the_user_that_all_tests_run_as) {
    rights_list written = rights_of_readme();
    if (server_is_before(6, 2)) {
        std::erase_if(written, is_of_channels);
    }
    rights_list used = conch_rights();
    std::sort(written.begin(), written.end());
    std::sort(used.begin(), used.end());
    EXPECT_EQ(written, used);
}

TEST_F(acl_test, with_all_of_its_rights_nothing_is_refused) {
    give(rights);
    run([&]() -> asio::awaitable<void> { co_await use_all(); });
    EXPECT_EQ(refused(), std::vector<std::string>{});
}

TEST_F(acl_test, each_right_is_needed) {
    ASSERT_GT(rights.size(), 30u);
    for (std::size_t i = 0; i < rights.size(); ++i) {
        if (rights[i] == "resetchannels") {
            continue;  // the one that takes rights away
        }
        rights_list fewer = rights;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        give(fewer);
        run([&]() -> asio::awaitable<void> { co_await use_all(); }, 60s);
        EXPECT_NE(refused(), std::vector<std::string>{}) << "without " << rights[i];
    }
}

TEST_F(acl_test, keys_may_be_narrowed_down_to_the_names_that_are_used) {
    rights.front() = "~orders:*";
    rights.push_back("~redisson_lock_token:{orders:*");
    give(rights);
    client c{io, settings()};
    run([&]() -> asio::awaitable<void> {
        const mutex own{c, "orders:1", {.fenced = true}};
        hold h = co_await own.async_lock();
        EXPECT_GT(h.fence(), 0u);
        co_await h.async_unlock();
        const mutex foreign{c, "customers:1"};
        const auto [ec, none] = co_await foreign.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::permission_denied);
    });
}

}  // namespace
