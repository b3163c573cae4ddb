// SPDX-License-Identifier: BSL-1.0
// guarded: each call under a lock that is named from its arguments.
#include "integration/with_lock_fixture.hpp"

#include <conch/guarded.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <future>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

struct user_id {
    int number;
    std::string str() const { return std::to_string(number); }
};

std::string key_of(user_id id) { return "updateUserInfo:" + id.str(); }

/// Someone's own class.
struct account {
    raw_client& raw;
    std::string seen{};
    asio::awaitable<int> add(std::string key, int amount) {
        seen = key;
        co_return raw.exists("add:" + key + ":" + std::to_string(amount)) ? amount : -1;
    }
};

class guarded_test : public redis_test {
protected:
    /// What a call threw: a code, or nothing.
    template <typename Call>
    asio::awaitable<error_code> outcome(Call call) {
        try {
            co_await std::move(call);
        } catch (const system_error& e) {
            said = e.what();
            co_return e.code();
        }
        co_return error_code{};
    }

    client redis{io, settings()};
    std::string said;  ///< by the last exception
};

TEST_F(guarded_test, a_call_runs_under_the_lock_that_a_function_names_from_its_arguments) {
    auto update = guarded(redis, key_of,
                          [&](user_id id) -> asio::awaitable<int> {
                              co_return raw.exists("updateUserInfo:7") ? id.number : -1;
                          },
                          busy_text("please do not submit twice"), {.wait = 1s, .lease = 10s});
    run([&]() -> asio::awaitable<void> {
        const user_id id{7};
        const int result = co_await update(id);
        EXPECT_EQ(result, 7);
        EXPECT_FALSE(raw.exists("updateUserInfo:7"));
    });
}

TEST_F(guarded_test, who_comes_second_gets_the_text) {
    take_as_stranger(raw, "updateUserInfo:7");
    int calls = 0;
    auto update = guarded(
        redis, key_of,
        [&](user_id) -> asio::awaitable<void> {
            ++calls;
            co_return;
        },
        busy_text("please do not submit twice"));
    run([&]() -> asio::awaitable<void> {
        const user_id seven{7};
        const user_id eight{8};
        std::string text;
        try {
            co_await update(seven);
        } catch (const busy_error& e) {
            text = e.what();
            EXPECT_EQ(e.code(), errc::timed_out);
        }
        EXPECT_EQ(text, "please do not submit twice");
        EXPECT_EQ(calls, 0);
        co_await update(eight);
        EXPECT_EQ(calls, 1) << "another name";
    });
}

TEST_F(guarded_test, without_a_text_the_lock_is_named) {
    take_as_stranger(raw, "job:1");
    auto job = guarded(redis, "job", [](int) -> asio::awaitable<void> { co_return; });
    run([&]() -> asio::awaitable<void> {
        const error_code ec = co_await outcome(job(1));
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_EQ(said, "lock \"job:1\" at " + settings().url() + " is busy");
    });
}

TEST_F(guarded_test, a_timeout_of_the_function_itself_is_not_taken_for_a_busy_lock) {
    auto job = guarded(
        redis, "job",
        []() -> asio::awaitable<void> {
            throw system_error{make_error_code(errc::timed_out)};
            co_return;
        },
        busy_text("busy"));
    run([&]() -> asio::awaitable<void> {
        const error_code ec = co_await outcome(job());
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_NE(said, "busy");
        EXPECT_FALSE(raw.exists("job")) << "released all the same";
    });
}

TEST_F(guarded_test, a_prefix_is_followed_by_the_arguments) {
    std::string seen;
    auto job = guarded(redis, "job", [&](std::string_view, int, bool) -> asio::awaitable<void> {
        seen = raw.exists("job:a b:-3:true") ? "held" : "not held";
        co_return;
    });
    run([&]() -> asio::awaitable<void> {
        co_await job("a b", -3, true);
        EXPECT_EQ(seen, "held");
    });
}

TEST_F(guarded_test, a_member_function_is_called_on_its_object_which_is_no_part_of_the_key) {
    account mine{raw};
    auto add = guarded(redis, "add", &account::add);
    run([&]() -> asio::awaitable<void> {
        const std::string key = "x";
        const int by_pointer = co_await add(&mine, key, 5);
        EXPECT_EQ(by_pointer, 5);
        const int by_reference = co_await add(std::ref(mine), key, 6);
        EXPECT_EQ(by_reference, 6);
        EXPECT_EQ(mine.seen, "x");
        EXPECT_EQ(key, "x") << "copied, not moved from";
    });
}

TEST_F(guarded_test, a_key_function_gets_the_object_of_a_member_function_first) {
    account mine{raw, "mine"};
    const auto key = [](const account* of, const std::string& name, int) {
        return of->seen + ':' + name;
    };
    auto add = guarded(redis, key, &account::add);
    take_as_stranger(raw, "mine:x");
    run([&]() -> asio::awaitable<void> {
        const error_code ec = co_await outcome(add(&mine, "x", 5));
        EXPECT_EQ(ec, errc::timed_out);
        EXPECT_EQ(said, "lock \"mine:x\" at " + settings().url() + " is busy");
    });
}

