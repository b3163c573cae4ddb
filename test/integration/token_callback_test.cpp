// SPDX-License-Identifier: BSL-1.0
// The columns of the token matrix for callbacks, and what is promised about every handler: where,
// when and how often it runs.
#include "integration/token_matrix.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_future.hpp>

#include <cstddef>
#include <cstdint>
#include <future>

namespace conch::test {
namespace {

/// Waits for the handler; it must not have run before, and not run again.
template <typename Operation>
void expect_one_call(scene& s, outcome_of<Operation>& o) {
    EXPECT_EQ(o.calls, 0) << "inside the initiating call";
    s.expect([&] { return o.calls != 0; }, "the handler runs");
    step(s.io, 20, 2ms);
    EXPECT_EQ(o.calls, 1);
}

template <typename Operation>
void expect_success(scene& s, outcome_of<Operation>& o) {
    expect_one_call<Operation>(s, o);
    EXPECT_FALSE(o.ec) << o.ec.message();
    Operation::check(s, o.value);
}

template <typename Operation>
struct with_deferred {
    static void play(scene& s) {
        outcome_of<Operation> o;
        Operation::prepare(s);
        step(s.io, 50, 20ms);  // what was prepared goes on in the background
        auto later = Operation::start(s, asio::deferred);
        const auto before = s.c.stats().bytes_sent;
        step(s.io, 20, 2ms);
        EXPECT_EQ(s.c.stats().bytes_sent, before) << "started before it was launched";
        std::move(later)(noting_of<Operation>{&o});
        expect_success<Operation>(s, o);
    }
};

template <typename Operation>
struct with_use_future {
    static void play(scene& s) {
        outcome_of<Operation> o;
        Operation::prepare(s);
        auto f = Operation::start(s, asio::use_future);
        s.expect([&] { return f.wait_for(0s) == std::future_status::ready; }, "it is ready");
        if constexpr (std::is_same_v<typename Operation::value, nothing>) {
            f.get();
        } else {
            o.value = f.get();
        }
        Operation::check(s, o.value);
    }
};

template <typename Value>
struct move_only : noting<Value> {
    explicit move_only(noting<Value> to) : noting<Value>{std::move(to)} {}
    move_only(move_only&&) = default;
};

template <typename Operation>
struct with_a_move_only_handler {
    static void play(scene& s) {
        outcome_of<Operation> o;
        Operation::prepare(s);
        Operation::start(s, move_only<typename Operation::value>{noting_of<Operation>{&o}});
        expect_success<Operation>(s, o);
    }
};

struct traffic {
    int allocated = 0;
    int freed = 0;
};

template <typename T>
struct counting_allocator {
    using value_type = T;
    explicit counting_allocator(traffic* t) noexcept : to{t} {}
    template <typename U>
    counting_allocator(const counting_allocator<U>& other) noexcept : to{other.to} {}
    T* allocate(std::size_t n) {
        ++to->allocated;
        return std::allocator<T>{}.allocate(n);
    }
    void deallocate(T* p, std::size_t n) noexcept {
        ++to->freed;
        std::allocator<T>{}.deallocate(p, n);
    }
    bool operator==(const counting_allocator&) const noexcept = default;
    traffic* to;
};

/// Its executor isn't type-erased: an any_io_executor has no room for an allocator.
template <typename Operation>
struct with_bind_allocator {
    static void play(scene& s) {
        outcome_of<Operation> o;
        traffic memory;
        const auto all_is_given_back = [&] {
            EXPECT_EQ(memory.allocated, memory.freed) << "all is given back before the handler";
        };
        const noting_of<Operation> handler{&o, all_is_given_back};
        Operation::prepare(s);
        Operation::start(s,
                         asio::bind_allocator(counting_allocator<std::byte>{&memory},
                                              asio::bind_executor(s.io.get_executor(), handler)));
        EXPECT_EQ(memory.allocated, 1) << "the operation itself";
        expect_success<Operation>(s, o);
        EXPECT_GE(memory.allocated, 2) << "and its way to the handler's executor";
        EXPECT_EQ(memory.allocated, memory.freed);
    }
};

/// It does what it does, and nobody hears of it. A hold that nobody gets is given back.
template <typename Operation>
struct with_detached {
    static void play(scene& s) {
        Operation::prepare(s);
        const std::uint64_t before = s.c.stats().acquisitions;
        Operation::start(s, asio::detached);
        step(s.io, 50, 20ms);  // until nothing goes on
        if constexpr (std::is_same_v<typename Operation::value, hold>) {
            s.expect([&] { return s.free("asked"); }, "it is given back");
            s.expect([&] { return s.c.stats().slots_now == s.slots; }, "and forgotten");
            EXPECT_GT(s.c.stats().acquisitions, before) << "it was never taken";
        } else if constexpr (std::is_same_v<typename Operation::value, nothing>) {
            nothing got;
            Operation::check(s, got);
        }
        if constexpr (!ends_client<Operation>) {
            s.expect_usable();
        }
    }
};

/// Runs an operation whose handler is bound to another context.
template <typename Operation>
void play_elsewhere(scene& s, outcome_of<Operation>& o) {
    asio::io_context own;
    const auto there = own.get_executor();
    const auto runs_there = [&] { EXPECT_TRUE(there.running_in_this_thread()); };
    Operation::start(s, asio::bind_executor(there, noting_of<Operation>{&o, runs_there}));
    EXPECT_EQ(o.calls, 0) << "inside the initiating call";
    s.expect(
        [&] {
            const bool came = own.poll() != 0;
            EXPECT_TRUE(came || !own.stopped()) << "nothing keeps the handler's context alive";
            return came;
        },
        "the handler comes to its context");
    EXPECT_EQ(o.calls, 1);
    own.poll();
    EXPECT_TRUE(own.stopped()) << "something keeps the handler's context alive";
}

template <typename Operation>
struct with_bind_executor {
    static void play(scene& s) {
        outcome_of<Operation> o;
        Operation::prepare(s);
        play_elsewhere<Operation>(s, o);
        EXPECT_FALSE(o.ec) << o.ec.message();
        Operation::check(s, o.value);
    }
};

template <typename Operation>
struct failing_at_once_with_bind_executor {
    static void play(scene& s) {
        outcome_of<Operation> o;
        Operation::fail_at_once(s);
        play_elsewhere<Operation>(s, o);
        EXPECT_EQ(o.ec, s.at_once);
    }
};

/// Its executor is the client's, except for those of an empty hold, which knows no client.
template <typename Operation>
struct failing_at_once {
    static void play(scene& s) {
        outcome_of<Operation> o;
        Operation::fail_at_once(s);
        if (!s.h && s.at_once == errc::not_owner) {
            const auto told = std::make_shared<std::promise<void>>();
            std::future<void> f = told->get_future();
            Operation::start(s, noting_of<Operation>{&o, {}, [told] { told->set_value(); }});
            ASSERT_EQ(f.wait_for(patience), std::future_status::ready);
            EXPECT_EQ(o.calls, 1);
        } else {
            Operation::start(s, noting_of<Operation>{&o});
            expect_one_call<Operation>(s, o);
        }
        EXPECT_EQ(o.ec, s.at_once);
    }
};

template <typename Operation>
struct with_a_throwing_handler {
    struct thrown {};
    static void play(scene& s) {
        outcome_of<Operation> o;
        Operation::prepare(s);
        Operation::start(s, noting_of<Operation>{&o, {}, [] { throw thrown{}; }});
        EXPECT_THROW(run_until(s.io, [&] { return false; }), thrown);
        EXPECT_FALSE(o.ec) << o.ec.message();
        EXPECT_EQ(o.calls, 1);
        Operation::check(s, o.value);
        if constexpr (!ends_client<Operation>) {
            s.expect_usable();
        }
    }
};

INSTANTIATE_TEST_SUITE_P(
    callbacks, token_matrix,
    ::testing::ValuesIn(columns(
        column<with_deferred>("with_deferred"), column<with_use_future>("with_use_future"),
        column<with_a_move_only_handler>("with_a_move_only_handler"),
        column<with_bind_allocator>("with_bind_allocator"), column<with_detached>("with_detached"),
        column<with_bind_executor>("with_bind_executor"),
        column<failing_at_once>("answers_at_once_but_not_inside_the_call"),
        column<failing_at_once_with_bind_executor>("answers_at_once_on_the_bound_executor"),
        column<with_a_throwing_handler>("with_a_throwing_handler"))),
    name_of_cell);

}  // namespace
}  // namespace conch::test
