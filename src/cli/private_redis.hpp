// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_PRIVATE_REDIS_HPP
#define CONCH_SRC_CLI_PRIVATE_REDIS_HPP

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace conch::cli {

/// A `redis-server` of our own, or a `valkey-server` where there is none: child of this process, in
/// a temporary folder of its own, without persistence. It listens on a unix socket, and on a free
/// loopback port if asked to. It has a process group of its own, so a terminal's Ctrl-C reaches
/// this process alone.
///
/// The server is killed by the destructor, and by the kernel (PDEATHSIG) when the *thread* that
/// started it ends, so start it from a thread that lives as long as the server should. The folder
/// goes with the destructor alone: a program has to turn SIGINT, SIGTERM and SIGHUP into an
/// orderly exit. Thread safety: one object, one thread at a time.
class private_redis {
public:
    struct options {
        /// Listen on 127.0.0.1 too, on a free port that stays the same over `kill()` and `start()`.
        bool tcp = false;
        /// Further arguments of redis-server, such as {"--requirepass", "x"}.
        std::vector<std::string> arguments{};
        /// Not empty: it is a Redis Sentinel that begins with this configuration, and keeps what it
        /// made of it over `kill()` and `start()`.
        std::string sentinel{};
    };

    /// Starts the server and returns when it answers PING (or an error such as NOAUTH). Throws
    /// `std::runtime_error` that says what is missing, with the server's log.
    private_redis();
    explicit private_redis(options o);
    ~private_redis();
    private_redis(const private_redis&) = delete;
    private_redis& operator=(const private_redis&) = delete;

    /// "unix:///…/redis.sock"
    std::string url() const;
    /// "redis://127.0.0.1:PORT"; precondition: options::tcp.
    std::string tcp_url() const;
    const std::string& socket_path() const noexcept { return socket_path_; }
    std::uint16_t port() const noexcept { return port_; }
    pid_t pid() const noexcept { return pid_; }

    /// Ends the server at once (SIGKILL) and reaps it; its data is gone. No-op if not running.
    void kill();
    /// Starts it again, empty, at the same addresses, after `kill()`.
    void start();
    /// SIGSTOP, returning when the server has stopped, and SIGCONT.
    void freeze();
    void thaw();

private:
    void make_folder();
    void choose_port();
    void write_configuration();
    void launch();
    void wait_until_ready();
    void clean_up() noexcept;
    std::string log() const;

    options options_;
    std::string folder_;
    std::string socket_path_;
    std::uint16_t port_ = 0;
    int port_guard_ = -1;  ///< bound, never listening: keeps the port from others
    pid_t pid_ = -1;
};

}  // namespace conch::cli

#endif
