// SPDX-License-Identifier: BSL-1.0
// The engine, at a server, a sentinel or a cluster whose answers have any type: each command of the
// handshake, of Sentinel, of Cluster and of the locks. The input is: what is configured, then for
// each command whether it is answered well, and if not, with what.
#include "engine/engine.hpp"
#include "fuzz/byte_source.hpp"
#include "fuzz/fuzz_check.hpp"
#include "support/scripted_peer.hpp"
#include "support/typed_answer.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace conch;
using namespace std::chrono_literals;
using conch::fuzz::byte_source;

constexpr duration step = 50ms;
constexpr duration patience = 2s;  // of each caller
constexpr std::size_t most_commands = 20'000;

config settings_of(std::size_t where, byte_source& in) {
    config c;
    c.operation_timeout = c.response_timeout = c.connect_timeout = patience / 2;
    c.ping_interval = in.below(2) == 0 ? duration{1h} : duration{300ms};
    c.database = in.below(4) == 3 && where != 2 ? 1 : 0;
    if (where == 1) {
        c.sentinel = sentinel_options{.master = "m", .addresses = {{"s1", 26379}, {"s2", 26379}}};
    } else if (where == 2) {
        c.cluster = cluster_options{.addresses = {{"n1", 7000}, {"n2", 7000}}};
    }
    return c;
}

/// Callers, the driver, and the servers.
class world {
public:
    world(std::size_t where, byte_source& in)
        : in_{in}, settings_{settings_of(where, in)}, engine_{settings_, "c", 1} {
        turn([&] {
            for (const bool fenced : {false, true}) {
                for (std::size_t i = 0; i < 2; ++i) {
                    engine_.acquire(locks_[fenced ? 1 : 0], {.wait = patience}, i == 1, next());
                }
            }
            engine_.acquire(plain_, {.wait = patience}, false, next());
            engine_.acquire(durable_, {.wait = patience}, false, next());
            engine_.acquire(readers_, {.wait = patience}, false, next());
            engine_.acquire(readers_, {.wait = patience}, true, next());
            engine_.acquire(writers_, {.wait = patience}, false, next());
            engine_.acquire(fair_, {.wait = patience}, false, next());
            engine_.acquire(leased_, {.wait = patience}, false, next());
            engine_.status(leased_, {}, next(), &leased_status_);
            engine_.change_permits(leased_count_, lock::counter_change::kind::look_total, 0, next(),
                                   &number_);
            engine_.status(writers_, {.clients = true}, next(), &shared_);
            engine_.status(locks_[1], {}, next(), &status_);
            engine_.status(locks_[0], {.clients = true}, next(), &located_);
            engine_.force_unlock(locks_[0], next());
            engine_.permits(rate_, 1, patience, false, next(), &verdict_);
            engine_.acquire_permits(semaphore_, 1, patience, false, next());
            engine_.acquire_permits(semaphore_, 2, {}, true, next());
            engine_.acquire_permits(latch_, 1, patience, false, next());
            engine_.change_permits(latch_, lock::counter_change::kind::count_down, 1, next());
            for (const auto change :
                 {lock::counter_change::kind::add, lock::counter_change::kind::drain,
                  lock::counter_change::kind::look}) {
                engine_.change_permits(semaphore_, change, 1, next(), &number_);
            }
        });
    }

    void play(duration d) {
        for (const time_point end = now_ + d; now_ < end; now_ += step) {
            turn([] {});
            for (std::size_t i = 0; i < engine_.links(); ++i) {
                serve(i);
            }
        }
    }
    /// What its callers got is given back or watched until it is lost.
    void use_holds() {
        turn([&] {
            bool unlock = false;
            for (auto& o : operations_) {
                if (o.view) {
                    engine_.extend(o.view, 20s, next());
                    engine_.wait_lost(o.view, {}, next());
                    if (std::exchange(unlock, !unlock)) {
                        engine_.unlock(o.view, next());
                    }
                }
            }
        });
    }
    void expect_ended(std::size_t first) const {
        for (std::size_t i = first; i < operations_.size(); ++i) {
            FUZZ_CHECK(operations_[i].completions == 1);
        }
        FUZZ_CHECK(commands_ < most_commands);
        FUZZ_CHECK(engine_.belongings().input_room < (8u << 20));
    }
    void end() {
        engine_.close();
        collect();
        expect_ended(0);
    }

private:
    struct operation {
        lock::pending* running = nullptr;
        int completions = 0;
        impl::view_ptr view{};
    };
    struct connection {
        std::uint64_t number = 0;
        std::string unread{};
        std::string answers{};
    };

