// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_UNIT_TWO_SERVERS_HPP
#define CONCH_TEST_SIM_UNIT_TWO_SERVERS_HPP

#include "cli/private_redis.hpp"
#include "sim/fake_redis.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace conch::sim::test {

using words = std::vector<std::string>;

/// The fake and a real redis-server, asked the same on as many connections each; every answer and
/// every message must be the same, apart from what names a server or a moment.
class two_servers {
public:
    /// `password`: of the user "default" on both; empty: none.
    explicit two_servers(std::size_t connections, const std::string& password = {});

    /// Sends this on both. Returns the fake's answer, as it was compared.
    std::string ask(std::size_t connection, const words& command) {
        return ask_each(connection, command, command);
    }
    /// The same, where the two know a thing by different names.
    std::string ask_each(std::size_t connection, const words& real, const words& fake);
    /// Protocol 3. What the server says of itself is not compared.
    void greet(std::size_t connection);
    /// Asks one of them alone.
    std::string only_real(const words& command, std::size_t connection = 0);
    /// At this wall clock, in microseconds since 1970.
    std::string only_fake(const words& command, std::int64_t now_us, std::size_t connection = 0);
    /// Both ended this connection.
    void expect_end(std::size_t connection);
    /// After greet(): what is to be told where the real one speaks in other words than the fake; it
    /// is printed as well. Empty where they are alike.
    std::string why_not_comparable() const;
    /// The content of these keys, and their deadlines.
    void compare_keys(const words& keys);
    /// No connection has got more from the real one than from the fake.
    void expect_silence();
    /// Waits until both have let this key expire.
    void wait_until_gone(const std::string& key);
    /// The same for each of these that ends within seconds on one of them: neither can then have
    /// it while the other has not.
    void wait_for_short_lives(const words& keys);
    cli::private_redis& real() noexcept { return real_; }
    fake_redis& fake() noexcept { return fake_; }

private:
    struct line {
        explicit line(boost::asio::io_context& io) : socket{io} {}
        boost::asio::local::stream_protocol::socket socket;
        fake_redis::connection fake = 0;
        std::string unread{};
    };

    std::string read_message(line& l);
    void compare(std::size_t connection, const words& command, std::string fakes);

    cli::private_redis real_{};
    fake_redis fake_;
    boost::asio::io_context io_{};
    std::vector<std::unique_ptr<line>> lines_{};
    words history_{};
    std::string version_{};
};

std::string encoded(const words& command);

}  // namespace conch::sim::test

#endif
