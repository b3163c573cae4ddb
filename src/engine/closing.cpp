// SPDX-License-Identifier: BSL-1.0
// How an engine comes to its end: callers leave, holders get the time of a drain, the rest is lost.
#include "core/time.hpp"
#include "engine/engine.hpp"

#include <vector>

namespace conch::engine {

void lock_engine::shutdown(duration drain) {
    const time_point end = core::after(env_.now, drain);
    if (!env_.closing) {
        env_.closing = true;
        turn_away();
        close_at(end, drain);
    } else if (drain_.armed() && end < drain_.at) {
        close_at(end, drain);
    }
    if (drain == duration::zero()) {
        lose_all();
    }
}

void lock_engine::turn_away() {
    slots_.give_up_all(errc::client_closed);
    limiters_.give_up_all(errc::client_closed);
    counters_.turn_away();
    queries_.give_up_all(errc::client_closed);
    lookouts_.give_up_all(errc::client_closed);
    questions_.give_up_all(errc::client_closed);
}

void lock_engine::close_at(time_point end, duration drain) {
    env_.timers.set(drain_, end);
    slots_.keeping.close_at(end, drain / 10);
    slots_.names.for_each_acquisition([&](lock::acquisition& a) {
        if (a.now == lock::acquisition::phase::held) {
            slots_.keeping.notify_closing(a);
        }
    });
}

void lock_engine::on_drained(void* self) { static_cast<lock_engine*>(self)->lose_all(); }

void lock_engine::lose_all() {
    env_.timers.cancel(drain_);
    std::vector<lock::acquisition*> held;
    slots_.names.for_each_acquisition([&](lock::acquisition& a) {
        if (a.now == lock::acquisition::phase::held) {
            held.push_back(&a);
        }
    });
    for (lock::acquisition* a : held) {
        slots_.keeping.lose(*a, errc::client_closed);
    }
}

void lock_engine::close() {
    shutdown();
    env_.awake.run();
    slots_.names.for_each_acquisition([&](lock::acquisition& a) {
        if (a.releasing) {
            done_.complete(a.releasing->unlocking, errc::client_closed);
        }
    });
    env_.telemetry.repeated.close();
    servers_.close();
    slots_.close();
    limiters_.retire_idle();
    counters_.close();
}

}  // namespace conch::engine
