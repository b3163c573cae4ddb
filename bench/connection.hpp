// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_CONNECTION_HPP
#define CONCH_BENCH_CONNECTION_HPP

#include "socket.hpp"

#include <conch/config.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace conch::bench {

/// One RESP3 message, flattened: the parts of an array or a push come in their order.
struct message {
    char type = '_';
    std::string text{};                ///< of anything but an array, a push or a map
    std::vector<std::string> parts{};  ///< of these

    std::int64_t number() const;
};

/// The server answered a command with an error.
struct server_refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A blocking connection for what is not measured, or is no faster otherwise: one command, one
/// answer, and messages of subscriptions. Has said `greeting()`, unless it is to be silent.
class connection {
public:
    enum class greeted { yes, no };
    explicit connection(const config& server, greeted how = greeted::yes);

    /// Throws `server_refusal` if the answer is an error.
    message command(const std::vector<std::string_view>& words);
    /// Bytes that are encoded already.
    void send(std::string_view bytes) { socket_.send(bytes); }
    /// The next one, whatever it is.
    message receive();
    /// Sends these commands in pieces and reads as many answers. Throws if one is an error.
    void pipeline(std::string_view bytes, std::size_t commands);

    /// How often the server ran this command since it started, for clients and in scripts.
    std::uint64_t calls(std::string_view command_name);
    std::uint64_t connections_named(std::string_view client_name);
    void kill_connections_named(std::string_view client_name);
    /// All keys that match.
    void unlink_all(std::string_view pattern);

private:
    std::vector<std::string> ids_named(std::string_view client_name);
    message read(bool nested);
    std::string_view line();
    std::string_view bytes(std::size_t count);
    void more();

    socket socket_;
    std::string buffer_{};
    std::size_t begin_ = 0;  // of what was not read yet
};

}  // namespace conch::bench

#endif
