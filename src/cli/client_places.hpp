// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_CLIENT_PLACES_HPP
#define CONCH_SRC_CLI_CLIENT_PLACES_HPP

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace conch::cli {

/// Where a conch client is, as its connection's name tells: "conch[:SERVICE]:HOST:PID:ID".
struct client_place {
    std::string connection{};  ///< that name
    std::string service{};     ///< empty: none
    std::string host{};
    std::int64_t pid = 0;
    std::string address{};        ///< as the server sees it
    std::chrono::seconds age{};   ///< of the connection
    std::chrono::seconds idle{};  ///< since its last command
};

/// The conch clients that are connected to the servers, by the beginnings of their ids.
class client_places {
public:
    /// Takes in an answer to CLIENT LIST. Lines of other clients are left out.
    void add(std::string_view client_list);
    /// The client of a holder's field, or of a permit's id in hexadecimal. Null: it has no
    /// connection with such a name; or several processes have one, so that nobody knows which it
    /// is.
    const client_place* of(std::string_view field) const;

private:
    struct known_place : client_place {
        bool several = false;
    };
    std::map<std::string, known_place, std::less<>> by_id_{};
};

}  // namespace conch::cli

#endif
