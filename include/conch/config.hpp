// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_CONFIG_HPP
#define CONCH_CONFIG_HPP

#include <conch/clock.hpp>
#include <conch/tls.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conch {

class observer;

/// How grave a log line is, in ascending order.
enum class log_level { debug, info, warning, error };

/// Receives one log line. Called on the client's strand: it must not block or throw. Lines name
/// locks, never passwords. Lifetime: called until the shutdown has completed, in the background if
/// the client was destroyed; what it refers to must live as long as the execution context, or be
/// shared.
using log_sink = std::function<void(log_level, std::string_view)>;

/// Where a server is.
struct server_address {
    /// Host name or address, of up to 255 bytes.
    std::string host{};
    /// TCP port.
    std::uint16_t port = 0;

    /// Both are the same.
    friend bool operator==(const server_address&, const server_address&) = default;
};

/// Whom the server shall take the client for.
struct credentials {
    /// User for AUTH; empty: Redis' user "default".
    std::string username{};
    /// Password for AUTH; empty: no authentication.
    std::string password{};
};

/// Redis Sentinel: the server is the master that these sentinels name.
///
/// They are asked where the master is: for the first connection, whenever there is none, at once
/// when the one that is asked announces a failover (`+switch-master`), and every `scan_interval`
/// the next of them, on one connection at a time. Where they disagree, the one with the newer
/// configuration is believed; who may not ask for that (`+sentinel|master`) stays with one sentinel
/// as long as it answers, be it cut off from the others.
///
/// After a failover each hold is checked at the new master before anything is sent again; one that
/// it doesn't have is lost, and its holder is told at once. What Redis loses in a failover, it
/// loses: a lock whose acquisition had not reached the replica may be granted again before the old
/// lease ends. Protect what matters by `hold::fence()`.
struct sentinel_options {
    /// The master's name in the sentinels' configuration (`sentinel monitor NAME ...`).
    std::string master{};
    /// From 1 to 1,000. Usual port: 26379.
    std::vector<server_address> addresses{};
    /// User for AUTH at the sentinels; empty: "default".
    std::string username{};
    /// Password for AUTH at the sentinels; empty: no authentication there.
    std::string password{};
    /// Asked for user and password at each new connection to a sentinel, instead of the two above
    /// (which must be empty then), so that they may change. All else as of `config::credentials`,
    /// which is not asked for sentinels. Default: none.
    std::function<conch::credentials()> credentials{};
    /// The next one is asked after about so long (with jitter), as messages may be lost, and one
    /// may be cut off with an old master. From 10 ms to an hour; default 1 s, as Redisson's
    /// `scanInterval`.
    duration scan_interval = std::chrono::seconds{1};
    /// Where to reach a master that the sentinels know by this address, as through NAT; those in
    /// `addresses` are used as they are. All else as of `cluster_options::map_address`. Default:
    /// there.
    std::function<server_address(const server_address&)> map_address{};
};

/// How releases are told in a cluster. All that share a lock must tell them alike: others are
/// excluded, but not woken. `automatic` is decided by the first node that a client asks, for good.
enum class sharded_messages {
    automatic,  ///< as `on` where the server knows PUBSUB SHARDNUMSUB (Redis 7), else as `off`
    on,         ///< by SPUBLISH and SSUBSCRIBE, within one shard of the cluster
    off,        ///< by PUBLISH and SUBSCRIBE, throughout the cluster
};

/// Redis Cluster: each lock is at the master that has the hash slot of its name.
///
/// A node is asked which master has which slots: at first, when a connection breaks or a node sends
/// a command elsewhere, and every `scan_interval`; the next node, if it doesn't answer, does not
/// know where a command was sent on to, or names masters that refuse commands for long. There is
/// one connection to each master that has a lock of this client (one more for locks with
/// `mutex_options::replicas`), and one to the node that is asked; replicas are never read. A lock
/// whose slot moves to another master is held, renewed and released on; after a failover its holds
/// are checked as with Sentinel, and the same may be lost: protect what matters by `hold::fence()`.
/// A name whose hash tag Redisson's rule for derived names would break (`{}x`, `a{b`, `a}b`) is
/// refused by the mutex.
struct cluster_options {
    /// Nodes to ask at first; one that can be reached is enough. From 1 to 1,000. Usual port: 6379.
    std::vector<server_address> addresses{};
    /// How often the slots are asked for (with jitter) though nothing seems wrong. From 10 ms to an
    /// hour; default 2 s.
    duration scan_interval = std::chrono::seconds{2};
    /// All programs that share locks must agree, or they do not wake each other; `automatic` is
    /// Redisson's default too. Default: automatic.
    sharded_messages sharded = sharded_messages::automatic;
    /// Where to reach a node that the cluster knows by this address, as through NAT; those in
    /// `addresses` are used as they are. Called on the client's strand: it must not block or throw.
    /// If it throws, or names no usable host or no port, that is logged, and the node's own address
    /// is used. Not called for a node that tells no host: it is on the one that was asked, at the
    /// port that it tells. Lifetime: as of `config::log`. Default: there.
    std::function<server_address(const server_address&)> map_address{};
};

