// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_FAULT_FIXTURE_HPP
#define CONCH_TEST_INTEGRATION_FAULT_FIXTURE_HPP

#include "support/attempt.hpp"
#include "support/code_of.hpp"
#include "support/fenced_resource.hpp"
#include "support/proxy.hpp"
#include "support/redis_test.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace conch::test {

/// A fault that comes and goes while clients work.
struct ordeal {
    std::function<void()> strike;        ///< it begins
    std::function<void()> heal = [] {};  ///< it ends
    /// How long it lasts, at least one turn of the event loop.
    std::chrono::milliseconds length{50};
    int times = 4;
    /// Errors that a user is told to expect of it, but not any more when all were served after the
    /// last `heal()`.
    std::set<error_code> told{};
    /// The server forgets: holds are lost, and two may believe to hold at a time.
    bool loses_data = false;
};

/// What became of it.
struct endured {
    std::uint64_t losses = 0;    ///< holds that were said to be lost
    std::uint64_t refusals = 0;  ///< acquires that failed with one of the errors to expect
    stats of_a{};
    stats of_b{};
    resource_report resource{};

    std::uint64_t connection_losses() const {
        return of_a.connection_losses + of_b.connection_losses;
    }
    duration longest_wait() const { return std::max(of_a.longest_wait, of_b.longest_wait); }
};

/// Clients behind a wire that can be damaged, before a server that can be.
class fault_test : public redis_test {
protected:
    fault_test() : fault_test(std::vector<std::string>{}) {}
    /// Further arguments of the server.
    explicit fault_test(std::vector<std::string> arguments)
        : redis_test{{.arguments = std::move(arguments)}} {}

    /// Waiters hear of a release by its message or not at all, so one that was forgotten would wait
    /// for longer than any of these tests takes.
    config through(const std::string& client_name = "through") const {
        config c = push_only(client_name);
        c.unix_path = wire.socket_path();
        c.operation_timeout = 30s;
        c.ping_interval = 2s;  // who only listens has nothing else to find a dead connection by
        return c;
    }

    /// Two clients behind the wire increment counters under two fenced locks, while the fault comes
    /// and goes. Expects: every worker is served after each `heal()`, long before any lease ends;
    /// no error but those that are declared; no overlap, no lost update; nothing left.
    endured endure(const ordeal& o);

    /// All of a client's state is gone, and no key but those of fencing tokens is left.
    void expect_nothing_left(const std::vector<const client*>& clients);

    proxy wire{server.socket_path()};
};

}  // namespace conch::test

#endif
