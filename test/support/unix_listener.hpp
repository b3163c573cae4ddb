// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_UNIX_LISTENER_HPP
#define CONCH_TEST_SUPPORT_UNIX_LISTENER_HPP

#include <string>

namespace conch::test {

/// A listening, non-blocking unix socket in a temporary folder of its own.
class unix_listener {
public:
    unix_listener();
    ~unix_listener();
    unix_listener(const unix_listener&) = delete;
    unix_listener& operator=(const unix_listener&) = delete;

    int fd() const noexcept { return fd_; }
    const std::string& path() const noexcept { return path_; }

    /// A new connection, non-blocking; -1 if none waits.
    int accept() const noexcept;

private:
    std::string folder_{};
    std::string path_{};
    int fd_ = -1;
};

/// Wakes a thread out of poll().
class wake_up {
public:
    wake_up();
    ~wake_up();
    wake_up(const wake_up&) = delete;
    wake_up& operator=(const wake_up&) = delete;

    int fd() const noexcept { return fd_; }
    void ring() const noexcept;
    void drain() const noexcept;

private:
    int fd_ = -1;
};

}  // namespace conch::test

#endif