/// Where the server is and how patient the client is with it. Checked once, by the constructor of
/// `client`, which throws `std::invalid_argument` for a value out of its range.
struct config {
    /// Host name or address of the server, of up to 255 bytes. Ignored where `unix_path` is set.
    std::string host = "127.0.0.1";
    /// TCP port.
    std::uint16_t port = 6379;
    /// Path of the server's unix socket; empty: TCP.
    std::string unix_path{};
    /// TLS; default: none, so that whoever is on the way can read passwords and take locks. Not
    /// with `unix_path`. Its handshake counts within `connect_timeout`; one that fails in a way
    /// that will not pass ends what waits with `errc::tls_failed`, and
    /// `client::last_server_error()` says why; connecting goes on.
    std::optional<tls_options> tls{};
    /// User for AUTH; empty: Redis' user "default".
    std::string username{};
    /// Password for AUTH; empty: no authentication.
    std::string password{};
    /// Asked for the server's address: `host` and `port` are ignored then, and `unix_path` must be
    /// empty. `username` and `password` are those of the master. Default: none.
    std::optional<sentinel_options> sentinel{};
    /// Nodes of a cluster to begin with: `host` and `port` are ignored then; `unix_path` and
    /// `sentinel` must be empty, and `database` 0. Default: none.
    std::optional<cluster_options> cluster{};
    /// Asked for user and password at each new connection, instead of the two above (which must be
    /// empty then), so that they may change; not for sentinels, which have
    /// `sentinel_options::credentials`. Called on the client's strand, never by two threads at
    /// once: it must not block. If it throws, or gives a user without a password, the attempt to
    /// connect has failed, and the exception is told to nobody. Lifetime: as of `log`. Default:
    /// none.
    std::function<conch::credentials()> credentials{};
    /// Database for SELECT, from 0 to 1,000,000.
    unsigned database = 0;
    /// What the names of the connections in CLIENT LIST begin with (CLIENT SETNAME); no spaces.
    /// Behind it come host, process and the beginning of `client::id()`, which tells the holder of
    /// a lock: "conch:web-1:4711:5c1e0a8e". Empty: they have no name. Default "conch".
    std::string client_name = "conch";
    /// What this program is to those who run it: stands behind `client_name` in the names of the
    /// connections, "conch:billing:web-1:4711:5c1e0a8e", and with each lock that it holds in
    /// `conch ls`. Up to 64 bytes, with no spaces, special characters or colons, and only with a
    /// `client_name`. Default: none.
    std::string service{};

