// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_WIRE_TEXT_HPP
#define CONCH_TEST_UNIT_WIRE_TEXT_HPP

#include "unit/resp/describe.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What goes over the wire, in the words of a test.
namespace conch::test {

using lines = std::vector<std::string>;

/// One command of the client. A script goes by its name.
struct command {
    std::string name;  ///< "acquire" and its kin, with "EVAL " before it if the text was sent
    std::vector<std::string> keys{};
    std::vector<std::string> args{};

    /// `acquire lock c:1 30000 0`; a loaded script is `SCRIPT LOAD acquire`.
    std::string text() const;
};

/// Cuts what a client wrote. Nothing may be left over.
std::vector<command> read_commands(std::string_view bytes);
lines texts(const std::vector<command>& commands);

// The client's words, for its n-th acquisition.

inline std::string acquire_of(std::string_view lock, int n, std::int64_t lease_ms = 30'000) {
    return join("acquire ", lock, " c:", n, " ", lease_ms, " 0");
}
inline std::string renew_of(std::string_view lock, int n, std::int64_t lease_ms = 30'000) {
    return join("renew ", lock, " c:", n, " ", lease_ms);
}
/// The server is to lower a TTL that is longer.
inline std::string lower_of(std::string_view lock, int n, std::int64_t lease_ms = 30'000) {
    return renew_of(lock, n, -lease_ms);
}
inline std::string nest_of(std::string_view lock, int n, int depth,
                           std::int64_t lease_ms = 30'000) {
    return join("nest ", lock, " c:", n, " ", depth, " ", lease_ms);
}
std::string channel_of(std::string_view lock);
inline std::string release_of(std::string_view lock, int n) {
    return join("release ", lock, " c:", n, " ", channel_of(lock));
}
inline std::string subscribe_of(std::string_view lock) {
    return join("SUBSCRIBE ", channel_of(lock));
}
inline std::string unsubscribe_of(std::string_view lock) {
    return join("UNSUBSCRIBE ", channel_of(lock));
}

// The server's words.

inline std::string integer(std::int64_t n) { return join(":", n, "\r\n"); }
inline std::string bulk(std::string_view s) { return join("$", s.size(), "\r\n", s, "\r\n"); }
inline std::string error(std::string_view words) { return join("-", words, "\r\n"); }
inline std::string ok() { return "+OK\r\n"; }
/// The answer to an acquire that took the lock.
inline std::string granted(std::string_view token = "") { return bulk(token); }
/// The answer to an acquire that found another holder.
inline std::string busy(std::int64_t ttl_ms) { return integer(ttl_ms); }
template <typename... Items>
std::string array(const Items&... items) {
    return join("*", sizeof...(items), "\r\n", items...);
}
std::string push(std::string_view what, std::string_view channel, std::string_view third);
/// A release message for this lock.
inline std::string released(std::string_view lock) {
    return push("message", channel_of(lock), bulk("0"));
}
inline std::string subscribed(std::string_view lock) {
    return push("subscribe", channel_of(lock), integer(1));
}
inline std::string unsubscribed(std::string_view lock) {
    return push("unsubscribe", channel_of(lock), integer(0));
}
/// The answer to HELLO 3.
std::string hello(std::int64_t client_id);
/// The answer to INFO replication.
std::string replication(std::string_view role, std::string_view id);
/// The answer to INFO server.
std::string info(std::string_view run_id);
/// The answers to a whole greeting by a master. Its replication id is its run id.
std::string greeting(std::int64_t client_id, std::string_view run_id, bool with_select = false);

}  // namespace conch::test

#endif
