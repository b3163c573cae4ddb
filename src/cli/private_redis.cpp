// SPDX-License-Identifier: BSL-1.0
#include "cli/private_redis.hpp"

#include "cli/spawn.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace conch::cli {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto start_limit = 10s;
constexpr std::size_t longest_socket_path = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::string_view socket_file = "/redis.sock";
constexpr std::string_view log_file = "/redis.log";
constexpr std::string_view sentinel_file = "/sentinel.conf";

class descriptor {
public:
    explicit descriptor(int fd) noexcept : fd_{fd} {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() { reset(); }
    int get() const noexcept { return fd_; }
    int take() noexcept { return std::exchange(fd_, -1); }
    void reset() noexcept {
        if (fd_ >= 0) {
            ::close(std::exchange(fd_, -1));
        }
    }

private:
    int fd_;
};

[[noreturn]] void fail(int error, const std::string& what) {
    throw std::runtime_error("private redis-server: " + what + ": " +
                             std::generic_category().message(error));
}

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

/// Sends PING; true for any answer but "loading", an error such as NOAUTH too.
bool answers(const std::string& path) {
    const descriptor s{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(path.begin(), path.end(), address.sun_path);
    const auto* raw = reinterpret_cast<const sockaddr*>(&address);
    constexpr std::string_view ping = "PING\r\n";
    if (s.get() < 0 || ::connect(s.get(), raw, sizeof address) != 0 ||
        ::send(s.get(), ping.data(), ping.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(ping.size())) {
        return false;
    }
    pollfd readable{s.get(), POLLIN, 0};
    if (::poll(&readable, 1, 1000) != 1) {
        return false;
    }
    char reply[64];
    const auto n = ::recv(s.get(), reply, sizeof reply, 0);
    if (n <= 0) {
        return false;
    }
    const std::string_view text{reply, static_cast<std::size_t>(n)};
    return text.starts_with("+PONG") || (text.starts_with('-') && !text.starts_with("-LOADING"));
}

std::string percent_encoded(std::string_view path) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80 && (std::isalnum(byte) || std::strchr("/-._~", c))) {
            out += c;
        } else {
            out += '%';
            out += digits[byte >> 4U];
            out += digits[byte & 15U];
        }
    }
    return out;
}

}  // namespace

private_redis::private_redis() : private_redis{options{}} {}

private_redis::private_redis(options o) : options_{std::move(o)} {
    try {
        make_folder();
        write_configuration();
        if (options_.tcp) {
            choose_port();
        }
        start();
    } catch (...) {
        clean_up();
        throw;
    }
}

private_redis::~private_redis() { clean_up(); }

