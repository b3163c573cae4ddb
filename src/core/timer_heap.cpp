// SPDX-License-Identifier: BSL-1.0
#include "core/timer_heap.hpp"

namespace conch::core {

void alarm_heap::set(alarm& t, time_point at) {
    if (!t.armed()) {
        if (heap_.size() == heap_.capacity()) {
            heap_.reserve(heap_.size() + heap_.size() / 4 + 16);  // doubled, half may stay unused
        }
        heap_.push_back(&t);
        t.at = at;
        up(heap_.size() - 1, &t);
        return;
    }
    const bool sooner = at < t.at;
    t.at = at;
    if (sooner) {
        up(t.position, &t);
    } else {
        down(t.position, &t);
    }
}

void alarm_heap::cancel(alarm& t) noexcept {
    if (!t.armed()) {
        return;
    }
    const std::size_t hole = t.position;
    t.position = alarm::unarmed;
    alarm* const last = heap_.back();
    heap_.pop_back();
    if (last == &t) {
        return;
    }
    if (hole > 0 && last->at < heap_[(hole - 1) / 2]->at) {
        up(hole, last);
    } else {
        down(hole, last);
    }
}

alarm* alarm_heap::pop_due(time_point now) noexcept {
    if (heap_.empty() || heap_.front()->at > now) {
        return nullptr;
    }
    alarm* const due = heap_.front();
    cancel(*due);
    return due;
}

void alarm_heap::place(std::size_t i, alarm* t) noexcept {
    heap_[i] = t;
    t->position = static_cast<std::uint32_t>(i);
}

void alarm_heap::up(std::size_t i, alarm* t) noexcept {
    while (i > 0) {
        const std::size_t parent = (i - 1) / 2;
        if (heap_[parent]->at <= t->at) {
            break;
        }
        place(i, heap_[parent]);
        i = parent;
    }
    place(i, t);
}

void alarm_heap::down(std::size_t i, alarm* t) noexcept {
    for (;;) {
        std::size_t child = 2 * i + 1;
        if (child >= heap_.size()) {
            break;
        }
        if (child + 1 < heap_.size() && heap_[child + 1]->at < heap_[child]->at) {
            ++child;
        }
        if (t->at <= heap_[child]->at) {
            break;
        }
        place(i, heap_[child]);
        i = child;
    }
    place(i, t);
}

}  // namespace conch::core
