// SPDX-License-Identifier: BSL-1.0
#include "support/redis_test.hpp"

#include "support/program.hpp"

#include <stdexcept>

namespace conch::test {

cli::private_redis::options with_conch_user(cli::private_redis::options o) {
    const std::vector<std::string> line = arguments_for_user();
    o.arguments.insert(o.arguments.begin(), line.begin(), line.end());
    return o;
}

std::string url_for(const cli::private_redis& server) {
    constexpr std::string_view scheme = "unix://";
    return std::string{scheme}.append(conch_user) + ':' + std::string{conch_password} + '@' +
           server.url().substr(scheme.size());
}

// Of a server that still answers: what it refused is gone with its process.
void redis_test::TearDown() {
    if (may_refuse || server.pid() <= 0 || process_state(server.pid()) == 'T') {
        return;
    }
    std::vector<std::string> refused;
    try {
        refused = raw.refused();
    } catch (const std::exception&) {
        return;
    }
    EXPECT_EQ(refused, std::vector<std::string>{});
}

config settings_for(const std::string& socket_path, const std::string& client_name) {
    config c;
    c.unix_path = socket_path;
    c.username = conch_user;
    c.password = conch_password;
    c.client_name = client_name;
    c.connect_timeout = 2s;
    c.response_timeout = 2s;
    c.operation_timeout = 5s;
    c.reconnect_delay_min = 2ms;
    c.reconnect_delay_max = 50ms;
    return c;
}

asio::awaitable<void> warm_up(client& c) {
    const mutex m{c, "warm-up"};
    hold h = co_await m.async_lock();
    co_await h.async_unlock();
}

bool lease_passes(asio::io_context& io, raw_client& raw, std::chrono::milliseconds lease) {
    const std::string key = "a-lease-that-nobody-renews";
    raw.must({"SET", key, "", "PX", std::to_string(lease.count())});
    return run_until(io, [&] { return !raw.exists(key); });
}

void take_as_stranger(raw_client& raw, const std::string& name, std::chrono::milliseconds lease) {
    const reply r = redisson_acquire(raw, name, owner_of_redisson, lease);
    if (!r.is_nil()) {
        throw std::runtime_error{"take_as_stranger: " + name + " is taken"};
    }
}

}  // namespace conch::test