void private_redis::clean_up() noexcept {
    kill();
    if (port_guard_ >= 0) {
        ::close(std::exchange(port_guard_, -1));
    }
    if (!folder_.empty()) {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
}

void private_redis::make_folder() {
    const char* const set = std::getenv("TMPDIR");
    std::string base = set != nullptr && *set == '/' ? set : "/tmp";
    constexpr std::string_view pattern = "/conch-redis-XXXXXX";
    // A unix socket's address is short; a deep TMPDIR does not fit into it.
    if (base.size() + pattern.size() + socket_file.size() > longest_socket_path) {
        base = "/tmp";
    }
    std::string path = base.append(pattern);
    if (::mkdtemp(path.data()) == nullptr) {
        fail(errno, "cannot make a temporary folder " + path + " (see $TMPDIR)");
    }
    folder_ = path;
    socket_path_ = folder_ + std::string{socket_file};
}

// Both sockets set SO_REUSEADDR and this one never listens, so Linux lets the server bind the port
// beside it, and gives it to nobody else: not while the server starts, nor between kill and start.
void private_redis::choose_port() {
    descriptor s{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const int on = 1;
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    if (s.get() < 0 || ::setsockopt(s.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        ::bind(s.get(), raw, size) != 0 || ::getsockname(s.get(), raw, &size) != 0) {
        fail(errno, "no free port on 127.0.0.1");
    }
    port_ = ntohs(address.sin_port);
    port_guard_ = s.take();
}

void private_redis::start() {
    if (pid_ > 0) {
        throw std::logic_error("private redis-server: started while it runs");
    }
    launch();
    try {
        wait_until_ready();
    } catch (...) {
        kill();
        throw;
    }
}

void private_redis::write_configuration() {
    if (options_.sentinel.empty()) {
        return;
    }
    std::ofstream out{folder_ + std::string{sentinel_file}};
    out << options_.sentinel;
    if (!out.flush()) {
        fail(errno, "cannot write into " + folder_);
    }
}

void private_redis::launch() {
    std::vector<std::string> words{"redis-server"};
    if (!options_.sentinel.empty()) {
        words.push_back(folder_ + std::string{sentinel_file});
        words.push_back("--sentinel");
    }
    const std::vector<std::string> usual{"--port",       std::to_string(port_),
                                         "--bind",       "127.0.0.1",
                                         "--unixsocket", socket_path_,
                                         "--dir",        folder_,
                                         "--save",       "",
                                         "--appendonly", "no",
                                         "--daemonize",  "no"};
    words.insert(words.end(), usual.begin(), usual.end());
    words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
    const std::vector<char*> argv = exec_words(words);

    const std::string log_path = folder_ + std::string{log_file};
    const descriptor null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
    const descriptor log{
        ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600)};
    if (null.get() < 0 || log.get() < 0) {
        fail(errno, "cannot prepare " + folder_);
    }
    const auto prepare = [in = null.get(), out = log.get()]() noexcept {
        ::setpgid(0, 0);
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        ::dup2(in, STDIN_FILENO);
        ::dup2(out, STDOUT_FILENO);
        ::dup2(out, STDERR_FILENO);
        ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
    };
    spawned child = spawn(argv[0], argv.data(), environ, prepare);
    if (child.exec_error == ENOENT) {
        child = spawn("valkey-server", argv.data(), environ, prepare);
    }
    pid_ = child.pid;
    if (child.fork_error != 0) {
        fail(child.fork_error, "cannot start a process");
    }
    if (child.exec_error == ENOENT) {
        throw std::runtime_error(
            "neither redis-server nor valkey-server is installed and in $PATH (on Debian: apt-get "
            "install redis-server)");
    }
    if (child.exec_error != 0) {
        fail(child.exec_error, "cannot run redis-server");
    }
}

void private_redis::wait_until_ready() {
    const auto deadline = clock::now() + start_limit;
    for (auto pause = 1ms; !answers(socket_path_); pause = std::min(pause * 2, 50ms)) {
        if (::waitpid(pid_, nullptr, WNOHANG) != 0) {
            pid_ = -1;
            throw std::runtime_error("private redis-server: ended at once; its log:\n" + log());
        }
        if (clock::now() > deadline) {
            throw std::runtime_error("private redis-server: no answer within 10 s; its log:\n" +
                                     log());
        }
        std::this_thread::sleep_for(pause);
    }
}

std::string private_redis::log() const {
    std::ifstream in{folder_ + std::string{log_file}};
    return {std::istreambuf_iterator<char>{in}, std::istreambuf_iterator<char>{}};
}

std::string private_redis::url() const { return "unix://" + percent_encoded(socket_path_); }

std::string private_redis::tcp_url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

void private_redis::kill() {
    if (pid_ <= 0) {
        return;
    }
    const pid_t child = std::exchange(pid_, -1);
    ::kill(child, SIGKILL);
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void private_redis::freeze() {
    if (pid_ > 0) {
        ::kill(pid_, SIGSTOP);
        // Not stopped before the kernel says so. The report is left, so a second call returns too.
        siginfo_t report{};
        while (::waitid(P_PID, static_cast<id_t>(pid_), &report, WSTOPPED | WEXITED | WNOWAIT) <
                   0 &&
               errno == EINTR) {
        }
    }
}

void private_redis::thaw() {
    if (pid_ > 0) {
        ::kill(pid_, SIGCONT);
    }
}

}  // namespace conch::cli
