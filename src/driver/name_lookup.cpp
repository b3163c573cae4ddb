// SPDX-License-Identifier: BSL-1.0
#include "driver/name_lookup.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

namespace conch::impl {
namespace {

namespace asio = boost::asio;

[[noreturn]] void throw_errno() {
    throw system_error{error_code{errno, boost::system::system_category()}};
}

/// No signal of the program is handled on a thread that begins meanwhile.
class signals_blocked {
public:
    signals_blocked() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, &before_);
    }
    ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    signals_blocked(const signals_blocked&) = delete;
    signals_blocked& operator=(const signals_blocked&) = delete;

private:
    sigset_t before_{};
};

/// The C library finds no host for want of a descriptor, too, and does not tell which it was.
error_code want_of_descriptors() noexcept {
    const int one = ::eventfd(0, EFD_CLOEXEC);
    if (one < 0) {
        return {errno, boost::system::system_category()};
    }
    ::close(one);
    return {};
}

}  // namespace

struct name_lookup::search {
    search() {
        if (signal < 0) {
            throw_errno();
        }
    }
    ~search() { ::close(signal); }
    search(const search&) = delete;
    search& operator=(const search&) = delete;

    void run(const std::string& host) noexcept;

    const int signal = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    std::mutex mutex{};
    bool over = false;
    error_code ec{};
    std::vector<asio::ip::address> addresses{};  // read by others once it is over
};

void name_lookup::search::run(const std::string& host) noexcept {
    error_code failed;
    std::vector<asio::ip::address> found;
    try {
        asio::io_context own{1};
        asio::ip::tcp::resolver resolver{own};
        for (const auto& entry : resolver.resolve(host, "", failed)) {
            found.push_back(entry.endpoint().address());
        }
        if (const error_code want = want_of_descriptors(); failed && want) {
            failed = want;
        }
    } catch (...) {
        failed = asio::error::no_memory;
    }
    {
        const std::lock_guard guard{mutex};
        ec = failed;
        addresses = std::move(found);
        over = true;
    }
    constexpr std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(signal, &one, sizeof one);
}

name_lookup::name_lookup(const std::string& host) : search_{std::make_shared<search>()} {
    const signals_blocked here;
    try {
        std::thread{[shared = search_, host] { shared->run(host); }}.detach();
    } catch (const std::system_error& e) {
        throw system_error{error_code{e.code().value(), boost::system::system_category()}};
    }
}

bool name_lookup::over() const {
    const std::lock_guard guard{search_->mutex};
    return search_->over;
}

error_code name_lookup::error() const {
    const std::lock_guard guard{search_->mutex};
    return search_->ec;
}

const std::vector<asio::ip::address>& name_lookup::addresses() const {
    return search_->addresses;
}

void name_lookup::assign_to(signal& s) const {
    const int copy = ::fcntl(search_->signal, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) {
        throw_errno();
    }
    error_code bad;
    s.assign(copy, bad);
    if (bad) {
        ::close(copy);
        throw system_error{bad};
    }
}

std::shared_ptr<const name_lookup> name_lookups::start(const std::string& host) {
    std::erase_if(running_, [](const auto& entry) { return entry.second->over(); });
    auto& running = running_[host];
    if (!running) {
        try {
            running = std::make_shared<const name_lookup>(host);
        } catch (...) {
            running_.erase(host);
            throw;
        }
    }
    return running;
}

}  // namespace conch::impl
