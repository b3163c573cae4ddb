// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_PROXY_HPP
#define CONCH_TEST_SUPPORT_PROXY_HPP

#include "support/unix_listener.hpp"

#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace conch::test {

/// A wire between a client and a server that the test can damage. Runs in a thread of its own;
/// its functions return when the order was carried out, and may be called from any thread.
class proxy {
public:
    explicit proxy(std::string upstream_path);
    ~proxy();
    proxy(const proxy&) = delete;
    proxy& operator=(const proxy&) = delete;

    const std::string& socket_path() const noexcept { return listener_.path(); }

    /// From now on what the server says is thrown away; it still gets every command.
    void swallow_replies();
    /// From now on the server gets nothing; what the client sends is thrown away.
    void swallow_requests();
    /// Closes both sides of every connection; later connections work.
    void cut();
    /// Closes the client's side alone: for the server, the old connections live on, as behind a
    /// broken network. Later connections work.
    void cut_clients_only();

    /// Connections accepted so far.
    std::size_t accepted();

private:
    struct pair {
        int client = -1;
        int server = -1;
        std::string to_server{};
        std::string to_client{};
        bool swallow_replies = false;
        bool swallow_requests = false;
    };

    void loop();
    void accept_one();
    void serve(pair& p, short client_events, short server_events);
    static bool pump_in(int& fd, std::string& out, bool swallow);
    static bool pump_out(int& fd, std::string& data);
    static void close_fd(int& fd) noexcept;

    std::string upstream_;
    unix_listener listener_{};
    wake_up bell_{};
    std::mutex guard_{};
    std::vector<pair> pairs_{};
    std::size_t accepted_ = 0;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace conch::test

#endif
