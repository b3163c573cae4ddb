// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_ONE_LOCK_HPP
#define CONCH_SRC_CLI_ONE_LOCK_HPP

#include "cli/command_error.hpp"
#include "cli/quorum.hpp"

#include <conch/conch.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <string>

namespace conch::cli {

/// What the commands that only ask have in common: an event loop, a client.
struct one_server {
    explicit one_server(const server_choice& server);

    /// Runs a coroutine, then shuts the client down. Throws what the coroutine throws.
    void run(boost::asio::awaitable<void> body);
    /// The error of an operation, in words.
    command_error failure(error_code ec) const;

    const server_choice& server;
    boost::asio::io_context io{1};
    client redis;
    other_clients others;
    first_contact contact;
};

/// The same, of those that ask about one lock.
struct one_lock : one_server {
    /// Throws `usage_error` for a bad name.
    one_lock(const server_choice& server, const std::string& name);

    mutex lock;
};

}  // namespace conch::cli

#endif
