// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_RAW_CLIENT_HPP
#define CONCH_TEST_SUPPORT_RAW_CLIENT_HPP

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace conch::test {

/// One RESP2 reply.
struct reply {
    enum class kind { nil, status, string, integer, array, error };

    kind type = kind::nil;
    std::string text{};         ///< of a status, string or error
    std::int64_t number = 0;    ///< of an integer
    std::vector<reply> items{};  ///< of an array

    bool is_error() const noexcept { return type == kind::error; }
    bool is_nil() const noexcept { return type == kind::nil; }
};

/// A line of CLIENT LIST.
struct connection_entry {
    std::string id{};
    std::string name{};
};

/// The test's own view of the server: a blocking RESP2 client that shares no code with conch.
/// Every wait is bounded; what goes wrong is thrown as `std::runtime_error`.
class raw_client {
public:
    using words = std::vector<std::string>;

    explicit raw_client(std::string unix_path);
    explicit raw_client(std::uint16_t port);
    ~raw_client();
    raw_client(raw_client&& other) noexcept;
    raw_client& operator=(raw_client&&) = delete;

    /// Connects anew: after a restart of the server.
    void reconnect();

    reply command(const words& line);
    /// As `command`, but throws if the server answers with an error.
    reply must(const words& line);
    void send(const words& line);
    reply receive(std::chrono::milliseconds limit = std::chrono::seconds{10});

    bool exists(const std::string& key);
    std::int64_t hlen(const std::string& key);
    std::int64_t pttl(const std::string& key);
    std::int64_t dbsize();
    std::optional<std::string> get(const std::string& key);
    std::map<std::string, std::string> hgetall(const std::string& key);

    /// PUBSUB CHANNELS, and PUBSUB NUMSUB of one.
    std::vector<std::string> channels();
    std::int64_t subscribers(const std::string& channel);
    void subscribe(const std::string& channel);

    std::vector<connection_entry> connections(const std::string& name);
    /// CLIENT KILL for each connection of this name; how many there were.
    std::size_t kill_connections(const std::string& name);
    /// CLIENT PAUSE ... WRITE: scripts and publishes wait, reads and CLIENT commands don't.
    void pause_writes(std::chrono::milliseconds length);
    void unpause();

    /// How often the server ran this command (INFO commandstats) since `reset_calls()`, by clients
    /// and by scripts alike.
    std::uint64_t calls(const std::string& name);
    void reset_calls();
    /// The commands, keys and channels that ACL LOG says were refused, the last one first.
    std::vector<std::string> refused();

private:
    void connect();
    void disconnect() noexcept;
    void fill(std::chrono::steady_clock::time_point deadline);
    std::string line(std::chrono::steady_clock::time_point deadline);
    std::string bytes(std::size_t count, std::chrono::steady_clock::time_point deadline);
    reply parse(std::chrono::steady_clock::time_point deadline);

    std::string path_{};
    std::uint16_t port_ = 0;
    int fd_ = -1;
    std::string buffer_{};
};

/// The channel of the release messages of a lock, as Redisson names it.
std::string channel_of(const std::string& name);
/// The key of the fencing token of a lock, as Redisson names it.
std::string fence_key_of(const std::string& name);

/// What Redisson's RLock does to take a lock, in our own words: nil if granted, else the PTTL.
reply redisson_acquire(raw_client& server, const std::string& name, const std::string& field,
                       std::chrono::milliseconds lease = std::chrono::seconds{30});
/// What its unlock does at the last level: DEL and PUBLISH.
void redisson_release(raw_client& server, const std::string& name);

}  // namespace conch::test

#endif
