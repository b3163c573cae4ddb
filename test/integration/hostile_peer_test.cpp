// SPDX-License-Identifier: BSL-1.0
// A peer that is no healthy Redis: old, loading, mute, or talking without end.
#include "core/sanitizer.hpp"
#include "support/redis_test.hpp"
#include "support/scripted_peer.hpp"

#include <atomic>
#include <fstream>
#include <functional>

namespace {

using namespace conch;
using namespace conch::test;

class hostile_peer_test : public ::testing::Test {
protected:
    static config impatient(const scripted_peer& peer) {
        config s = settings_for(peer.socket_path());
        s.connect_timeout = 300ms;
        s.response_timeout = 300ms;
        s.operation_timeout = 600ms;
        return s;
    }

    /// What becomes of one lock, and that it becomes so within the client's patience.
    error_code lock_outcome(client& c) {
        error_code out;
        const auto body = [&]() -> asio::awaitable<void> {
            const mutex m{c, "asked"};
            const time_point start = clock::now();
            const auto [ec, h] = co_await m.async_lock({.lease = 3s}, as_result);
            out = ec;
            EXPECT_EQ(static_cast<bool>(h), !ec);
            EXPECT_LT(clock::now() - start, 60s) << "the caller's patience is 600 ms";
        };
        run_test(io, body());
        return out;
    }

