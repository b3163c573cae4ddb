// SPDX-License-Identifier: BSL-1.0
// The spans that OpenTelemetry exports of the locks of a program.
#include "integration/opentelemetry_fixture.hpp"

#include <opentelemetry/trace/scope.h>

#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace conch;
using namespace conch::test;
using namespace std::chrono_literals;

struct opentelemetry_spans_test : opentelemetry_test {
    /// Of a lock that the one holds, and the other tries for and waits for.
    void expect_links(const client& holder, const client& waiter) {
        const mutex m{holder, "orders:7"};
        const mutex wanted{waiter, "orders:7"};
        hold first;
        run([&]() -> asio::awaitable<void> {
            first = co_await m.async_lock();
            const hold busy = co_await wanted.async_try_lock();
            EXPECT_FALSE(busy);
        });
        bool granted = false;
        wanted.async_lock([&](error_code ec, hold) { granted = !ec; });
        ASSERT_TRUE(run_until(io, [&] { return waiter.stats().waiting_now == 1; }));
        first.release();
        ASSERT_TRUE(run_until(
            io, [&] { return granted && counted->snapshot().classes.at(0).held_now == 0; }));
        const std::vector<exported_span> waits = exported("conch.wait");
        const std::vector<exported_span> holds = exported("conch.hold");
        ASSERT_EQ(waits.size(), 3U);
        ASSERT_EQ(holds.size(), 2U);
        EXPECT_TRUE(waits[0]->GetLinks().empty()) << "it waited for nobody";
        for (const std::size_t i : {1U, 2U}) {
            ASSERT_EQ(waits[i]->GetLinks().size(), 1U) << i;
            EXPECT_EQ(waits[i]->GetLinks()[0].GetSpanContext().span_id(), holds[0]->GetSpanId());
        }
        EXPECT_EQ(attribute(waits[1], "conch.wait.outcome"), "busy");
        EXPECT_EQ(waits[1]->GetStatus(), api::trace::StatusCode::kUnset);
        EXPECT_EQ(attribute(waits[2], "conch.wait.contended"), "true");
    }
};

TEST_F(opentelemetry_spans_test, a_wait_and_its_hold_are_children_of_the_span_that_called) {
    client redis{io, observed()};
    const mutex m{redis, "orders:7", {.fenced = true}};
    const span_ptr parent = request();
    std::optional<hold> got;
    {
        const api::trace::Scope active{parent};
        m.async_lock([&](error_code, hold h) { got = std::move(h); });
    }
    ASSERT_TRUE(run_until(io, [&] { return got.has_value(); }));
    const std::uint64_t fence = got->fence();
    got.reset();
    ASSERT_TRUE(run_until(io, [&] { return redis.stats().releases == 1; }));
    const exported_span w = one("conch.wait");
    const exported_span h = one("conch.hold");
    for (const exported_span* const s : {&w, &h}) {
        EXPECT_EQ((*s)->GetParentSpanId(), parent->GetContext().span_id());
        EXPECT_EQ((*s)->GetTraceId(), parent->GetContext().trace_id());
        EXPECT_EQ((*s)->GetStatus(), api::trace::StatusCode::kUnset);
        EXPECT_TRUE((*s)->GetLinks().empty());
        EXPECT_EQ(attribute(*s, "conch.lock.class"), "orders");
        for (const auto& [key, value] : (*s)->GetAttributes()) {
            EXPECT_EQ(text_of(value).find(":7"), std::string::npos) << "the name is in " << key;
        }
    }
    EXPECT_EQ(attribute(w, "conch.wait.outcome"), "granted");
    EXPECT_EQ(attribute(w, "conch.wait.contended"), "false");
    EXPECT_EQ(attribute(h, "conch.hold.end"), "released");
    EXPECT_EQ(attribute(h, "conch.hold.fence"), std::to_string(fence));
    EXPECT_GT(w->GetDuration(), 0ns);
    EXPECT_LE(w->GetStartTime().time_since_epoch() + w->GetDuration(),
              std::chrono::system_clock::now().time_since_epoch());
}

