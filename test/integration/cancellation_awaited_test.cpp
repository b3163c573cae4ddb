// SPDX-License-Identifier: BSL-1.0
// The columns of the token matrix for cancelled coroutines: `||` with a timer, and co_spawn.
#include "integration/token_matrix.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace conch::test {
namespace {

using namespace asio::experimental::awaitable_operators;

/// The index of the one that ended first.
template <typename Operation>
asio::awaitable<std::size_t> race(scene& s, std::chrono::milliseconds time,
                                  outcome_of<Operation>& o) {
    asio::steady_timer timer{s.io, time};
    auto both = Operation::start(s, asio::use_awaitable) || timer.async_wait(asio::use_awaitable);
    auto first = co_await std::move(both);
    if constexpr (!std::is_same_v<typename Operation::value, nothing>) {
        if (first.index() == 0) {
            o.value = std::move(std::get<0>(first));
        }
    }
    co_return first.index();
}

template <typename Operation>
std::size_t winner(scene& s, std::chrono::milliseconds time, outcome_of<Operation>& o) {
    std::size_t index = 99;
    const auto body = [&]() -> asio::awaitable<void> {
        index = co_await race<Operation>(s, time, o);
    };
    run_test(s.io, body());
    return index;
}

template <typename Operation>
struct faster_than_a_timer {
    static void play(scene& s) {
        outcome_of<Operation> o;
        Operation::prepare(s);
        EXPECT_EQ(winner<Operation>(s, patience * 2, o), 0u);
        Operation::check(s, o.value);
    }
};

template <typename Operation>
struct slower_than_a_timer {
    static void play(scene& s) {
        outcome_of<Operation> o;
        Operation::park(s);
        EXPECT_EQ(winner<Operation>(s, 20ms, o), 1u);
        Operation::unpark(s);
        Operation::left(s);
        if constexpr (!ends_client<Operation>) {
            s.expect_usable();
        }
    }
};

template <typename Operation>
struct cancelled_with_its_coroutine {
    static asio::awaitable<void> body(scene& s, error_code& thrown) {
        try {
            static_cast<void>(co_await Operation::start(s));
        } catch (const system_error& e) {
            thrown = e.code();
        }
    }
    static void play(scene& s) {
        asio::cancellation_signal signal;
        bool done = false;
        error_code thrown;
        Operation::park(s);
        asio::co_spawn(
            s.io, body(s, thrown),
            asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr) { done = true; }));
        step(s.io, 20, 20ms);
        EXPECT_FALSE(done) << "this test would test nothing";
        signal.emit(asio::cancellation_type::terminal);
        s.expect([&] { return done; }, "the coroutine ends");
        EXPECT_EQ(thrown, asio::error::operation_aborted) << thrown.message();
        Operation::unpark(s);
        Operation::left(s);
        if constexpr (!ends_client<Operation>) {
            s.expect_usable();
        }
    }
};

INSTANTIATE_TEST_SUITE_P(coroutines, token_matrix,
                         ::testing::ValuesIn(columns(
                             column<faster_than_a_timer>("faster_than_a_timer"),
                             column<slower_than_a_timer>("slower_than_a_timer"),
                             column<cancelled_with_its_coroutine>("cancelled_with_its_coroutine"))),
                         name_of_cell);

}  // namespace
}  // namespace conch::test
