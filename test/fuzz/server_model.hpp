// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_FUZZ_SERVER_MODEL_HPP
#define CONCH_TEST_FUZZ_SERVER_MODEL_HPP

#include "wire/script.hpp"

#include <conch/clock.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conch::fuzz {

using words = std::vector<std::string>;

/// Cuts what a client wrote into commands. Nothing may be left over.
std::vector<words> cut_commands(std::string_view bytes);

/// Which script a command calls, if it calls one.
std::optional<wire::script_id> script_of(const words& command);
/// A script for several keys, as those of one key each that it stands for.
std::vector<words> runs_of(const words& command);

/// The server's end of one connection.
struct session {
    std::int64_t id = 0;
    std::set<std::string> channels{};
    std::deque<words> unread{};         ///< written by the client, not yet run
    std::deque<std::string> answers{};  ///< to be delivered
    /// The fields that were taken on this connection, and that replicas have not acknowledged
    /// since.
    std::vector<std::string> unacknowledged{};
};

/// A Redis that knows what the scripts of this library do, on virtual time.
class server_model {
public:
    struct key {
        std::string field;
        std::int64_t depth = 1;
        time_point expires{};
    };

    /// Runs a command. The right answer, as bytes.
    std::string run(const words& command, session& by, time_point now);

    /// The lock, if it is locked.
    key* find(const std::string& name, time_point now);
    void take(const std::string& name, const std::string& field, time_point expires);
    void erase(const std::string& name) { keys_.erase(name); }
    /// Tells the subscribers of a lock's channel; how many there are.
    std::int64_t publish(const std::string& channel);
    void forget_scripts() { loaded_ = {}; }
    /// A new process.
    void restart(bool with_data);

    /// The connections that CLIENT KILL ended, since this was last cleared.
    std::vector<std::int64_t> killed{};
    /// The fields that renewals and nested acquires did not find, since this was last cleared.
    std::vector<std::string> missed{};
    /// Requests for permits.
    std::uint64_t requests_granted = 0;
    /// How many replicas acknowledge what WAIT asks about, and the fields of which one did.
    std::int64_t replicas = 1;
    std::set<std::string> acknowledged{};
    /// Who hears of messages: the client's present connection.
    session* subscriber = nullptr;

private:
    std::string call(wire::script_id id, const words& command, time_point now);
    std::string acquire(const words& keys_and_args, std::size_t keys, time_point now);
    std::string release(const words& keys_and_args, time_point now);
    std::string renew(const words& keys_and_args, std::size_t keys, time_point now);
    std::string nest(const words& keys_and_args, time_point now);
    std::string status(const words& keys_and_args, time_point now);
    std::string count(const words& keys_and_args, time_point now);
    std::string each(const words& command, time_point now);
    std::string token(const std::string& name, bool repeated, time_point now);

    void written(const std::string& field, bool anew);

    std::map<std::string, key> keys_{};
    std::map<std::string, std::uint64_t> tokens_{};
    std::map<std::string, std::deque<std::pair<time_point, std::int64_t>>> permits_{};
    std::array<bool, wire::script_count> loaded_{};
    int process_ = 1;
    std::int64_t last_id_ = 0;
    session* by_ = nullptr;  ///< whose command runs
};

// The server's words.
std::string bulk(std::string_view s);
std::string integer(std::int64_t n);
std::string push(std::string_view what, std::string_view channel, const std::string& third);

}  // namespace conch::fuzz

#endif
