// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_QUORUM_HPP
#define CONCH_SRC_CLI_QUORUM_HPP

#include "cli/contact.hpp"

#include <conch/conch.hpp>

#include <boost/asio/io_context.hpp>

#include <deque>
#include <string>

namespace conch::cli {

/// The clients of a lock's servers beyond the first: none, or those of a quorum.
class other_clients {
public:
    other_clients(boost::asio::io_context& io, const server_choice& server,
                  const log_sink& log = {});

    /// The lock of this name, of the kind that was chosen, on the first server or on all. Throws
    /// `std::invalid_argument`.
    mutex lock_of(const client& first, const std::string& name, const mutex_options& kind) const;
    /// All of these as one.
    mutex lock_of(const client& first, const word_list& names, const mutex_options& kind) const;
    /// In the background.
    void shut_down();
    /// Of all that have had an error, each with its server's name if there are several servers.
    std::string last_server_error(const client& first) const;

private:
    const server_choice& server_;
    std::deque<client> clients_{};
};

}  // namespace conch::cli

#endif
