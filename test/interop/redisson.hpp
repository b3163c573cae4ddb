// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEROP_REDISSON_HPP
#define CONCH_TEST_INTEROP_REDISSON_HPP

#include "support/child_process.hpp"

#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace conch::test {

/// What Redisson answered: a value, or the class of an exception and its message.
struct answer {
    bool ok = false;
    std::string text{};
};

/// How a word of a request is written.
inline std::string to_word(std::string text) { return text; }
inline std::string to_word(std::chrono::milliseconds time) { return std::to_string(time.count()); }
inline std::string to_word(int number) { return std::to_string(number); }

/// A JVM with a Redisson client, behind the lines of Driver.java. The destructor kills it, the
/// kernel does when the thread that made it ends. Thread safety: safe from any thread.
class redisson {
public:
    /// `folder`: what build.sh made. `watchdog`: Redisson's lockWatchdogTimeout. Returns when the
    /// client is connected; throws if that takes too long.
    redisson(const std::string& folder, const std::string& url, std::chrono::milliseconds watchdog);
    ~redisson();
    redisson(const redisson&) = delete;
    redisson& operator=(const redisson&) = delete;

    /// Asks one of its threads, made by its name; a thread answers one request after the other.
    /// The future throws if the JVM ends first.
    template <typename... Words>
    std::future<answer> start(const std::string& thread, const Words&... words) {
        return send(thread + (... + (' ' + to_word(words))));
    }

    /// Ends the JVM without a word to the server, and returns when it is gone.
    void crash();

private:
    std::future<answer> send(const std::string& request);
    void read_answers();
    void take(const std::string& line);
    void abandon_all();

    int in_ = -1;
    int out_ = -1;
    std::mutex guard_{};
    std::map<std::uint64_t, std::promise<answer>> pending_{};
    std::uint64_t last_id_ = 0;
    bool ended_ = false;
    child_process jvm_;
    std::thread reader_{};
};

}  // namespace conch::test

#endif
