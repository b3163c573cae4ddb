// SPDX-License-Identifier: BSL-1.0
// A server that answers well for a while, and then with any value of RESP3, or byte by byte, or
// hangs up in the middle of an answer.
#include "support/program.hpp"
#include "support/redis_test.hpp"
#include "support/scripted_peer.hpp"
#include "support/typed_answer.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <random>

namespace {

using namespace conch;
using namespace conch::test;

/// Chooses by a seed, the same each time.
struct choices {
    explicit choices(unsigned seed) : numbers{seed} {}
    std::size_t below(std::size_t n) { return numbers() % n; }

    std::mt19937 numbers;
};

class hostile_answers_test : public ::testing::TestWithParam<unsigned> {
protected:
    reaction answer(std::size_t connection, const words& command) {
        if (command.empty()) {
            return {.slowly = chosen.below(8) == 0};
        }
        reaction r = redis.answer(connection, command);
        const std::string right = r.bytes;
        switch (chosen.below(10)) {
            case 0:
            case 1: r.bytes = typed_answer(chosen); break;
            case 2: r.bytes.resize(chosen.below(r.bytes.size() + 1)); r.hang_up = true; break;
            default: break;
        }
        // An acquire is answered with text if the lock was taken.
        const bool is_script = command.front().starts_with("EVAL");
        granted = granted || (is_script && !r.hang_up && r.bytes.starts_with('$'));
        return r;
    }

    choices chosen{GetParam()};
    canned_redis redis{};
    std::atomic<bool> granted = false;  // may have been, for the client
    scripted_peer peer{[this](std::size_t n, const words& w) { return answer(n, w); }};
    asio::io_context io{};
};

TEST_P(hostile_answers_test, end_every_operation_in_time) {
    config s = settings_for(peer.socket_path());
    s.connect_timeout = s.response_timeout = 200ms;
    s.operation_timeout = 400ms;
    client c{io, s};
    const auto body = [&]() -> asio::awaitable<void> {
        const time_point start = clock::now();
        const mutex fenced{c, "a", {.fenced = true}};
        const token_mutex plain{c, "b"};
        const rate_limiter rate{c, "r", {5, 1s}};
        for (int i = 0; i < 5; ++i) {
            auto [ec, h] = co_await fenced.async_lock({.wait = 500ms}, as_result);
            EXPECT_EQ(static_cast<bool>(h), !ec);
            EXPECT_TRUE(!h || h.fence() > 0);
            auto [none, p] = co_await plain.async_lock({.wait = 500ms, .lease = 1s}, as_result);
            EXPECT_TRUE(!p || granted);
            co_await h.async_extend(2s, as_result);
            co_await h.async_unlock(as_result);
            co_await p.async_unlock(as_result);
            co_await fenced.async_status(as_result);
            co_await plain.async_force_unlock(as_result);
            co_await rate.async_try_acquire(1, as_result);
        }
        co_await c.async_shutdown(as_result);
        EXPECT_LT(clock::now() - start, 60s) << "each wait and each patience is below a second";
    };
    run_test(io, body(), 120s);
}

#ifdef CONCH_PROGRAM_PATH
TEST_P(hostile_answers_test, run_no_command_without_a_lock) {
    const temporary_folder folder;
    const std::string file = folder.path() + "/ran";
    program p{{CONCH_PROGRAM_PATH, "run", "--redis", "unix://" + peer.socket_path(),
               "--connect-timeout", "1", "-w", "1", "--lease", "1", "lock", "--", "touch", file}};
    const ended& end = p.finish();
    EXPECT_EQ(end.signal, 0) << end.err;
    EXPECT_TRUE(granted || !std::filesystem::exists(file)) << end.err;
    const std::array expected{0, 1, 69, 75};
    EXPECT_NE(std::find(expected.begin(), expected.end(), end.status), expected.end())
        << end.status << ": " << end.err;
}
#endif

INSTANTIATE_TEST_SUITE_P(seeds, hostile_answers_test, ::testing::Range(1u, 31u));

}  // namespace
