// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_REDISSON_THREAD_HPP
#define CONCH_TEST_SIM_REDISSON_THREAD_HPP

#include "sim/world.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace conch::sim {

class simulation;

/// What a client sends for these words.
std::string command_of(const std::vector<std::string>& words);

/// A thread of another process that takes fair locks by Redisson's RFairLock: it stands in the same
/// lines as our users, for a while, and then gives up; it may die in line or with a lock.
class redisson_thread {
public:
    redisson_thread(simulation& all, std::uint64_t index, std::uint64_t seed);
    redisson_thread(const redisson_thread&) = delete;
    redisson_thread& operator=(const redisson_thread&) = delete;

    void start();
    /// Leaves what it has, and wants nothing more.
    void stop();
    /// Something has come on its connection.
    void told(std::uint64_t connection);
    /// This one waits for this lock, and hears of it.
    bool listens(std::size_t name, const std::string& as) const {
        return listens_ && name == name_ && as == field();
    }

private:
    enum class phase : std::uint8_t { idle, waiting, holding };

    void plan(instant when);
    void act(std::uint64_t generation, std::uint64_t);
    void begin();
    void try_lock();
    void unlock();
    void give_up();
    void rest();
    void die();
    bool may_die();
    void hang_up();
    /// The server's answer in its own bytes; empty if there is none.
    std::string run(std::string_view script, const std::vector<std::string>& keys,
                    const std::vector<std::string>& args);
    std::string ask(const std::vector<std::string>& words);
    std::string field() const;
    std::string channel() const;
    std::string line() const;
    std::string scores() const;
    std::string now_ms() const;
    bool listens_to_part() const;
    instant round_trip();

    simulation& all_;
    const std::uint64_t index_;
    dice chance_;
    std::uint64_t number_ = 1;  // of the thread: each that dies is followed by another
    std::uint64_t generation_ = 0;
    std::uint64_t connection_ = 0;  // 0: none
    phase now_ = phase::idle;
    bool listens_ = false;
    bool served_ = false;  // the server may have it in line
    std::size_t name_ = 0;
    std::int64_t lease_ms_ = 0;
    std::int64_t wait_ms_ = 0;
    instant deadline_ = 0;
};

}  // namespace conch::sim

#endif
