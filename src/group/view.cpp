// SPDX-License-Identifier: BSL-1.0
#include "group/view.hpp"

#include "group/majority.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace conch::group {
namespace {

time_point noted(const impl::hold_view& v) noexcept {
    return time_point{duration{v.valid_until.load(std::memory_order_acquire)}};
}

}  // namespace

class view::guard {
public:
    explicit guard(const view& v) noexcept : of_{v} { of_.how().lock(of_); }
    ~guard() { of_.how().unlock(of_); }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

private:
    const view& of_;
};

const view::kind& view::how() const noexcept {
    return static_cast<const kind&>(composite_view::of);
}

time_point view::until(const composite_view& v) noexcept {
    const auto& self = static_cast<const view&>(v);
    const guard g{self};
    return self.ended_ ? noted(self) : self.alive();
}

time_point view::alive() const noexcept {
    std::array<time_point, most_members> ends;
    std::size_t n = 0;
    for (const impl::view_ptr& part : parts) {
        if (part && part->lost.load(std::memory_order_acquire) == 0) {
            ends[n++] = noted(*part);
        }
    }
    return std::min(ahead_until({ends.data(), n}, needed), most_);
}

void view::limit(time_point most) noexcept {
    const guard g{*this};
    most_ = most;
}

void view::note_progress(composite_view& v, time_point at) noexcept {
    auto& self = static_cast<view&>(v);
    const guard g{self};
    self.reported.raise(at);
    for (const impl::view_ptr& part : self.parts) {
        if (part) {
            impl::note_progress(*part, at);
        }
    }
}

impl::view_ptr view::put(std::size_t member, impl::view_ptr hold) noexcept {
    const guard g{*this};
    core::report_time* const its = hold ? impl::report_of(*hold) : nullptr;
    if (its && reported.get() != time_point{}) {
        its->set(reported.get());
    }
    return std::exchange(parts[member], std::move(hold));
}

void view::end(time_point most) noexcept {
    const guard g{*this};
    if (ended_) {
        return;
    }
    // Where no majority is left to say it, it was what they last said.
    const time_point last = alive();
    const time_point told = std::min(last != time_point{} ? last : noted(*this), most);
    valid_until.store(told.time_since_epoch().count(), std::memory_order_release);
    ended_ = true;
}

}  // namespace conch::group
