// SPDX-License-Identifier: BSL-1.0
#include "support/raw_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace conch::test {
namespace {

using steady = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error{"raw_client: " + what};
}

void await_ready(int fd, short events, steady::time_point deadline) {
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - steady::now()).count();
        if (left <= 0) {
            fail("the server did not answer in time");
        }
        pollfd p{fd, events, 0};
        const int n = ::poll(&p, 1, static_cast<int>(left));
        if (n > 0) {
            return;
        }
        if (n < 0 && errno != EINTR) {
            fail(std::string{"poll: "} + std::strerror(errno));
        }
    }
}

int connect_unix(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        fail("the socket's path is too long");
    }
    std::copy(path.begin(), path.end(), address.sun_path);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 ||
        ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        const std::string why = std::strerror(errno);
        ::close(fd);
        fail("connect " + path + ": " + why);
    }
    return fd;
}

int connect_tcp(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 ||
        ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        const std::string why = std::strerror(errno);
        ::close(fd);
        fail("connect to port " + std::to_string(port) + ": " + why);
    }
    return fd;
}

}  // namespace

raw_client::raw_client(std::string unix_path) : path_{std::move(unix_path)} { connect(); }

raw_client::raw_client(std::uint16_t port) : port_{port} { connect(); }

raw_client::~raw_client() { disconnect(); }

raw_client::raw_client(raw_client&& other) noexcept
    : path_{std::move(other.path_)},
      port_{other.port_},
      fd_{std::exchange(other.fd_, -1)},
      buffer_{std::move(other.buffer_)} {}

void raw_client::connect() { fd_ = path_.empty() ? connect_tcp(port_) : connect_unix(path_); }

void raw_client::disconnect() noexcept {
    if (fd_ >= 0) {
        ::close(fd_);
        fd_ = -1;
    }
    buffer_.clear();
}

void raw_client::reconnect() {
    disconnect();
    connect();
}

void raw_client::send(const words& line) {
    std::string out = "*" + std::to_string(line.size()) + "\r\n";
    for (const std::string& word : line) {
        out += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }
    const auto deadline = steady::now() + std::chrono::seconds{10};
    for (std::size_t sent = 0; sent < out.size();) {
        await_ready(fd_, POLLOUT, deadline);
        const ssize_t n =
            ::send(fd_, out.data() + sent, out.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            sent += static_cast<std::size_t>(n);
        } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
            fail(std::string{"send: "} + std::strerror(errno));
        }
    }
}

void raw_client::fill(steady::time_point deadline) {
    await_ready(fd_, POLLIN, deadline);
    char chunk[16384];
    const ssize_t n = ::recv(fd_, chunk, sizeof chunk, 0);
    if (n == 0) {
        fail("the server closed the connection");
    }
    if (n < 0 && errno != EINTR) {
        fail(std::string{"recv: "} + std::strerror(errno));
    }
    if (n > 0) {
        buffer_.append(chunk, static_cast<std::size_t>(n));
    }
}

std::string raw_client::line(steady::time_point deadline) {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n")) == std::string::npos) {
        fill(deadline);
    }
    std::string out = buffer_.substr(0, end);
    buffer_.erase(0, end + 2);
    return out;
}

std::string raw_client::bytes(std::size_t count, steady::time_point deadline) {
    while (buffer_.size() < count + 2) {
        fill(deadline);
    }
    std::string out = buffer_.substr(0, count);
    buffer_.erase(0, count + 2);
    return out;
}

reply raw_client::parse(steady::time_point deadline) {
    const std::string head = line(deadline);
    if (head.empty()) {
        fail("an empty line for a reply");
    }
    const std::string rest = head.substr(1);
    reply out;
    switch (head[0]) {
        case '+':
            out.type = reply::kind::status;
            out.text = rest;
            break;
        case '-':
            out.type = reply::kind::error;
            out.text = rest;
            break;
        case ':':
            out.type = reply::kind::integer;
            out.number = std::stoll(rest);
            break;
        case '$':
            if (rest != "-1") {
                out.type = reply::kind::string;
                out.text = bytes(std::stoul(rest), deadline);
            }
            break;
        case '*':
            if (rest != "-1") {
                out.type = reply::kind::array;
                for (auto left = std::stoul(rest); left > 0; --left) {
                    out.items.push_back(parse(deadline));
                }
            }
            break;
        default: fail("not RESP2: " + head);
    }
    return out;
}

reply raw_client::receive(std::chrono::milliseconds limit) { return parse(steady::now() + limit); }

reply raw_client::command(const words& line) {
    send(line);
    return receive();
}

