// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_DEPLOYMENT_CLUSTER_NODE_HPP
#define CONCH_TEST_DEPLOYMENT_CLUSTER_NODE_HPP

#include "cli/private_redis.hpp"
#include "support/raw_client.hpp"
#include "deployment/tls_server.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace conch::test {

/// A free port of 127.0.0.1 that stays ours, whether a server listens there or not: bound beside
/// it, never listening.
class reserved_port {
public:
    reserved_port() : reserved_port{0} {}
    /// This one; throws if somebody has it. 0: any.
    explicit reserved_port(std::uint16_t number);
    ~reserved_port();
    reserved_port(const reserved_port&) = delete;
    reserved_port& operator=(const reserved_port&) = delete;

    std::uint16_t number() const noexcept { return number_; }

private:
    int fd_ = -1;
    std::uint16_t number_ = 0;
};

/// The port of a node's clients, and 10,000 behind it that of its bus: where the bus is cannot be
/// chosen before Redis 7.0.
class node_ports {
public:
    node_ports();

    std::uint16_t client() const noexcept { return client_->number(); }
    std::uint16_t bus() const noexcept { return bus_->number(); }

private:
    std::optional<reserved_port> client_{};
    std::optional<reserved_port> bus_{};
};

/// What a node says of one: a line of CLUSTER NODES.
struct node_line {
    std::string id{};
    std::string flags{};   ///< "myself,master"
    std::string master{};  ///< the id of its master; "-" if it is one
    std::uint64_t epoch = 0;
    std::vector<std::pair<unsigned, unsigned>> slots{};  ///< first and last of each range

    /// Has one of the flags exactly: "fail?" isn't "fail".
    bool is(const std::string& flag) const;
};

/// A server in cluster mode: a process of its own, with a client port and a bus port that stay the
/// same over `kill()` and `start()`, as does what it knows of the cluster. Its data does not.
class cluster_node {
public:
    /// Starts it, alone in its cluster and without slots. It holds a silent node for dead after a
    /// second, and replicas stay with their masters.
    cluster_node();
    /// The same; its client port, and its bus, speak TLS alone.
    explicit cluster_node(const node_certificate& c);

    const std::string& id() const noexcept { return id_; }
    std::uint16_t port() const noexcept { return ports_.client(); }
    std::uint16_t bus_port() const noexcept { return ports_.bus(); }

    /// It serves these from now on: those from `first` on, up to `end`.
    void add_slots(std::size_t first, std::size_t end) const;
    void kill();
    void start();
    void freeze();
    void thaw();
    /// It runs, and is not frozen.
    bool awake() const noexcept { return server_.pid() > 0 && !frozen_; }

    /// A connection of the test's own; made anew by each call.
    raw_client raw() const { return raw_client{server_.socket_path()}; }
    /// What it says of all nodes it knows, those that it only shakes hands with too.
    std::vector<node_line> view() const;
    /// What it says of itself.
    node_line self() const;
    /// "ok" of "cluster_state:ok" in CLUSTER INFO or, if not there, INFO replication.
    std::string info(const std::string& field) const;
    /// The keys in a slot, as far as they are here, whoever serves it; at most 1,000.
    std::vector<std::string> keys_in(unsigned slot) const;

private:
    void begin() { id_ = raw().must({"CLUSTER", "MYID"}).text; }

    node_ports ports_{};
    cli::private_redis server_;
    std::string id_{};
    bool frozen_ = false;
};

}  // namespace conch::test

#endif
