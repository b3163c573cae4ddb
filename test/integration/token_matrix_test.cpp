// SPDX-License-Identifier: BSL-1.0
// Every public operation under every kind of completion token: the test that the columns in the
// other token_*_test.cpp and cancellation_*_test.cpp are instances of.
#include "integration/token_matrix.hpp"

#include <algorithm>
#include <stdexcept>

namespace conch::test {

namespace {

constexpr char id_of_stranger[] = "0123456789abcdef";

std::string second_of(const std::string& name) { return name + "-too"; }
std::string out_of(const std::string& name) { return '{' + name + "}:timeout"; }
std::string line_of(const std::string& name) { return "redisson_lock_queue:{" + name + '}'; }
std::string readers_of(const std::string& name) { return '{' + name + "}:*:rwlock_timeout:*"; }

}  // namespace

scene::scene(asio::io_context& context, raw_client& r, const config& settings, lock_kind of)
    : io{context}, raw{r}, c{context, settings}, kind{of}, m{lock_of("asked")} {
    if (kind == lock_kind::permits) {
        raw.must({"MSET", "asked", "1", "held", "1"});
    }
    lock_attempt a = start_lock(lock_of("held"));
    if (!run_until(io, [&] { return a.done(); }) || a.ec()) {
        throw std::runtime_error{"scene: " + a.ec().message()};
    }
    h = std::move(a.value());
    slots = c.stats().slots_now;
}

mutex scene::lock_of(const std::string& name) const {
    const mutex plain{c, name};
    switch (kind) {
        case lock_kind::plain: break;
        case lock_kind::fair: return fair_mutex{c, name};
        case lock_kind::several: return multi_lock{plain, mutex{c, second_of(name)}};
        case lock_kind::permits: return semaphore{c, name}.permits(1);
        case lock_kind::writer: return shared_mutex{c, name}.writer();
        case lock_kind::reader: return shared_mutex{c, name}.reader();
        case lock_kind::token: return token_mutex{c, name};
    }
    return plain;
}

void scene::take_asked() {
    if (kind == lock_kind::writer || kind == lock_kind::reader) {
        raw.must({"HSET", "asked", "mode", "write", owner_of_redisson + ":write", "1"});
        raw.must({"PEXPIRE", "asked", "30000"});
        return;
    }
    if (kind == lock_kind::token) {
        raw.must({"SET", "asked", id_of_stranger, "NX", "PX", "30000"});
        return;
    }
    if (kind != lock_kind::permits) {
        take_as_stranger(raw, "asked");
        return;
    }
    raw.must({"SET", "asked", "0"});
    raw.must({"ZADD", out_of("asked"), "9000000000000", id_of_stranger});
}

void scene::give_back_asked() {
    if (kind == lock_kind::writer || kind == lock_kind::reader) {
        raw.must({"DEL", "asked"});
        raw.must({"PUBLISH", "redisson_rwlock:{asked}", "1"});
        return;
    }
    if (kind == lock_kind::token) {
        raw.must({"DEL", "asked"});
        raw.must({"PUBLISH", "conch_token_mutex_channel:{asked}", "0"});
        return;
    }
    if (kind != lock_kind::permits) {
        redisson_release(raw, "asked");
        return;
    }
    raw.must({"SET", "asked", "1"});
    raw.must({"ZREM", out_of("asked"), id_of_stranger});
    raw.must({"PUBLISH", "redisson_sc:{asked}", "1"});
}

void scene::hold_asked() {
    if (kind == lock_kind::reader) {
        raw.must({"HSET", "asked", "mode", "read", owner_of_redisson, "1"});
        raw.must({"PEXPIRE", "asked", "30000"});
        return;
    }
    take_asked();
}

std::string scene::holder() const {
    switch (kind) {
        case lock_kind::permits: return "30313233343536373839616263646566";
        case lock_kind::writer: return owner_of_redisson + ":write";
        case lock_kind::token: return id_of_stranger;
        case lock_kind::plain:
        case lock_kind::fair:
        case lock_kind::reader:
        case lock_kind::several: break;
    }
    return owner_of_redisson;
}

bool scene::free(const std::string& name) {
    const bool given_back = kind == lock_kind::permits ? raw.get(name) == "1" : !raw.exists(name);
    return given_back && !raw.exists(second_of(name)) && !raw.exists(out_of(name)) &&
           !raw.exists(line_of(name)) && raw.must({"KEYS", readers_of(name)}).items.empty();
}

std::int64_t scene::lease_left(const std::string& name) {
    if (kind == lock_kind::reader) {
        const reply holds = raw.must({"KEYS", readers_of(name)});
        return holds.items.empty() ? -2
                                   : std::min(raw.pttl(name), raw.pttl(holds.items.at(0).text));
    }
    if (kind != lock_kind::permits) {
        const std::int64_t first = raw.pttl(name);
        return kind == lock_kind::several ? std::min(first, raw.pttl(second_of(name))) : first;
    }
    const reply ends = raw.must({"ZRANGE", out_of(name), "0", "0", "WITHSCORES"});
    const reply now = raw.must({"TIME"});
    return ends.items.empty()
               ? -2
               : std::stoll(ends.items.at(1).text) - std::stoll(now.items.at(0).text) * 1000 -
                     std::stoll(now.items.at(1).text) / 1000;
}

void scene::expect_usable() {
    const mutex another{c, "another"};
    lock_attempt a = start_lock(another);
    ASSERT_TRUE(run_until(io, [&] { return a.done(); })) << "the client is stuck";
    EXPECT_FALSE(a.ec()) << a.ec().message();
}

void asking_of_lock::fail_at_once(scene& s) {
    plain_attempt closed = start_shutdown(s.c);
    s.expect([&] { return closed.done(); }, "the shutdown ends");
    s.at_once = errc::client_closed;
}

void downgrade_operation::left(scene& s) {
    EXPECT_TRUE(s.h.owns_lock());
    plain_attempt again{[&](auto token) { s.h.async_downgrade(std::move(token)); }};
    s.expect([&] { return again.done(); }, "it may be repeated");
    EXPECT_FALSE(again.ec()) << again.ec().message();
    check(s, again.value());
}

void drain_permits_operation::fail_at_once(scene& s) { asking_of_lock::fail_at_once(s); }
void available_operation::fail_at_once(scene& s) { asking_of_lock::fail_at_once(s); }

std::string prefix_of(lock_kind kind) {
    switch (kind) {
        case lock_kind::plain: break;
        case lock_kind::fair: return "fair_";
        case lock_kind::several: return "several_";
        case lock_kind::permits: return "permits_";
        case lock_kind::writer: return "writer_";
        case lock_kind::reader: return "reader_";
        case lock_kind::token: return "token_";
    }
    return {};
}

void PrintTo(const matrix_cell& cell, std::ostream* out) { *out << cell.name; }

std::string name_of_cell(const ::testing::TestParamInfo<matrix_cell>& which) {
    return which.param.name;
}

TEST_P(token_matrix, is_as_documented) {
    scene s{io, raw, settings(), GetParam().kind};
    GetParam().play(s);
}

}  // namespace conch::test