TEST_F(guarded_test, arguments_and_functions_may_be_move_only) {
    auto box = std::make_unique<int>(40);
    auto job = guarded(
        redis, [](const std::unique_ptr<int>& n) { return "job:" + std::to_string(*n); },
        [box = std::move(box)](std::unique_ptr<int> n) -> asio::awaitable<std::unique_ptr<int>> {
            *n += *box;
            co_return std::move(n);
        });
    run([&]() -> asio::awaitable<void> {
        auto two = std::make_unique<int>(2);
        const std::unique_ptr<int> sum = co_await job(std::move(two));
        EXPECT_EQ(*sum, 42);
    });
}

TEST_F(guarded_test, a_call_outlives_the_wrapper_and_its_arguments) {
    std::future<std::string> result;
    {
        const std::string word = "a word that is longer than a small string";
        auto job = guarded(redis, "job", [](std::string text) -> asio::awaitable<std::string> {
            co_await asio::post(asio::use_awaitable);
            co_return text;
        });
        result = asio::co_spawn(io, job(word), asio::use_future);
    }
    run([&]() -> asio::awaitable<void> {
        while (result.wait_for(0s) != std::future_status::ready) {
            co_await asio::post(asio::use_awaitable);
        }
    });
    EXPECT_EQ(result.get(), "a word that is longer than a small string");
}

TEST_F(guarded_test, the_lock_is_released_after_an_exception) {
    auto job = guarded(redis, "job", []() -> asio::awaitable<void> {
        throw std::runtime_error{"no luck"};
        co_return;
    });
    run([&]() -> asio::awaitable<void> {
        std::string text;
        try {
            co_await job();
        } catch (const std::runtime_error& e) {
            text = e.what();
        }
        EXPECT_EQ(text, "no luck");
        EXPECT_FALSE(raw.exists("job"));
    });
}

TEST_F(guarded_test, the_function_is_cancelled_when_the_lock_is_lost) {
    bool cancelled = false;
    auto job = guarded(redis, "job",
                       [&]() -> asio::awaitable<void> { co_await until_cancelled(&cancelled); },
                       {.lease = 300ms, .renew = false});
    run([&]() -> asio::awaitable<void> {
        const error_code ec = co_await outcome(job());
        EXPECT_EQ(ec, errc::lock_lost);
        EXPECT_TRUE(cancelled);
    });
}

TEST_F(guarded_test, without_auto_release_the_key_stays_until_its_lease_ends) {
    int calls = 0;
    auto submit = guarded(redis, "submit",
                          [&](int) -> asio::awaitable<void> {
                              ++calls;
                              if (calls == 2) {
                                  throw std::runtime_error{"no luck"};
                              }
                              co_return;
                          },
                          busy_text("twice"), {.lease = 10s, .auto_release = false});
    run([&]() -> asio::awaitable<void> {
        co_await submit(1);
        EXPECT_GT(raw.pttl("submit:1"), 0);
        EXPECT_LE(raw.pttl("submit:1"), 10'000);
        const error_code again = co_await outcome(submit(1));
        EXPECT_EQ(again, errc::timed_out);
        EXPECT_EQ(said, "twice");
        EXPECT_EQ(calls, 1);
        try {
            co_await submit(2);
        } catch (const std::runtime_error&) {
        }
        EXPECT_TRUE(raw.exists("submit:2")) << "after a failure too";
        raw.must({"PEXPIRE", "submit:1", "1"});
        while (raw.exists("submit:1")) {
            co_await asio::post(asio::use_awaitable);
        }
        co_await submit(1);
        EXPECT_EQ(calls, 3) << "its lease is over";
    });
}

TEST_F(guarded_test, without_auto_release_a_loss_cancels_the_function_and_the_key_is_left) {
    bool cancelled = false;
    auto job = guarded(
        redis, "job", [&]() -> asio::awaitable<void> { co_await until_cancelled(&cancelled); },
        {.lease = 1s, .renew = false, .stop_before = 500ms, .auto_release = false});
    run([&]() -> asio::awaitable<void> {
        raw.reset_calls();
        const error_code ec = co_await outcome(job());
        EXPECT_EQ(ec, errc::lock_lost);
        EXPECT_TRUE(cancelled);
        raw.must({"SET", "after", "1"});  // the server has run all that came before
        EXPECT_EQ(raw.calls("del"), 0u);
    });
}

TEST_F(guarded_test, bad_options_and_names_are_refused_before_anything_is_sent) {
    auto nameless =
        guarded(redis, [] { return std::string{}; }, []() -> asio::awaitable<void> { co_return; });
    EXPECT_THROW(static_cast<void>(nameless()), std::invalid_argument);
    auto leaseless =
        guarded(redis, "job", []() -> asio::awaitable<void> { co_return; }, {.lease = 1ms});
    run([&]() -> asio::awaitable<void> {
        const error_code ec = co_await outcome(leaseless());
        EXPECT_EQ(ec, errc::invalid_lease);
    });
    EXPECT_EQ(redis.stats().script_calls, 0u);
}

}  // namespace
