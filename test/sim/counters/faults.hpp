// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_COUNTERS_FAULTS_HPP
#define CONCH_TEST_SIM_COUNTERS_FAULTS_HPP

#include "sim/client_node.hpp"
#include "sim/network.hpp"
#include "sim/scenario.hpp"
#include "sim/server_node.hpp"
#include "sim/world.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace conch::sim::counters {

/// Where faults happen.
class stage {
public:
    virtual world& the_world() noexcept = 0;
    virtual const scenario& how() const noexcept = 0;
    virtual server_node& server() noexcept = 0;
    virtual network& net() noexcept = 0;
    virtual std::vector<std::unique_ptr<client_node>>& clients() noexcept = 0;
    virtual std::size_t names() const noexcept = 0;
    virtual std::string channel(std::size_t name) const = 0;
    virtual std::uint16_t hash_slot(std::size_t name) const = 0;
    virtual void replace_client(std::uint64_t client, bool heard, effect* e) = 0;
    virtual effect& attempt(fault f) = 0;

protected:
    ~stage() = default;
};

/// It can happen where counters are.
bool knows(fault f) noexcept;

/// Lets the faults of a scenario happen, one after the other.
class fault_injector {
public:
    explicit fault_injector(stage& s);

    void start();
    /// No more faults: all that lasts is over.
    void heal();

private:
    void next(std::uint64_t, std::uint64_t);
    void happen(fault f);
    void on_link(fault f, std::uint64_t client, effect* e);
    void on_process(fault f, bool heard, effect* e);
    void refuse(fault f, effect* e);
    void end_refusal(std::uint64_t, std::uint64_t);
    bool alone() const noexcept;
    instant until();

    stage& all_;
    std::vector<fault> kinds_{};
    bool over_ = false;
};

}  // namespace conch::sim::counters

#endif
