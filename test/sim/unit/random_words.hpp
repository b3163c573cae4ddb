// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_UNIT_RANDOM_WORDS_HPP
#define CONCH_TEST_SIM_UNIT_RANDOM_WORDS_HPP

#include "sim/world.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace conch::sim::test {

/// Words of commands: so few that commands meet each other, and some of them odd.
class random_words {
public:
    using words = std::vector<std::string>;

    explicit random_words(std::uint64_t seed) : chance_{seed} {}

    static const words& keys() {
        static const words all{"k0",      "k1",   "k2",   "k3",    "token",
                               "waiters", "text", "fair", "queue", "times"};
        return all;
    }

    bool once_in(std::uint64_t n) { return chance_.once_in(n); }
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(chance_.below(n)); }
    std::string one_of(const words& w) { return w[below(w.size())]; }
    std::string key() { return keys()[below(4)]; }
    /// Mostly the one that has the right type, so that there is something in it.
    std::string key_of(std::size_t type) { return below(4) == 0 ? key() : keys()[type]; }
    std::string field() { return "f" + std::to_string(below(4)); }
    /// Of one of them a lock without TTL can't be told from data.
    static const words& holders() {
        static const words all{"client:0", "5c1e0a8e-0000-4000-8000-000000000001:1",
                               "5c1e0a8e-0000-4000-8000-000000000001:2"};
        return all;
    }
    std::string holder() { return holders()[below(3)]; }
    /// Where scripts tell what they did. Each waiter of a fair lock has a channel of its own.
    static words channels() {
        words all{"channel", "other", "channel:leader"};
        for (const std::string& one : holders()) {
            all.push_back("channel:" + one);
        }
        return all;
    }
    std::string channel() { return one_of(channels()); }
    /// How a script tells what it did.
    std::string verb() { return one_of({"publish", "spublish"}); }
    std::string number() {
        static const words odd{"0",
                               "-1",
                               "7",
                               "abc",
                               "",
                               "1.5",
                               "9223372036854775807",
                               " 3",
                               "03",
                               "-9223372036854775808",
                               "99999999999999999999"};
        return once_in(3) ? odd[below(odd.size())] : std::to_string(below(20));
    }
    /// Long enough that it can't pass during the test, or odd.
    std::string ttl() {
        // None is so short that it ends between two commands.
        static const words odd{"0",      "-1",    "abc", "", "61000.5", "9223372036854775807",
                               " 80000", "060000"};
        return once_in(4) ? odd[below(odd.size())] : std::to_string(60 + below(40)) + "000";
    }
    /// Of a waiter of a fair lock. A client has no duration of more than 2^63 ns.
    std::string place() {
        const std::string ms = ttl();
        return ms == "9223372036854775807" ? "9223372036854" : ms;
    }

    /// Who sends these hears all that scripts tell, by either verb.
    static std::vector<words> subscriptions() {
        std::vector<words> all;
        for (const std::string& one : channels()) {
            all.push_back({"SUBSCRIBE", one});
            all.push_back({"SSUBSCRIBE", one});
        }
        return all;
    }

private:
    dice chance_;
};

}  // namespace conch::sim::test

#endif
