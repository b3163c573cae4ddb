// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_NETWORK_HPP
#define CONCH_TEST_SIM_NETWORK_HPP

#include "sim/effect.hpp"
#include "sim/world.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace conch::sim {

/// The client's end of its connections; `number` is the one that it gave.
struct client_end {
    virtual void opened(std::uint64_t number) = 0;
    virtual void bytes_came(std::uint64_t number, std::string_view bytes) = 0;
    /// Refused, ended by the server, or reset.
    virtual void broken(std::uint64_t number) = 0;

protected:
    ~client_end() = default;
};

/// The server's end; `line` is the network's number of the connection.
struct server_end {
    virtual bool accepts(std::uint64_t line) = 0;
    virtual void accepted(std::uint64_t line) = 0;
    virtual void bytes_arrived(std::uint64_t line, std::string_view bytes) = 0;
    virtual void hung_up(std::uint64_t line) = 0;

protected:
    ~server_end() = default;
};

enum class way : std::uint8_t { up, down };  ///< to the server, to the client

/// TCP connections from clients to the ports of one machine: bytes arrive in order, in pieces of
/// any size, each some time after it was sent, unless a fault has them come late or never. An end
/// that closes still delivers what it has sent; a reset doesn't.
class network {
public:
    struct settings {
        instant latency = 200 * micros;   ///< one way, at least
        instant jitter = 50 * micros;     ///< at most as much more
        std::uint64_t spike_once_in = 0;  ///< a piece that takes up to 50 times as long; 0: never
        std::uint64_t piece = 0;          ///< at most so many bytes come at once; 0: any number
        instant keepalive = 5 * seconds;  ///< after which an end that hears nothing gives up

        /// The longest time that a byte takes without a fault.
        instant worst_latency() const noexcept {
            return (latency + jitter) * (spike_once_in != 0 ? 50 : 1);
        }
    };

    network(world& w, server_end& s, const settings& how) : world_{w}, server_{s}, how_{how} {}

    /// Returns the client's index.
    std::uint64_t add(client_end& c);

    // For the clients.

    void connect(std::uint64_t client, std::uint64_t number, std::uint16_t port = 0);
    void send(std::uint64_t client, std::uint64_t number, std::string_view bytes);
    void close(std::uint64_t client, std::uint64_t number);

    // For the server.

    void reply(std::uint64_t line, std::string_view bytes);
    void hang_up(std::uint64_t line);

    // Faults: felt once bytes to an end that is there, or to be there, are late or lost.

    /// What is under way in this direction comes no sooner than then; connecting neither.
    void clog(std::uint64_t client, way w, instant until, effect* e = nullptr);
    /// The same for all that is, or is to be, between it and this port, either way.
    void separate(std::uint64_t client, std::uint16_t port, instant until, effect* e = nullptr);
    /// What is under way on the client's present connection comes no sooner than then; what is on
    /// its next ones isn't held up.
    void hold_up(std::uint64_t client, instant until, effect* e = nullptr);
    /// Ends the client's connection: `delivered`: what it had sent still reaches the server first,
    /// at once; else it is lost. Answers under way are lost. Felt if what was sent is lost, or
    /// what is sent until the client hears of the end; `delivered`: if answers are.
    void reset(std::uint64_t client, bool delivered, effect* e = nullptr);
    /// Nothing passes any more on the client's connection, and neither end hears of it.
    void cut_silently(std::uint64_t client, effect* e = nullptr);
    /// Connections end: all, or those to this port. `heard`: the clients learn of it; else only
    /// when they next look. False if no client had one that passed anything.
    bool reset_all(bool heard, std::optional<std::uint16_t> port = {});
    /// From now on what is done to a client's connections is done to those to this port; none: to
    /// all of them.
    void aim_at(std::optional<std::uint16_t> port) noexcept { aim_ = port; }
    /// No more clogs.
    void heal();

    std::uint64_t client_of(std::uint64_t id) const noexcept { return lines_[id]->client; }
    std::uint16_t port_of(std::uint64_t id) const noexcept { return lines_[id]->port; }
    /// All that was sent to the client on this line has come, which is open.
    bool has_delivered(std::uint64_t id) const noexcept {
        const line& l = *lines_[id];
        return l.client_open && !l.dead && in(l, way::down).under_way.empty();
    }
    /// When the client's end of this line closed; -1 while it is open.
    instant closed_at(std::uint64_t id) const noexcept { return lines_[id]->closed_at; }
    /// The client is connected, and no connection of it is a victim of a silent cut.
    bool passes(std::uint64_t client) const noexcept;
    std::size_t lines_open() const noexcept;

private:
    struct piece {
        std::string bytes{};
        bool last = false;  // the sender hung up
    };
    struct direction {
        std::deque<piece> under_way{};
        instant busy_until = 0;
    };
    struct line {
        std::uint64_t client = 0;
        std::uint64_t number = 0;
        std::uint16_t port = 0;
        bool connecting = true;
        bool client_open = true;
        instant closed_at = -1;
        bool server_open = false;
        bool dead = false;  // passes nothing
        standstill held{};
        std::array<effect*, 2> lost_by{};  // what would still be sent
        std::array<direction, 2> to{};
    };

    direction& in(line& l, way w) noexcept { return l.to[static_cast<std::size_t>(w)]; }
    const direction& in(const line& l, way w) const noexcept {
        return l.to[static_cast<std::size_t>(w)];
    }
    effect*& lost_by(line& l, way w) noexcept { return l.lost_by[static_cast<std::size_t>(w)]; }
    standstill& clogged(std::uint64_t client, way w) noexcept {
        return clogs_[client][static_cast<std::size_t>(w)];
    }
    standstill barred(const line& l, way w) noexcept;
    standstill held(const line& l, way w) noexcept;
    bool has_receiver(const line& l, way w) const noexcept {
        return w == way::up ? l.server_open : l.client_open;
    }
    bool carries(const line& l, way w) const noexcept;
    bool is_aim(const line& l, std::uint64_t client) const noexcept {
        return l.client == client && (!aim_ || *aim_ == l.port);
    }
    instant flight() noexcept;
    void cut_up(std::uint64_t id, way w, std::string_view bytes, bool last);
    void post(std::uint64_t id, way w, piece p);
    void knock(std::uint64_t id, std::uint64_t);
    void let_in(std::uint64_t id, std::uint64_t accepted);
    void arrive(std::uint64_t id, std::uint64_t way_);
    void deliver(std::uint64_t id, way w, piece p);
    void break_client(std::uint64_t id, std::uint64_t);
    void give_up_server(std::uint64_t id, std::uint64_t);
    void drop_server(std::uint64_t id);
    void close_client(line& l) noexcept;

    world& world_;
    server_end& server_;
    settings how_;
    std::optional<std::uint16_t> aim_{};
    std::vector<client_end*> clients_{};
    std::vector<std::array<standstill, 2>> clogs_{};
    std::map<std::pair<std::uint64_t, std::uint16_t>, standstill> separated_{};  // client and port
    std::vector<std::unique_ptr<line>> lines_{};
    std::unordered_map<std::uint64_t, std::vector<const line*>> open_of_{};  // of each client
};

}  // namespace conch::sim

#endif
