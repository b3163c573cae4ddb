// SPDX-License-Identifier: BSL-1.0
// The columns of the token matrix for cancellation slots: of each type, at each moment, what the
// caller gets and what is left.
#include "integration/token_matrix.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>

#include <thread>

namespace conch::test {
namespace {

/// An operation that can be cancelled.
template <typename Operation>
struct cancellable {
    asio::cancellation_signal signal{};
    outcome_of<Operation> o{};

    void start(scene& s) {
        Operation::start(s, asio::bind_cancellation_slot(signal.slot(), noting_of<Operation>{&o}));
        EXPECT_EQ(o.calls, 0) << "inside the initiating call";
    }
    /// The caller is told while the operation could not end by itself; then that is let go on.
    void expect_aborted(scene& s) {
        s.expect([&] { return o.calls != 0; }, "the handler runs");
        EXPECT_EQ(o.ec, asio::error::operation_aborted) << o.ec.message();
        Operation::unpark(s);
        Operation::left(s);
        if constexpr (!ends_client<Operation>) {
            s.expect_usable();
        }
        EXPECT_EQ(o.calls, 1);
    }
};

/// Cancels with `Type` what is on its way.
template <typename Operation, asio::cancellation_type Type>
void play_cancelled(scene& s) {
    cancellable<Operation> one;
    Operation::park(s);
    one.start(s);
    step(s.io, 20, 20ms);
    EXPECT_EQ(one.o.calls, 0) << "this test would test nothing";
    one.signal.emit(Type);
    EXPECT_EQ(one.o.calls, 0) << "inside of emit()";
    one.expect_aborted(s);
}

template <typename Operation>
struct cancelled_terminally {
    static void play(scene& s) { play_cancelled<Operation, asio::cancellation_type::terminal>(s); }
};
template <typename Operation>
struct cancelled_partially {
    static void play(scene& s) { play_cancelled<Operation, asio::cancellation_type::partial>(s); }
};
template <typename Operation>
struct cancelled_totally {
    static void play(scene& s) { play_cancelled<Operation, asio::cancellation_type::total>(s); }
};

template <typename Operation>
struct cancelled_with_no_type {
    static void play(scene& s) {
        cancellable<Operation> one;
        Operation::park(s);
        one.start(s);
        one.signal.emit(asio::cancellation_type::none);
        step(s.io, 20, 20ms);
        EXPECT_EQ(one.o.calls, 0) << "of no type: no cancellation";
        one.signal.emit(asio::cancellation_type::terminal);
        one.expect_aborted(s);
    }
};

template <typename Operation>
struct cancelled_before_the_client_saw_it {
    static void play(scene& s) {
        cancellable<Operation> one;
        Operation::park(s);
        one.start(s);
        one.signal.emit(asio::cancellation_type::terminal);
        one.expect_aborted(s);
    }
};

template <typename Operation>
struct cancelled_twice {
    static void play(scene& s) {
        cancellable<Operation> one;
        Operation::park(s);
        one.start(s);
        step(s.io, 20, 20ms);
        one.signal.emit(asio::cancellation_type::total);
        one.signal.emit(asio::cancellation_type::terminal);
        one.expect_aborted(s);
    }
};

template <typename Operation>
struct cancelled_from_another_thread {
    static void play(scene& s) {
        cancellable<Operation> one;
        Operation::park(s);
        one.start(s);
        std::thread other{[&] { one.signal.emit(asio::cancellation_type::terminal); }};
        one.expect_aborted(s);
        other.join();
    }
};

/// With a slot that nobody uses, and with one that is used too late.
template <typename Operation>
struct cancelled_after_its_end {
    static void play(scene& s) {
        cancellable<Operation> one;
        Operation::prepare(s);
        one.start(s);
        s.expect([&] { return one.o.calls != 0; }, "the handler runs");
        EXPECT_FALSE(one.o.ec) << one.o.ec.message();
        one.signal.emit(asio::cancellation_type::terminal);
        step(s.io, 20, 2ms);
        EXPECT_EQ(one.o.calls, 1);
        Operation::check(s, one.o.value);
        if constexpr (!ends_client<Operation>) {
            s.expect_usable();
        }
    }
};

INSTANTIATE_TEST_SUITE_P(
    slots, token_matrix,
    ::testing::ValuesIn(
        columns(column<cancelled_terminally>("cancelled_terminally"),
                column<cancelled_partially>("cancelled_partially"),
                column<cancelled_totally>("cancelled_totally"),
                column<cancelled_with_no_type>("cancelled_with_no_type"),
                column<cancelled_before_the_client_saw_it>("cancelled_before_the_client_saw_it"),
                column<cancelled_twice>("cancelled_twice"),
                column<cancelled_from_another_thread>("cancelled_from_another_thread"),
                column<cancelled_after_its_end>("cancelled_after_its_end"))),
    name_of_cell);

}  // namespace
}  // namespace conch::test
