// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_DRIVER_ENGINE_REPORT_HPP
#define CONCH_SRC_DRIVER_ENGINE_REPORT_HPP

#include "engine/engine.hpp"

#include <conch/stats.hpp>

#include <mutex>
#include <string>

namespace conch::impl {

/// What any thread may ask of an engine, which works on a strand: as it was after its last turn.
class engine_report {
public:
    stats counters() const { return copy_of(counters_); }
    std::string last_words() const { return copy_of(words_); }
    std::string last_deadlock() const { return copy_of(deadlock_); }

    void renew(const engine::lock_engine& e) {
        const std::lock_guard guard{mutex_};
        e.copy_counters(counters_);
        if (words_ != e.last_words()) {
            words_ = e.last_words();
        }
        if (deadlock_ != e.last_deadlock()) {
            deadlock_ = e.last_deadlock();
        }
    }

private:
    template <typename T>
    T copy_of(const T& member) const {
        const std::lock_guard guard{mutex_};
        return member;
    }

    mutable std::mutex mutex_{};
    stats counters_{};
    std::string words_{};
    std::string deadlock_{};
};

}  // namespace conch::impl

#endif
