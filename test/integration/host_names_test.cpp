// SPDX-License-Identifier: BSL-1.0
// Hosts whose name server does not answer: nobody waits for that but who asks for the host.
#include "support/name_server.hpp"
#include "support/redis_test.hpp"

#include <memory>
#include <optional>

namespace {

using namespace conch;
using namespace conch::test;

struct host_names_test : redis_test {
    host_names_test() : redis_test{{.tcp = true}} {}

    config at(const std::string& host) const {
        config s = settings();
        s.unix_path.clear();
        s.host = host;
        s.port = server.port();
        s.connect_timeout = 100ms;
        s.reconnect_delay_min = s.reconnect_delay_max = 10ms;
        return s;
    }
    /// A client has begun to look for the silent host, since somebody wants a lock.
    bool looks_for(asio::io_context& context, client& c) {
        mutex{c, "m"}.async_lock([](error_code, hold) {});
        return run_until(context, [&] { return silent.searches() > 0; });
    }
    asio::awaitable<void> lock_and_unlock(client& c) {
        hold h = co_await mutex{c, "m"}.async_lock();
        EXPECT_TRUE(raw.exists("m"));
        co_await h.async_unlock();
    }

    silent_name silent{};
};

TEST_F(host_names_test, a_name_without_answer_stops_no_other_name) {
    client waits{io, at(silent.text())};
    ASSERT_TRUE(looks_for(io, waits));
    run([&]() -> asio::awaitable<void> {
        client c{io, at("localhost")};
        co_await lock_and_unlock(c);
    });
}

TEST_F(host_names_test, a_name_without_answer_delays_no_reconnect) {
    client c{io, at("localhost")};
    run([&] { return lock_and_unlock(c); });
    client waits{io, at(silent.text())};
    ASSERT_TRUE(looks_for(io, waits));
    raw.kill_connections("conch");
    ASSERT_TRUE(run_until(io, [&] { return c.stats().connection_losses == 1; }));
    run([&] { return lock_and_unlock(c); });
}

TEST_F(host_names_test, all_attempts_share_one_search_while_it_gets_no_answer) {
    config s = at(silent.text());
    s.operation_timeout = 20s;
    const auto attempts = std::make_shared<std::size_t>(0);  // the log outlives the client
    s.least_log_level = log_level::debug;
    s.log = [attempts](log_level, std::string_view) { ++*attempts; };
    client c{io, s};
    run([&]() -> asio::awaitable<void> {
        const auto locks = [&]() -> asio::awaitable<void> { co_await lock_and_unlock(c); };
        task_group waiting{io.get_executor()};
        waiting.spawn(locks());
        const bool tried = co_await when([&] { return *attempts >= 4; });
        EXPECT_TRUE(tried);
        EXPECT_EQ(silent.searches(), 1u);
        silent.answer();
        co_await waiting.join();
    });
}

TEST_F(host_names_test, a_search_that_failed_is_begun_anew) {
    config s = at("no-such-host.invalid");
    s.operation_timeout = 300ms;
    client c{io, s};
    run([&]() -> asio::awaitable<void> {
        const auto [ec, h] = co_await mutex{c, "m"}.async_lock({}, as_result);
        EXPECT_EQ(ec, errc::not_connected);
    });
}

TEST_F(host_names_test, the_end_of_client_and_context_waits_for_no_answer) {
    std::optional<asio::io_context> context{std::in_place};
    std::optional<client> c{std::in_place, *context, at(silent.text())};
    ASSERT_TRUE(looks_for(*context, *c));
    const time_point start = clock::now();
    c.reset();
    context->run();  // which has nothing more to do
    context.reset();
    EXPECT_LT(clock::now() - start, 10s) << "the search has not ended";
}

TEST_F(host_names_test, a_context_that_is_gone_first_waits_for_no_answer) {
    std::optional<asio::io_context> context{std::in_place};
    client c{*context, at(silent.text())};
    ASSERT_TRUE(looks_for(*context, c));
    context.reset();
    silent.answer();
}

TEST_F(host_names_test, a_blocking_client_ends_without_an_answer) {
    const time_point start = clock::now();
    {
        config s = at(silent.text());
        s.operation_timeout = 300ms;
        const blocking_client c{s};
        blocking_mutex m{c, "m"};
        EXPECT_THROW(m.try_lock(), system_error);
    }
    EXPECT_LT(clock::now() - start, 10s);
}

}  // namespace