TEST_F(opentelemetry_spans_test, what_is_active_where_the_client_runs_is_no_parent) {
    client redis{io, observed()};
    const mutex m{redis, "orders:7"};
    const span_ptr parent = request();
    int grants = 0;
    const auto done = [&](error_code ec, hold) { grants += ec ? 0 : 1; };
    m.async_lock(done);
    std::thread caller{[&] {
        const api::trace::Scope active{parent};
        m.async_lock(done);
    }};
    caller.join();
    const span_ptr another = request();
    const api::trace::Scope active{another};
    ASSERT_TRUE(run_until(io, [&] { return grants == 2 && redis.stats().releases == 2; }));
    for (const char* const name : {"conch.wait", "conch.hold"}) {
        const std::vector<exported_span> all = exported(name);
        ASSERT_EQ(all.size(), 2U);
        EXPECT_FALSE(all[0]->GetParentSpanId().IsValid()) << name;
        EXPECT_NE(all[0]->GetTraceId(), another->GetContext().trace_id()) << name;
        EXPECT_EQ(all[1]->GetParentSpanId(), parent->GetContext().span_id()) << name;
    }
}

TEST_F(opentelemetry_spans_test, a_blocking_lock_has_its_callers_span) {
    blocking_client redis{observed()};
    blocking_mutex m{redis, "orders:7"};
    const span_ptr parent = request();
    {
        const api::trace::Scope active{parent};
        const std::scoped_lock held{m};
    }
    EXPECT_EQ(one("conch.wait")->GetParentSpanId(), parent->GetContext().span_id());
}

TEST_F(opentelemetry_spans_test, a_wait_is_linked_to_the_hold_that_it_waited_for) {
    const client redis{io, observed()};
    expect_links(redis, redis);
}

TEST_F(opentelemetry_spans_test, a_wait_is_linked_to_the_hold_of_another_client_of_this_process) {
    const config shared = observed();
    const client a{io, shared};
    const client b{io, shared};
    expect_links(a, b);
}

TEST_F(opentelemetry_spans_test, a_wait_is_not_linked_to_a_hold_that_ended_before_it) {
    const auto told = opentelemetry_observer(counted, options());
    const time_point now = clock::now();
    told->wait_began({.name = "users:7", .began = now});
    told->hold_began({.name = "users:7", .number = 1, .began = now});
    told->held({.name = "users:7", .number = 1, .began = now, .ended = now + 1s});
    told->wait_began({.name = "users:7", .began = now + 2s});
    for (const duration began : {2s, 0s}) {
        told->waited({.name = "users:7",
                      .number = 2,
                      .began = now + began,
                      .ended = now + 3s,
                      .contended = true});
    }
    const std::vector<exported_span> waits = exported("conch.wait");
    ASSERT_EQ(waits.size(), 2U);
    EXPECT_EQ(waits[0]->GetLinks().size(), 0U);
    EXPECT_EQ(waits[1]->GetLinks().size(), 1U);
}

TEST_F(opentelemetry_spans_test, a_nested_hold_is_a_child_of_the_outer_one) {
    client redis{io, observed()};
    const mutex m{redis, "orders:7"};
    const owner self;
    run([&]() -> asio::awaitable<void> {
        const hold outer = co_await m.async_lock({.owner = &self});
        const hold inner = co_await m.async_lock({.owner = &self});
    });
    ASSERT_TRUE(run_until(io, [&] { return counted->snapshot().classes.at(0).held_now == 0; }));
    const std::vector<exported_span> holds = exported("conch.hold");
    ASSERT_EQ(holds.size(), 2U);
    EXPECT_EQ(holds[0]->GetParentSpanId(), holds[1]->GetSpanId());
    EXPECT_EQ(exported("conch.wait").size(), 1U) << "the inner one waits for nobody";
}

