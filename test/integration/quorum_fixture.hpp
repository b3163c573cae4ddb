// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_QUORUM_FIXTURE_HPP
#define CONCH_TEST_INTEGRATION_QUORUM_FIXTURE_HPP

#include "support/attempt.hpp"
#include "support/redis_test.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace conch::test {

/// A server, and the test's own view of it.
struct quorum_server {
    cli::private_redis redis{with_conch_user({})};
    raw_client raw{redis.socket_path()};

    /// With conch's user.
    std::string url() const { return url_for(redis); }
    void kill() { redis.kill(); }
    void start_empty() {
        redis.start();
        raw.reconnect();
    }
};

/// Of clients that await a frozen server for longer than a test takes.
inline config most_patient() {
    config c = settings_for({});
    c.response_timeout = c.operation_timeout = 2 * patience;
    return c;
}

/// A program of its own, as far as the servers can tell: one client of each.
class contender {
public:
    contender(asio::io_context& io, const std::vector<std::unique_ptr<quorum_server>>& servers,
              config common = settings_for({})) {
        for (const auto& s : servers) {
            common.unix_path = s->redis.socket_path();
            clients.emplace_back(io, common);
        }
    }

    /// Patient with each server, unless it says otherwise.
    quorum_mutex lock(const std::string& name, duration answer_timeout = 500ms) const {
        const std::vector<std::reference_wrapper<const client>> all{clients.begin(), clients.end()};
        return {all, name, {.answer_timeout = answer_timeout}};
    }

    std::deque<client> clients{};
};

/// Five servers, or as many as are asked for, and a context.
class quorum_test : public ::testing::Test {
protected:
    explicit quorum_test(std::size_t count = 5) {
        for (std::size_t i = 0; i < count; ++i) {
            servers.push_back(std::make_unique<quorum_server>());
        }
    }

    template <typename Body>
    void run(Body&& body, std::chrono::milliseconds limit = patience) {
        run_test(io, body(), limit);
    }

    /// On so many of the servers that run.
    std::size_t count_of(const std::string& name) {
        std::size_t count = 0;
        for (const auto& s : servers) {
            count += s->redis.pid() > 0 && s->raw.exists(name) ? 1u : 0u;
        }
        return count;
    }
    asio::awaitable<bool> comes_to(std::string name, std::size_t count) {
        return when([this, name, count] { return count_of(name) == count; });
    }

    /// All servers have granted it, and nothing is on its way.
    asio::awaitable<bool> held_by(const contender& c) {
        const bool held = co_await when([&] {
            return std::all_of(c.clients.begin(), c.clients.end(),
                               [](const client& each) { return each.stats().holds_now == 1; });
        });
        co_await pass(20ms);
        co_return held;
    }

    void kill(std::initializer_list<std::size_t> which) {
        for (const std::size_t i : which) {
            servers[i]->kill();
        }
    }
    quorum_server& server(std::size_t i) { return *servers[i]; }

    std::vector<std::unique_ptr<quorum_server>> servers{};
    asio::io_context io{};
};

/// Connects to all, so that a test may count or time what comes after.
inline asio::awaitable<void> warm_up(contender& c) {
    for (client& each : c.clients) {
        co_await warm_up(each);
    }
}

}  // namespace conch::test

#endif
