// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_SCRIPTED_PEER_HPP
#define CONCH_TEST_SUPPORT_SCRIPTED_PEER_HPP

#include "support/unix_listener.hpp"

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace conch::test {

/// A command as it came.
using words = std::vector<std::string>;

/// Takes one command (an array of bulk strings) off the front of `in`, if it is all there.
std::optional<words> take_command(std::string& in);

/// What a peer does about a command.
struct reaction {
    std::string bytes{};    ///< sent first
    std::string endless{};  ///< then repeated for as long as the connection takes it, if not empty
    bool hang_up = false;   ///< then the connection is closed
    bool slowly = false;    ///< from now on, each byte is written by itself
};

/// A server that does what the test says, on a unix socket, in a thread of its own.
class scripted_peer {
public:
    /// Called in the peer's thread: with the number of the connection, from 0, and no words when
    /// it was accepted; then with each command.
    using script = std::function<reaction(std::size_t connection, const words& command)>;

    explicit scripted_peer(script on_command);
    ~scripted_peer();
    scripted_peer(const scripted_peer&) = delete;
    scripted_peer& operator=(const scripted_peer&) = delete;

    const std::string& socket_path() const noexcept { return listener_.path(); }

    /// Connections accepted so far, and those that are open now.
    std::size_t accepted();
    std::size_t open();
    /// How often this command came, in capitals ("EVALSHA").
    std::size_t count(std::string_view command);

private:
    struct connection {
        int fd = -1;
        std::size_t number = 0;
        std::string in{};
        std::string out{};
        std::string endless{};
        bool closing = false;
        bool slowly = false;
    };

    void loop();
    void accept_one();
    void serve(connection& c);
    bool read_from(connection& c);
    bool write_to(connection& c);
    void react(connection& c, const words& command);

    script on_command_;
    unix_listener listener_{};
    wake_up bell_{};
    std::mutex guard_{};
    std::vector<connection> connections_{};
    std::vector<std::string> seen_{};
    std::size_t accepted_ = 0;
    bool stop_ = false;
    std::thread thread_;
};

/// The answers of a healthy Redis 7, for a script to fall back on: the handshake, subscriptions,
/// and every lock script (each lock is granted, every hold is there). As a sentinel or a node of a
/// cluster it names one master. Used from a peer's thread
/// alone; must outlive the peer.
class canned_redis {
public:
    reaction answer(std::size_t connection, const words& command);

    static std::string bulk(std::string_view text);
    static std::string upper(std::string_view text);

private:
    struct loaded_script {
        std::string sha{};
        std::string text{};
    };

    std::string load(const std::string& text);
    static std::string run(const std::string& script, const words& command);
    std::string run_loaded(const words& command) const;
    static std::string handshake(std::size_t connection, const words& command);
    static std::string topology(const std::string& name, const words& command);
    static std::string subscription(const words& command);

    std::vector<loaded_script> scripts_{};
};

}  // namespace conch::test

#endif
