// SPDX-License-Identifier: BSL-1.0
// Users and passwords that change, and that nobody else may see.
#include "support/redis_test.hpp"

#include <memory>
#include <stdexcept>

namespace {

using namespace conch;
using namespace conch::test;

class credentials_test : public redis_test {
protected:
    credentials_test() { may_refuse = true; }

    /// Settings that ask this function; what is logged is kept.
    config asking(std::function<credentials()> ask) {
        config c = settings();
        c.username.clear();
        c.password.clear();
        c.credentials = std::move(ask);
        c.least_log_level = log_level::debug;
        c.log = [lines = lines_](log_level, std::string_view line) {
            lines->append(line).append("\n");
        };
        return c;
    }
    void set_password(const std::string& password) {
        raw.must({"ACL", "SETUSER", "conch", "resetpass", '>' + password});
    }
    const std::string& log() const { return *lines_; }

private:
    // Shared with the sink: a client goes on in the background, and its log with it.
    std::shared_ptr<std::string> lines_ = std::make_shared<std::string>();
};

TEST_F(credentials_test, a_password_that_changes_is_asked_for_at_each_connection) {
    auto now = std::make_shared<credentials>("conch", "s3cret-1");
    int asked = 0;
    set_password(now->password);
    client c{io, asking([&asked, now] {
                 ++asked;
                 return *now;
             })};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "held"};
        const hold h = co_await m.async_lock({.lease = 30s});
        EXPECT_EQ(asked, 1);
        now->password = "s3cret-2";
        set_password(now->password);
        EXPECT_EQ(raw.kill_connections("conch"), 1u);
        const bool back = co_await when([&] { return c.stats().connects == 2; });
        EXPECT_TRUE(back) << c.last_server_error();
        EXPECT_EQ(asked, 2);
        EXPECT_TRUE(h.owns_lock());
    });
    EXPECT_EQ(log().find("s3cret"), std::string::npos) << log();
    EXPECT_EQ(raw.must({"CLIENT", "LIST"}).text.find("s3cret"), std::string::npos);
}

TEST_F(credentials_test, a_password_that_is_old_is_told_and_the_next_one_is_asked_for) {
    auto now = std::make_shared<credentials>("conch", "s3cret-old");
    set_password("s3cret-new");
    client c{io, asking([now] { return *now; })};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "later"};
        const auto [ec, none] = co_await m.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::authentication_failed);
        now->password = "s3cret-new";
        const bool there = co_await when([&] { return c.stats().connects == 1; });
        EXPECT_TRUE(there) << c.last_server_error();
        const hold h = co_await m.async_lock();
        EXPECT_TRUE(h.owns_lock());
    });
    EXPECT_EQ((log() + c.last_server_error()).find("s3cret"), std::string::npos) << log();
}

TEST_F(credentials_test, what_the_function_throws_is_told_to_nobody_and_it_is_asked_again) {
    int asked = 0;
    client c{io, asking([&asked]() -> credentials {
                 if (++asked < 3) {
                     throw std::runtime_error{"no access to s3cret-1"};
                 }
                 return {std::string{conch_user}, std::string{conch_password}};
             })};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "third-time"};
        const hold h = co_await m.async_lock();
        EXPECT_TRUE(h.owns_lock());
        EXPECT_EQ(asked, 3);
    });
    EXPECT_NE(log().find("config::credentials threw an exception"), std::string::npos) << log();
    EXPECT_EQ((log() + c.last_server_error()).find("s3cret"), std::string::npos) << log();
}

TEST_F(credentials_test, a_user_without_a_password_is_no_answer) {
    config settings = asking([] { return credentials{"conch", ""}; });
    settings.operation_timeout = 200ms;
    client c{io, settings};
    run([&]() -> asio::awaitable<void> {
        const mutex m{c, "never"};
        const auto [ec, none] = co_await m.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::not_connected);
    });
    EXPECT_EQ(c.last_server_error(), "config::credentials gave a user without a password");
}

TEST_F(credentials_test, no_user_and_no_password_is_the_default_user) {
    client c{io, asking([] { return credentials{}; })};
    run([&]() -> asio::awaitable<void> { co_await warm_up(c); });
}

// The function may use the client that asks it, and end it.
TEST_F(credentials_test, the_function_may_destroy_the_client) {
    std::optional<client> c;
    c.emplace(io, asking([&c] {
                  c.reset();
                  return credentials{};
              }));
    error_code told;
    const mutex m{*c, "last"};
    m.async_lock([&](error_code ec, hold) { told = ec; });
    run_to_end(io);
    EXPECT_EQ(told, errc::client_closed);
}

}  // namespace