    /// For one attempt to connect, with the handshake. Default 5 s. A sentinel, and a node of a
    /// cluster that is asked where the slots are, has a second of it at first, and twice as long
    /// after each whole round of them that could not be reached; `response_timeout` likewise.
    duration connect_timeout = std::chrono::seconds{5};
    /// A connection that leaves a command unanswered for so long is given up. Default 3 s.
    duration response_timeout = std::chrono::seconds{3};
    /// An idle connection is probed with PING after so long. Default 10 s.
    duration ping_interval = std::chrono::seconds{10};
    /// TCP: the operating system keeps the connection alive too (SO_KEEPALIVE), at its own, longer
    /// intervals: for middleboxes that forget silent connections while a `ping_interval` is long.
    /// Default: on.
    bool keep_alive = true;
    /// First pause before connecting again; doubled each time, with jitter. Default 20 ms.
    duration reconnect_delay_min = std::chrono::milliseconds{20};
    /// Longest pause before connecting again. Default 1 s.
    duration reconnect_delay_max = std::chrono::seconds{1};
    /// How long an operation puts up with a server that can't be reached or doesn't answer
    /// before it fails with `errc::not_connected`. Default 5 s.
    duration operation_timeout = std::chrono::seconds{5};
    /// So many attempts to connect may fail in a row: the last of them and each further one end
    /// what waits, also for another holder or for permits, with `errc::not_connected` or the
    /// reason; but a hold's release or extension, and connecting, go on. With Sentinel and Cluster
    /// each server counts for itself; while none has told yet where the locks are, a whole round of
    /// the sentinels or nodes that was of no use is one attempt. From 1. Default: no limit but
    /// `operation_timeout`.
    std::optional<unsigned> retry_attempts{};
    /// The lease of acquisitions that name none: see `lock_options::lease`. Default 30 s, as
    /// Redisson's watchdog timeout.
    duration default_lease = std::chrono::seconds{30};
    /// The watchdog for acquisitions that say nothing of it: see `lock_options::renew`. Default:
    /// on.
    bool default_renew = true;
    /// A waiter asks again after at most so long even if no message came. Default 1 s. With more
    /// than 3,000 contended names in one client it is 0.3 ms for each of them: 15 s for 50,000.
    duration max_poll_interval = std::chrono::seconds{1};
    /// So many times in a row a lock passes between local waiters before other processes get their
    /// turn: where a release tells that any listen, after one more hold at most if that is news.
    /// A lock that is renewed and not fenced passes with no word to the server if both holders want
    /// the same lease and neither has an owner or ends within it, the server is in reach and has
    /// confirmed the lease less than a third of it ago, and nothing was heard since that puts it in
    /// doubt: the server hears of the last release of the streak only. A fenced one passes in one
    /// script, which releases and acquires, and of which nobody else hears; but in a cluster, or if
    /// it wants replicas, each release is heard, as is any other that doesn't pass so. From 1,
    /// which means that all are heard; default 64.
    ///
    /// Processes that do not listen (other programs that poll a `token_mutex`; those whose
    /// SUBSCRIBE or PUBLISH the server refuses) are not known to wait: they get no turn while
    /// waiters here follow each other without a gap.
    unsigned max_passes = 64;
    /// The same in time: a streak that is so old ends with the next release. Default 100 ms.
    duration max_pass_time = std::chrono::milliseconds{100};
    /// Looks for owners that wait for each other in a cycle: each waits for a lock that the next
    /// one holds, so that none of these waits would ever end. The acquire that began last then ends
    /// with `errc::deadlock`: at once where all of them are of this client, else within two poll
    /// intervals and some round trips. The longest `max_poll_interval` of the clients in the cycle
    /// counts. `log` and `client::last_deadlock()` tell the whole cycle in words. Default: off.
    ///
    /// Both the hold and the wait must have a `lock_options::owner`, and both clients must look for
    /// deadlocks. An owner is taken to release nothing while it waits. A writer waits for each
    /// reader. Not found are cycles
    /// - through holds that end by themselves: `renew` off, `max_hold`, `progress_within`;
    /// - through locks without an owner: of `semaphore`, `multi_lock` and `quorum_mutex`;
    /// - of a reader that only a waiting writer keeps out;
    /// - between clients, of waits shorter than about one and a half `max_poll_interval`.
    ///
    /// While an owner that holds locks waits, the client writes four times in each
    /// `max_poll_interval` beside each of them what it waits for (a key `conch_wait:{NAME}:HOLDER`,
    /// which expires). At most as often it reads who holds that, and what they wait for. If that is
    /// more than 1,000 commands in a second, it happens less often.
    bool deadlock_detection = false;
    /// So many operations may be pending in this client; more fail with `errc::overloaded`.
    /// From 1; default 1,000,000.
    std::size_t max_pending = 1'000'000;

    /// Receives log lines; empty (the default): silent.
    log_sink log{};
    /// The least grave lines that are wanted. Default: `log_level::info`, which has none per lock.
    conch::log_level least_log_level = log_level::info;
    /// Is told of each wait and each hold, of renewals, rate limits and connections. Default: none.
    std::shared_ptr<conch::observer> observer{};

    /// Reads `redis://[user:password@]host[:port][/db]`, `unix://[user:password@]/path[?db=N]`, or
    /// `redis+sentinel://[user:password@]host[:port][,host[:port]]*/master[/db]` (user and password
    /// are the master's; those of the sentinels: `?sentinel_user=U&sentinel_password=P`), or
    /// `redis+cluster://[user:password@]host[:port][,host[:port]]*`, with percent encoding.
    /// `rediss://`, `rediss+sentinel://` (to the sentinels too) and `rediss+cluster://` are the
    /// same with TLS; they may be followed by
    /// `?cacert=FILE&cacertdir=FOLDER&cert=FILE&key=FILE&sni=NAME&insecure=true`, all of them
    /// optional: `ca_file`, `ca_path`, `certificate_file`, `private_key_file`, `server_name` and
    /// `verify = false` of `tls_options`. An IPv6 address stands in brackets, its zone (RFC 6874)
    /// behind %25: `redis://[fe80::1%25eth0]`. Everything else keeps its default.
    ///
    /// Throws `std::invalid_argument`, saying what is wrong without repeating the password.
    static config from_url(std::string_view url);
    /// The server, for messages: a URL without user, password and the options of TLS, which
    /// `from_url` reads.
    std::string url() const;
};

}  // namespace conch

#endif
