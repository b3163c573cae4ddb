// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_HOLD_HOLDS_FIXTURE_HPP
#define CONCH_TEST_UNIT_HOLD_HOLDS_FIXTURE_HPP

#include "wait/slots.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace conch::test {

/// What an engine has below its requests, connected to nothing.
struct holds_fixture : testing::Test {
    ~holds_fixture() override {
        servers.close();
        slots.close();
    }

    static impl::spec_ptr exclusive(std::string_view name, const mutex_options& o = {}) {
        return impl::lock_spec::make(protocol::mutex_protocol, name, o);
    }
    static impl::spec_ptr reader(std::string_view name) {
        return impl::lock_spec::make(protocol::shared_read_protocol, name, {});
    }
    static impl::spec_ptr writer(std::string_view name) {
        return impl::lock_spec::make(protocol::shared_write_protocol, name, {});
    }

    /// Fires what is due at `then`.
    void go_on_to(time_point then) {
        env.now = then;
        servers.set_now(then);
        while (core::timer* const due = env.timers.pop_due(then)) {
            due->fire(due->owner);
        }
    }

    config settings{};
    core::environment env{settings, "c", 1};
    lock::completions done{};
    topology::servers servers{
        settings,
        env.timers,
        env.jitter,
        env.telemetry.log,
        env.telemetry.counters,
        env.now,
        {nullptr, [](void*, wire::link&) {}, [](void*, wire::link&, errc) {}, [](void*) {}}};
    lock::slots slots{env, done, servers, "c"};
};

}  // namespace conch::test

#endif
