// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SOAK_SCENE_HPP
#define CONCH_TEST_SOAK_SCENE_HPP

#include "cli/private_redis.hpp"
#include "soak/judge.hpp"
#include "soak/options.hpp"
#include "support/program.hpp"
#include "support/proxy.hpp"
#include "support/raw_client.hpp"

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace conch::soak {

/// A server, a wire to it for each client process, and our own way around them.
struct stage {
    stage(bool is_durable, unsigned processes);

    std::string name() const { return durable ? "durable" : "forgetful"; }
    void set(const std::string& setting, const std::string& value);
    void start();
    /// Keys of locks, and channels with subscribers.
    std::vector<std::string> leftovers();

    bool durable;
    cli::private_redis server;
    std::vector<std::unique_ptr<test::proxy>> wires{};
    test::raw_client raw{server.socket_path()};
    std::string usual_maxclients;
};

/// All that faults strike.
class scene {
public:
    explicit scene(const options& o);

    void start_worker(std::size_t index);
    /// SIGKILL; one that had died before is a finding.
    void kill_worker(std::size_t index);
    /// The children end their work; one that doesn't come to its end, or failed, is a finding.
    void finish();

    const options& settings;
    test::temporary_folder folder{};
    judge bench{folder.path()};
    stage durable{true, settings.processes};
    stage forgetful{false, settings.processes};
    std::vector<std::unique_ptr<test::program>> workers{};
    std::mt19937_64 random;
    std::vector<std::string> findings{};  ///< what is wrong with client processes, one line each

private:
    void found(std::string what);

    unsigned starts_ = 0;
};

}  // namespace conch::soak

#endif