    lock::caller next() {
        operation& o = operations_.emplace_back();
        return {&o, &o.running};
    }
    template <typename F>
    void turn(F&& inputs) {
        engine_.begin_turn(now_);
        inputs();
        engine_.end_turn();
        collect();
    }
    void collect() {
        for (lock::completion& c : engine_.completions()) {
            auto& o = *static_cast<operation*>(c.tag);
            FUZZ_CHECK(++o.completions == 1);
            o.view = std::move(c.view);
        }
        engine_.completions().clear();
    }
    void serve(std::size_t i) {
        connection& c = connections_[i];
        if (engine_.wanted_connection(i) != c.number) {
            c = {.number = engine_.wanted_connection(i)};
            if (c.number != 0) {
                turn([&] { engine_.connected(i); });
            }
        }
        while (c.number != 0 && engine_.wanted_connection(i) == c.number && answer(c, i)) {
        }
    }
    /// Whether there was anything to answer.
    bool answer(connection& c, std::size_t i) {
        while (engine_.has_output(i)) {
            engine_.stage(c.unread, i);
        }
        while (const auto command = test::take_command(c.unread)) {
            ++commands_;
            c.answers += in_.below(4) == 3 ? test::typed_answer(in_)
                                           : redis_.answer(i, *command).bytes;
        }
        if (c.answers.empty()) {
            return false;
        }
        const auto room = engine_.input(i).prepare(c.answers.size());
        std::copy(c.answers.begin(), c.answers.end(), room.begin());
        engine_.input(i).commit(c.answers.size());
        c.answers.clear();
        turn([&] { engine_.received(i); });
        for (int n = 0; engine_.halted(i); ++n) {
            FUZZ_CHECK(n < 10'000);
            turn([] {});
        }
        return commands_ < most_commands;
    }

    byte_source& in_;
    const config settings_;
    const std::array<impl::spec_ptr, 2> locks_{
        impl::lock_spec::make(conch::protocol::mutex_protocol, "a", {}),
        impl::lock_spec::make(conch::protocol::mutex_protocol, "b", {.fenced = true})};
    const impl::spec_ptr plain_ =
        impl::lock_spec::make(conch::protocol::value_lock_protocol, "c", {});
    const impl::spec_ptr durable_ = impl::lock_spec::make(
        conch::protocol::mutex_protocol, "d", {.replicas = {.at_least = 1, .within = 2ms}});
    const impl::spec_ptr readers_ =
        impl::lock_spec::make(conch::protocol::shared_read_protocol, "e", {});
    const impl::spec_ptr writers_ =
        impl::lock_spec::make(conch::protocol::shared_write_protocol, "f", {});
    const impl::spec_ptr fair_ = impl::lock_spec::make(conch::protocol::fair_protocol, "g", {});
    const impl::spec_ptr leased_ =
        impl::lock_spec::make(conch::protocol::permits_protocol, "h", {}, 3);
    const impl::count_spec_ptr leased_count_{
        new impl::count_spec{impl::count_spec::kind::permits, "h", false}};
    const impl::rate_spec_ptr rate_{
        new impl::rate_spec{"r", {5, 1s}, rate_algorithm::sliding_log}};
    const impl::count_spec_ptr semaphore_{
        new impl::count_spec{impl::count_spec::kind::semaphore, "s", false}};
    const impl::count_spec_ptr latch_{
        new impl::count_spec{impl::count_spec::kind::latch, "l", false}};
    std::int64_t number_ = 0;
    lock_status status_{};
    lock_status leased_status_{};
    lock_status located_{};
    lock_status shared_{};
    rate_verdict verdict_{};
    std::deque<operation> operations_{};
    std::map<std::size_t, connection> connections_{};
    std::size_t commands_ = 0;
    time_point now_{1h};
    test::canned_redis redis_{};
    engine::lock_engine engine_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    byte_source in{data, size};
    world w{in.below(3), in};
    w.play(4 * patience);
    w.expect_ended(0);
    w.use_holds();
    w.play(40s);  // longer than the lease that is extended to
    w.end();
    return 0;
}