TEST_F(opentelemetry_spans_test, a_hold_of_another_client_is_no_parent) {
    const config shared = observed();
    client a{io, shared};
    client b{io, shared};
    const shared_mutex m{a, "orders:7"};
    const shared_mutex other{b, "orders:7"};
    const owner self;
    run([&]() -> asio::awaitable<void> {
        hold outer = co_await m.async_lock_shared({.owner = &self});
        hold others = co_await other.async_lock_shared();
        hold inner = co_await m.async_lock_shared({.owner = &self});
        co_await inner.async_unlock();
        co_await others.async_unlock();
        co_await outer.async_unlock();
    });
    const std::vector<exported_span> holds = exported("conch.hold");
    ASSERT_EQ(holds.size(), 3U);
    EXPECT_EQ(holds[0]->GetParentSpanId(), holds[2]->GetSpanId());
}

TEST_F(opentelemetry_spans_test, a_grant_that_never_nested_is_forgotten_with_its_hold) {
    const auto told = opentelemetry_observer(counted, options());
    const auto span_of = [](std::uint64_t number) {
        return hold_span{.name = "users:7", .client = "a", .number = number};
    };
    const auto caller = std::make_shared<const api::trace::SpanContext>(request()->GetContext());
    told->hold_began(span_of(1));
    told->hold_began(span_of(2));
    told->wait_began({.name = "users:7", .client = "a"});
    told->waited({.name = "users:7", .client = "a", .number = 1, .caller = caller.get()});
    told->held(span_of(1));
    told->hold_began(span_of(1));
    told->held(span_of(1));
    const std::vector<exported_span> holds = exported("conch.hold");
    ASSERT_EQ(holds.size(), 2U);
    EXPECT_FALSE(holds[1]->GetParentSpanId().IsValid())
        << "another one of that name was still held";
    told->held(span_of(2));
}

TEST_F(opentelemetry_spans_test, what_fails_is_an_error_with_its_reason) {
    const auto told = opentelemetry_observer(counted, options());
    const time_point now = clock::now();
    told->hold_began({.name = "users:7", .number = 99, .began = now});
    told->held({.name = "users:7",
                .number = 99,
                .began = now,
                .ended = now + 5s,
                .renewals = 3,
                .reason = errc::lock_lost});
    const exported_span h = one("conch.hold");
    EXPECT_EQ(h->GetStatus(), api::trace::StatusCode::kError);
    EXPECT_EQ(attribute(h, "error.type"), "lock_lost");
    EXPECT_EQ(attribute(h, "conch.hold.end"), "lost");
    EXPECT_EQ(attribute(h, "conch.hold.renewals"), "3");
    EXPECT_EQ(h->GetDuration(), 5s);
    for (const errc why : {errc::timed_out, errc::not_connected}) {
        told->wait_began({.name = "users:7", .began = now});
        told->waited({.name = "users:7", .began = now, .ended = now + 1s, .result = why});
    }
    const std::vector<exported_span> waits = exported("conch.wait");
    ASSERT_EQ(waits.size(), 2U);
    EXPECT_EQ(waits[0]->GetStatus(), api::trace::StatusCode::kError);
    EXPECT_EQ(attribute(waits[0], "error.type"), "timed_out");
    EXPECT_EQ(attribute(waits[1], "error.type"), "not_connected");
}

TEST_F(opentelemetry_spans_test, a_name_is_in_spans_where_it_is_asked_for) {
    opentelemetry_options with_names = options();
    with_names.names = true;
    const auto told = opentelemetry_observer(counted, with_names);
    told->hold_began({.name = "users:7", .number = 99});
    told->held({.name = "users:7", .number = 99});
    EXPECT_EQ(attribute(one("conch.hold"), "conch.lock.name"), "users:7");
}

}  // namespace
