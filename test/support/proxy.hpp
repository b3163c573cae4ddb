// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_PROXY_HPP
#define CONCH_TEST_SUPPORT_PROXY_HPP

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace conch::test {

/// A wire between clients and a server that the test can damage. It listens on a unix socket and
/// on a port of 127.0.0.1, and runs in a thread of its own; its functions return when the order was
/// carried out, and may be called from any thread.
///
/// Damage to "every connection" is done to those that there are; what holds "from now on" holds for
/// later ones too, until `heal()`.
class proxy {
public:
    using duration = std::chrono::milliseconds;

    explicit proxy(std::string upstream_path);
    ~proxy();
    proxy(const proxy&) = delete;
    proxy& operator=(const proxy&) = delete;

    const std::string& socket_path() const noexcept { return socket_path_; }
    std::uint16_t port() const noexcept { return port_; }

    /// What the server says on every connection is thrown away; it still gets every command.
    void swallow_replies();
    /// The server gets nothing more of what the client sends on every connection.
    void swallow_requests();
    /// Closes both sides of every connection.
    void cut();
    /// The same by RST, with what was on its way thrown away.
    void reset();
    /// Closes the client's side of every connection alone: for the server, they live on.
    void cut_clients_only();
    /// Closes the server's side of every connection alone: for the client, they live on, mute.
    void cut_servers_only();
    /// So many bytes more of what the server says pass, then both sides are closed, in every
    /// connection.
    void truncate_replies(std::size_t bytes);
    /// Says this to the client of every connection, between two values of the server's.
    void inject(std::string bytes);

    /// From now on nothing passes; it waits, unread beyond what the sockets' buffers take.
    void stall();
    /// From now on nothing that the server says passes, the same way; it gets every command.
    void stall_replies();
    /// From now on each piece comes so much later, in the same order.
    void delay(duration length);
    /// From now on each byte is a piece of its own.
    void dribble();
    /// From now on messages to subscribers come later than what the server said after them, and the
    /// last first: each whole, none twice, none lost.
    void reorder_pushes();
    /// From now on a new connection is closed as soon as it is accepted.
    void refuse();
    /// Ends all that is "from now on"; what waited comes.
    void heal();

    /// Connections accepted so far.
    std::size_t accepted();
    /// Messages so far that came later than the server said them.
    std::size_t reordered();
    /// Bytes so far that came as a piece each.
    std::size_t dribbled();
    /// Bytes that came through so far, both ways.
    std::size_t passed();
    /// Bytes of clients so far that were thrown away.
    std::size_t swallowed_of_clients();

private:
    struct state;
    class connection;

    void order(const std::function<void()>& what);

    boost::asio::io_context io_{1};
    std::unique_ptr<state> state_;
    std::string socket_path_;
    std::uint16_t port_ = 0;
    std::thread thread_;
};

}  // namespace conch::test

#endif