reply raw_client::must(const words& line) {
    reply r = command(line);
    if (r.is_error()) {
        fail(line.front() + ": " + r.text);
    }
    return r;
}

bool raw_client::exists(const std::string& key) { return must({"EXISTS", key}).number == 1; }
std::int64_t raw_client::hlen(const std::string& key) { return must({"HLEN", key}).number; }
std::int64_t raw_client::pttl(const std::string& key) { return must({"PTTL", key}).number; }
std::int64_t raw_client::dbsize() { return must({"DBSIZE"}).number; }

std::optional<std::string> raw_client::get(const std::string& key) {
    reply r = must({"GET", key});
    if (r.is_nil()) {
        return std::nullopt;
    }
    return std::move(r.text);
}

std::map<std::string, std::string> raw_client::hgetall(const std::string& key) {
    const reply r = must({"HGETALL", key});
    std::map<std::string, std::string> out;
    for (std::size_t i = 0; i + 1 < r.items.size(); i += 2) {
        out[r.items[i].text] = r.items[i + 1].text;
    }
    return out;
}

std::vector<std::string> raw_client::channels() {
    std::vector<std::string> out;
    for (reply& item : must({"PUBSUB", "CHANNELS"}).items) {
        out.push_back(std::move(item.text));
    }
    return out;
}

std::int64_t raw_client::subscribers(const std::string& channel) {
    return must({"PUBSUB", "NUMSUB", channel}).items.at(1).number;
}

void raw_client::subscribe(const std::string& channel) { must({"SUBSCRIBE", channel}); }

std::vector<connection_entry> raw_client::connections(const std::string& name) {
    std::vector<connection_entry> out;
    std::istringstream list{must({"CLIENT", "LIST"}).text};
    for (std::string row; std::getline(list, row);) {
        connection_entry entry;
        std::istringstream fields{row};
        for (std::string field; fields >> field;) {
            if (field.starts_with("id=")) {
                entry.id = field.substr(3);
            } else if (field.starts_with("name=")) {
                entry.name = field.substr(5);
            }
        }
        if (entry.name == name || entry.name.starts_with(name + ':')) {
            out.push_back(entry);
        }
    }
    return out;
}

std::size_t raw_client::kill_connections(const std::string& name) {
    const auto all = connections(name);
    for (const connection_entry& entry : all) {
        command({"CLIENT", "KILL", "ID", entry.id});
    }
    return all.size();
}

void raw_client::pause_writes(std::chrono::milliseconds length) {
    must({"CLIENT", "PAUSE", std::to_string(length.count()), "WRITE"});
}

void raw_client::unpause() { must({"CLIENT", "UNPAUSE"}); }

std::uint64_t raw_client::calls(const std::string& name) {
    const std::string text = "\n" + must({"INFO", "commandstats"}).text;
    const std::string head = "\ncmdstat_" + name + ":calls=";
    const auto at = text.find(head);
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + head.size()));
}

std::vector<std::string> raw_client::refused() {
    std::vector<std::string> out;
    for (const reply& entry : must({"ACL", "LOG"}).items) {
        for (std::size_t i = 0; i + 1 < entry.items.size(); i += 2) {
            if (entry.items[i].text == "object") {
                out.push_back(entry.items[i + 1].text);
            }
        }
    }
    return out;
}

void raw_client::reset_calls() { must({"CONFIG", "RESETSTAT"}); }

namespace {
std::string prefixed(const std::string& prefix, const std::string& name) {
    return name.find('{') == std::string::npos ? prefix + ":{" + name + "}" : prefix + ":" + name;
}
}  // namespace

std::string channel_of(const std::string& name) {
    return prefixed("redisson_lock__channel", name);
}

std::string fence_key_of(const std::string& name) { return prefixed("redisson_lock_token", name); }

reply redisson_acquire(raw_client& server, const std::string& name, const std::string& field,
                       std::chrono::milliseconds lease) {
    static const std::string script =
        "local free = redis.call('exists', KEYS[1]) == 0\n"
        "if free or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then\n"
        "  redis.call('hincrby', KEYS[1], ARGV[1], 1)\n"
        "  redis.call('pexpire', KEYS[1], ARGV[2])\n"
        "  return nil\n"
        "end\n"
        "return redis.call('pttl', KEYS[1])";
    return server.must({"EVAL", script, "1", name, field, std::to_string(lease.count())});
}

void redisson_release(raw_client& server, const std::string& name) {
    server.must({"DEL", name});
    server.must({"PUBLISH", channel_of(name), "0"});
}

}  // namespace conch::test
