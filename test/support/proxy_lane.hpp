// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_PROXY_LANE_HPP
#define CONCH_TEST_SUPPORT_PROXY_LANE_HPP

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace conch::test {

/// What a proxy does to all of its connections, and what came of it.
struct proxy_damage {
    bool stall = false;
    bool stall_replies = false;
    bool dribble = false;
    bool reorder = false;
    bool refuse = false;
    std::chrono::milliseconds delay{};

    std::size_t accepted = 0;
    std::size_t reordered = 0;
    std::size_t dribbled = 0;
    std::size_t passed = 0;
    std::size_t swallowed_of_clients = 0;
};

/// One direction of a connection: reads from one socket and writes to another. Lives with the
/// proxy's thread; its handlers keep `owner` alive.
class proxy_lane {
public:
    using socket = boost::asio::generic::stream_protocol::socket;
    using steady = std::chrono::steady_clock;

    /// `replies`: this is what the server says, in RESP3; it is then passed on in whole values.
    /// `ended()` is called when the sender has closed, and all that it said was passed on, or when
    /// either side is broken.
    proxy_lane(socket& from, socket& to, proxy_damage& damage, bool replies);

    void start(std::weak_ptr<void> owner, std::function<void()> ended);
    /// After a change of the damage.
    void go_on();
    void swallow() noexcept { swallow_ = true; }
    /// The end of its sender is no end of the connection any more.
    void abandon() noexcept { ended_ = nullptr; }
    void truncate_after(std::size_t bytes);
    void inject(std::string bytes);

private:
    struct piece {
        steady::time_point due;
        std::string bytes;
    };

    /// No piece is read while so much waits.
    static constexpr std::size_t enough = 1 << 18;

    void read();
    void write();
    void admit(std::size_t count);
    void split();
    void enqueue(std::string bytes);
    void release_pushes();
    void wait_until(steady::time_point due);
    void end();
    bool stalled() const noexcept { return damage_.stall || (replies_ && damage_.stall_replies); }

    socket& from_;
    socket& to_;
    proxy_damage& damage_;
    const bool replies_;
    std::weak_ptr<void> owner_{};
    std::function<void()> ended_{};
    boost::asio::steady_timer due_;
    boost::asio::steady_timer later_;  ///< when held back pushes come
    std::array<char, 16384> buffer_{};
    std::string unsplit_{};
    std::vector<std::string> held_back_{};
    std::deque<piece> pieces_{};
    std::size_t waiting_ = 0;
    std::size_t left_ = std::numeric_limits<std::size_t>::max();
    bool reading_ = false;
    bool writing_ = false;
    bool at_end_ = false;
    bool swallow_ = false;
};

}  // namespace conch::test

#endif
