// SPDX-License-Identifier: BSL-1.0
// The columns of the token matrix for coroutines.
#include "integration/token_matrix.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace conch::test {
namespace {

/// Plays a coroutine that awaits the operation, then sees that it succeeded.
template <typename Operation, typename Body>
void play_awaited(scene& s, Body body) {
    outcome_of<Operation> o;
    Operation::prepare(s);
    run_test(s.io, body(s, o));
    EXPECT_FALSE(o.ec) << o.ec.message();
    Operation::check(s, o.value);
}

template <typename Operation>
struct with_the_default_token {
    static asio::awaitable<void> body(scene& s, outcome_of<Operation>& o) {
        if constexpr (std::is_same_v<typename Operation::value, nothing>) {
            co_await Operation::start(s);
        } else {
            o.value = co_await Operation::start(s);
        }
    }
    static void play(scene& s) { play_awaited<Operation>(s, body); }
};

template <typename Operation>
struct with_use_awaitable {
    static asio::awaitable<void> body(scene& s, outcome_of<Operation>& o) {
        if constexpr (std::is_same_v<typename Operation::value, nothing>) {
            co_await Operation::start(s, asio::use_awaitable);
        } else {
            o.value = co_await Operation::start(s, asio::use_awaitable);
        }
    }
    static void play(scene& s) { play_awaited<Operation>(s, body); }
};

template <typename Operation>
struct with_as_tuple {
    static asio::awaitable<void> body(scene& s, outcome_of<Operation>& o) {
        auto all = co_await Operation::start(s, asio::as_tuple(asio::use_awaitable));
        std::apply(o, std::move(all));
    }
    static void play(scene& s) { play_awaited<Operation>(s, body); }
};

template <typename Operation>
struct with_redirect_error {
    static asio::awaitable<void> body(scene& s, outcome_of<Operation>& o) {
        o.ec = asio::error::would_block;
        if constexpr (std::is_same_v<typename Operation::value, nothing>) {
            co_await Operation::start(s, asio::redirect_error(asio::use_awaitable, o.ec));
        } else {
            o.value = co_await Operation::start(s, asio::redirect_error(asio::use_awaitable, o.ec));
        }
    }
    static void play(scene& s) { play_awaited<Operation>(s, body); }
};

/// An error is thrown by the tokens that promise so.
template <typename Operation>
struct failing_with_the_default_token {
    static asio::awaitable<void> body(scene& s, error_code& thrown) {
        try {
            static_cast<void>(co_await Operation::start(s));
        } catch (const system_error& e) {
            thrown = e.code();
        }
    }
    static void play(scene& s) {
        Operation::fail_at_once(s);
        error_code thrown;
        run_test(s.io, body(s, thrown));
        EXPECT_EQ(thrown, s.at_once);
    }
};

INSTANTIATE_TEST_SUITE_P(
    awaited, token_matrix,
    ::testing::ValuesIn(columns(column<with_the_default_token>("with_the_default_token"),
                                column<with_use_awaitable>("with_use_awaitable"),
                                column<with_as_tuple>("with_as_tuple"),
                                column<with_redirect_error>("with_redirect_error"),
                                column<failing_with_the_default_token>("throws_its_error"))),
    name_of_cell);

}  // namespace
}  // namespace conch::test
