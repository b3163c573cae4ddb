// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CORE_TIMER_HEAP_HPP
#define CONCH_SRC_CORE_TIMER_HEAP_HPP

#include "core/time.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace conch::core {

/// A time that something waits for. Base, or part, of that; not copied while armed.
struct alarm {
    alarm() = default;
    alarm(const alarm&) = delete;
    alarm& operator=(const alarm&) = delete;

    bool armed() const noexcept { return position != unarmed; }

    static constexpr std::uint32_t unarmed = std::numeric_limits<std::uint32_t>::max();

    time_point at{};
    std::uint32_t position = unarmed;
};

/// Something to be done at a time.
struct timer : alarm {
    using function = void (*)(void* owner);

    timer(void* o, function f) noexcept : owner{o}, fire{f} {}

    void* owner;
    function fire;
};

/// The armed alarms, soonest first: a binary heap of pointers, each alarm knowing its place.
class alarm_heap {
public:
    /// Arms, or moves.
    void set(alarm& t, time_point at);
    /// Disarms; no-op if not armed.
    void cancel(alarm& t) noexcept;

    bool empty() const noexcept { return heap_.empty(); }
    std::size_t size() const noexcept { return heap_.size(); }
    /// `never` if none is armed.
    time_point next() const noexcept { return heap_.empty() ? never : heap_.front()->at; }

    /// Disarms and returns the soonest alarm that is due by `now`, or null.
    alarm* pop_due(time_point now) noexcept;

private:
    void place(std::size_t i, alarm* t) noexcept;
    void up(std::size_t i, alarm* t) noexcept;
    void down(std::size_t i, alarm* t) noexcept;

    std::vector<alarm*> heap_;
};

/// The same for alarms that are bases of one type.
template <typename T>
class heap_of : public alarm_heap {
public:
    void set(T& t, time_point at) { alarm_heap::set(t, at); }
    void cancel(T& t) noexcept { alarm_heap::cancel(t); }
    T* pop_due(time_point now) noexcept { return static_cast<T*>(alarm_heap::pop_due(now)); }
};

using timer_heap = heap_of<timer>;

}  // namespace conch::core

#endif