    canned_redis redis{};
    asio::io_context io{};
};

bool is(const words& command, std::string_view name) {
    return !command.empty() && canned_redis::upper(command.front()) == name;
}

bool is_script_call(const words& command) { return is(command, "EVALSHA") || is(command, "EVAL"); }

TEST_F(hostile_peer_test, the_canned_answers_are_those_of_a_server_that_works) {
    scripted_peer peer{[&](std::size_t n, const words& w) { return redis.answer(n, w); }};
    client c{io, impatient(peer)};
    EXPECT_EQ(lock_outcome(c), error_code{}) << "the other tests of this file would test nothing";
    EXPECT_EQ(peer.accepted(), 1u);
}

TEST_F(hostile_peer_test, a_server_without_hello_is_too_old) {
    scripted_peer peer{[&](std::size_t n, const words& w) {
        if (is(w, "HELLO")) {
            return reaction{"-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n"};
        }
        return redis.answer(n, w);
    }};
    client c{io, impatient(peer)};
    EXPECT_EQ(lock_outcome(c), errc::server_too_old);
}

TEST_F(hostile_peer_test, a_server_without_version_3_of_the_protocol_is_too_old) {
    scripted_peer peer{[&](std::size_t n, const words& w) {
        return is(w, "HELLO") ? reaction{"-NOPROTO unsupported protocol version\r\n"}
                              : redis.answer(n, w);
    }};
    client c{io, impatient(peer)};
    EXPECT_EQ(lock_outcome(c), errc::server_too_old);
}

const char loading[] = "-LOADING Redis is loading the dataset in memory\r\n";

TEST_F(hostile_peer_test, a_server_that_is_loading_is_asked_again_until_it_is_ready) {
    std::atomic<int> refusals{5};
    scripted_peer peer{[&](std::size_t n, const words& w) {
        return is_script_call(w) && refusals-- > 0 ? reaction{loading} : redis.answer(n, w);
    }};
    config patient = impatient(peer);
    patient.operation_timeout = 10s;
    client c{io, patient};
    EXPECT_EQ(lock_outcome(c), error_code{});
    EXPECT_GE(peer.count("EVALSHA"), 6u);
}

TEST_F(hostile_peer_test, a_server_that_refuses_to_load_scripts_while_it_loads_is_asked_again) {
    std::atomic<int> refusals{3};
    scripted_peer peer{[&](std::size_t n, const words& w) {
        return is(w, "SCRIPT") && refusals-- > 0 ? reaction{loading} : redis.answer(n, w);
    }};
    config patient = impatient(peer);
    patient.operation_timeout = 10s;
    client c{io, patient};
    EXPECT_EQ(lock_outcome(c), error_code{});
}

TEST_F(hostile_peer_test, a_server_that_loads_when_it_is_greeted_is_greeted_again) {
    std::atomic<int> refusals{3};
    scripted_peer peer{[&](std::size_t n, const words& w) {
        return is(w, "HELLO") && refusals-- > 0 ? reaction{loading} : redis.answer(n, w);
    }};
    config patient = impatient(peer);
    patient.operation_timeout = 10s;
    client c{io, patient};
    EXPECT_EQ(lock_outcome(c), error_code{});
    EXPECT_GE(peer.count("HELLO"), 4u);
}

TEST_F(hostile_peer_test, a_server_that_only_ever_loads_is_unavailable) {
    scripted_peer peer{
        [&](std::size_t, const words& w) { return w.empty() ? reaction{} : reaction{loading}; }};
    client c{io, impatient(peer)};
    EXPECT_EQ(lock_outcome(c), errc::server_unavailable);
}

TEST_F(hostile_peer_test, a_server_that_never_ends_loading_is_unavailable) {
    scripted_peer peer{[&](std::size_t n, const words& w) {
        return is_script_call(w) ? reaction{loading} : redis.answer(n, w);
    }};
    client c{io, impatient(peer)};
    EXPECT_EQ(lock_outcome(c), errc::server_unavailable);
}

TEST_F(hostile_peer_test, a_server_that_is_busy_in_a_script_is_unavailable) {
    scripted_peer peer{[&](std::size_t n, const words& w) {
        return is_script_call(w) ? reaction{"-BUSY Redis is busy running a script.\r\n"}
                                 : redis.answer(n, w);
    }};
    client c{io, impatient(peer)};
    EXPECT_EQ(lock_outcome(c), errc::server_unavailable);
}

TEST_F(hostile_peer_test, an_error_that_nobody_knows_is_a_server_error_with_its_words) {
    scripted_peer peer{[&](std::size_t n, const words& w) {
        return is_script_call(w) ? reaction{"-STRANGE things happen\r\n"} : redis.answer(n, w);
    }};
    client c{io, impatient(peer)};
    EXPECT_EQ(lock_outcome(c), errc::server_error);
    EXPECT_NE(c.last_server_error().find("STRANGE things happen"), std::string::npos);
}

TEST_F(hostile_peer_test, a_server_that_forgets_scripts_without_end_is_given_up) {
    scripted_peer peer{[&](std::size_t n, const words& w) {
        return is_script_call(w) ? reaction{"-NOSCRIPT No matching script. Please use EVAL.\r\n"}
                                 : redis.answer(n, w);
    }};
    client c{io, impatient(peer)};
    EXPECT_TRUE(lock_outcome(c));
}

TEST_F(hostile_peer_test, a_peer_that_accepts_and_never_answers_is_not_connected) {
    scripted_peer peer{[](std::size_t, const words&) { return reaction{}; }};
    client c{io, impatient(peer)};
    EXPECT_EQ(lock_outcome(c), errc::not_connected);
}

TEST_F(hostile_peer_test, a_peer_that_hangs_up_at_once_is_not_connected) {
    scripted_peer peer{[](std::size_t, const words&) { return reaction{"", "", true}; }};
    client c{io, impatient(peer)};
    EXPECT_EQ(lock_outcome(c), errc::not_connected);
    EXPECT_GE(peer.accepted(), 2u) << "it was tried again";
}

TEST_F(hostile_peer_test, a_peer_that_falls_silent_after_the_handshake_is_given_up) {
    scripted_peer peer{[&](std::size_t n, const words& w) {
        return is_script_call(w) || is(w, "PING") ? reaction{} : redis.answer(n, w);
    }};
    client c{io, impatient(peer)};
    EXPECT_EQ(lock_outcome(c), errc::not_connected);
}

TEST_F(hostile_peer_test, an_idle_connection_that_died_is_found_by_ping) {
    scripted_peer peer{[&](std::size_t n, const words& w) {
        return n == 0 && is(w, "PING") ? reaction{} : redis.answer(n, w);
    }};
    config s = impatient(peer);
    s.ping_interval = 50ms;
    client c{io, s};
    const mutex m{c, "asked"};
    bool granted = false;
    hold kept;
    m.async_lock({}, [&](error_code, hold h) {
        granted = true;
        kept = std::move(h);
    });
    EXPECT_TRUE(run_until(io, [&] { return granted && peer.accepted() >= 2; }));
    EXPECT_TRUE(kept.owns_lock());
}

TEST_F(hostile_peer_test, nobody_listening_is_not_connected) {
    std::string nowhere;
    {
        const unix_listener gone;
        nowhere = gone.path();
    }
    config s = settings_for(nowhere);
    s.operation_timeout = 300ms;
    client c{io, s};
    EXPECT_EQ(lock_outcome(c), errc::not_connected);
    EXPECT_NE(c.last_server_error(), "");
}

struct nonsense {
    std::string label;
    reaction answer;
};

void PrintTo(const nonsense& n, std::ostream* out) { *out << n.label; }

std::string label_of(const ::testing::TestParamInfo<nonsense>& which) { return which.param.label; }

std::size_t resident_bytes() {
    std::size_t pages = 0;
    std::ifstream{"/proc/self/statm"} >> pages >> pages;
    return pages * 4096;
}

/// More than a client needs, less than a peer sends that never ends. AddressSanitizer keeps 256 MB
/// of what was freed.
constexpr std::size_t enough_memory = core::address_sanitizer ? 512u << 20 : 64u << 20;

class nonsense_test : public hostile_peer_test, public ::testing::WithParamInterface<nonsense> {};

TEST_P(nonsense_test, drops_the_connection_and_the_lock_is_taken_on_the_next) {
    scripted_peer peer{[&](std::size_t n, const words& w) {
        return n == 0 && is_script_call(w) ? GetParam().answer : redis.answer(n, w);
    }};
    config patient = impatient(peer);
    patient.response_timeout = 1s;
    patient.operation_timeout = 10s;
    client c{io, patient};
    EXPECT_EQ(lock_outcome(c), error_code{});
    EXPECT_GE(peer.accepted(), 2u);
    EXPECT_TRUE(run_until(io, [&] { return peer.open() == 1; })) << "the first was not closed";
}

TEST_P(nonsense_test, without_end_fails_the_operation_and_hangs_nothing) {
    scripted_peer peer{[&](std::size_t n, const words& w) {
        return is_script_call(w) ? GetParam().answer : redis.answer(n, w);
    }};
    config patient = impatient(peer);
    // The limit of a message has to be reached in time, also by a busy machine.
    if (!GetParam().answer.endless.empty()) {
        const bool slow = core::thread_sanitizer || core::address_sanitizer;
        patient.response_timeout = slow ? 3s : 2s;
        patient.operation_timeout = slow ? 6s : 3s;
    }
    client c{io, patient};
    const std::size_t before = resident_bytes();
    const error_code ec = lock_outcome(c);
    EXPECT_EQ(ec, errc::protocol_error) << ec.message();
    EXPECT_LT(resident_bytes(), before + enough_memory);
}

TEST_P(nonsense_test, in_the_handshake_fails_the_operation_and_hangs_nothing) {
    scripted_peer peer{
        [&](std::size_t, const words& w) { return w.empty() ? reaction{} : GetParam().answer; }};
    client c{io, impatient(peer)};
    const error_code ec = lock_outcome(c);
    EXPECT_TRUE(ec) << "granted by nonsense";
}

INSTANTIATE_TEST_SUITE_P(
    each_kind, nonsense_test,
    ::testing::Values(nonsense{"garbage", {"?!garbage\r\n"}},
                      nonsense{"binary", {std::string{"\0\1\2\3\r\n", 6}}},
                      nonsense{"a_length_that_is_no_number", {"$abc\r\n"}},
                      nonsense{"a_negative_count", {"*-7\r\n"}},
                      nonsense{"a_count_beyond_all_limits", {"*9223372036854775807\r\n"}},
                      nonsense{"a_length_beyond_all_limits", {"$99999999999999999999\r\n"}},
                      nonsense{"an_endless_bulk", {"$1000000000000\r\n", "x"}},
                      nonsense{"an_endless_line", {"+", "x"}},
                      nonsense{"an_endless_error", {"-ERR ", "x"}},
                      nonsense{"endless_depth", {"", "*1\r\n"}},
                      nonsense{"an_endless_array", {"*1000000000\r\n", ":1\r\n"}},
                      nonsense{"an_endless_map", {"%1000000000\r\n", ":1\r\n"}},
                      nonsense{"an_endless_push", {">1000000000\r\n", ":1\r\n"}},
                      nonsense{"an_endless_attribute", {"|1000000000\r\n", ":1\r\n"}}),
    label_of);

TEST_F(hostile_peer_test, replies_that_nobody_asked_for_drop_the_connection) {
    std::atomic<bool> once{true};
    scripted_peer peer{[&](std::size_t n, const words& w) {
        reaction r = redis.answer(n, w);
        if (is_script_call(w) && once.exchange(false)) {
            r.bytes += ":1\r\n:1\r\n";
        }
        return r;
    }};
    config patient = impatient(peer);
    patient.operation_timeout = 10s;
    client c{io, patient};
    EXPECT_EQ(lock_outcome(c), error_code{});
    EXPECT_TRUE(run_until(io, [&] { return peer.accepted() == 2 && peer.open() == 1; }));
    EXPECT_EQ(lock_outcome(c), error_code{});
}

TEST_F(hostile_peer_test, pushes_that_nobody_asked_for_are_ignored) {
    scripted_peer peer{[&](std::size_t n, const words& w) {
        reaction r = redis.answer(n, w);
        if (is_script_call(w)) {
            r.bytes = ">2\r\n+invalidate\r\n*0\r\n>3\r\n+message\r\n+other\r\n+x\r\n" + r.bytes;
        }
        return r;
    }};
    client c{io, impatient(peer)};
    EXPECT_EQ(lock_outcome(c), error_code{});
    EXPECT_GE(c.stats().unknown_pushes, 1u);
    EXPECT_EQ(peer.accepted(), 1u);
}

class flood_test : public hostile_peer_test, public ::testing::WithParamInterface<nonsense> {
protected:
    /// One lock, while the peer answers the script calls of its first `connections` connections
    /// with a flood.
    error_code lock_in_a_flood(std::size_t connections, duration operation_timeout) {
        scripted_peer peer{[&](std::size_t n, const words& w) {
            return n < connections && is_script_call(w) ? GetParam().answer : redis.answer(n, w);
        }};
        config s = impatient(peer);
        s.operation_timeout = operation_timeout;
        client c{io, s};
        const std::size_t before = resident_bytes();
        const error_code ec = lock_outcome(c);
        EXPECT_LT(resident_bytes(), before + enough_memory);
        EXPECT_GT(c.stats().bytes_received, 100'000u) << "it was no flood";
        return ec;
    }
};

TEST_P(flood_test, without_end_fails_the_operation_and_needs_no_memory) {
    const error_code ec = lock_in_a_flood(1000, 600ms);
    EXPECT_TRUE(ec == errc::not_connected || ec == errc::protocol_error) << ec.message();
}

TEST_P(flood_test, is_left_and_the_lock_is_taken_on_the_next_connection) {
    EXPECT_EQ(lock_in_a_flood(1, 10s), error_code{});
}

INSTANTIATE_TEST_SUITE_P(
    each_kind, flood_test,
    ::testing::Values(nonsense{"pushes", {"", ">2\r\n+invalidate\r\n*0\r\n"}},
                      nonsense{"messages", {"", ">3\r\n+message\r\n+other\r\n+x\r\n"}},
                      nonsense{"attributes", {"", "|1\r\n+key\r\n+value\r\n"}}),
    label_of);

}  // namespace
