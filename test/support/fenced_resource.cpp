// SPDX-License-Identifier: BSL-1.0
#include "support/fenced_resource.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace conch::test {
namespace {

constexpr std::size_t most_findings = 20;

std::string milliseconds(duration d) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(d).count()) + " ms";
}

}  // namespace

/// `newer_came`: somebody with a newer fence was here then, so the server had let them in before.
void fenced_resource::judge(const std::string& name, section& earlier, time_point newer_came) {
    if (earlier.judged || earlier.valid_until <= newer_came) {
        return;
    }
    earlier.judged = true;
    // The server confirmed this hold for the last time after this moment, so what it lost earlier
    // can't have been this hold.
    const time_point confirmed = earlier.valid_until - earlier.lease;
    const bool declared = std::any_of(losses_.begin(), losses_.end(), [&](const loss& l) {
        return name.starts_with(l.prefix) && confirmed <= l.to && l.from <= newer_came;
    });
    ++(declared ? report_.declared_overlaps : report_.overlaps);
    if (!declared && findings_.size() < most_findings) {
        findings_.push_back(name + ": the next holder came " +
                            milliseconds(earlier.valid_until - newer_came) +
                            " before the end of a hold");
    }
}

bool fenced_resource::lets_in(const claim& c, const counter& k) const noexcept {
    return c.fence >= k.newest || fences_ == fences::ignored;
}

bool fenced_resource::refuse_stale(const claim& c, counter& k) {
    const auto newer = k.came.upper_bound(c.fence);
    if (lets_in(c, k) || newer == k.came.end()) {
        return false;
    }
    ++report_.refused;
    section& mine = k.open[c.fence];
    mine.valid_until = std::max(mine.valid_until, c.valid_until);
    mine.lease = c.lease;
    // Asked for after the newer one was here.
    report_.fences_backwards += c.valid_until - c.lease > newer->second ? 1 : 0;
    judge(c.name, mine, newer->second);
    return true;
}

fenced_resource::answer fenced_resource::enter(const claim& c, time_point now) {
    counter& k = counters_[c.name];
    ++report_.entered;
    if (!k.came.emplace(c.fence, now).second) {
        ++report_.fences_reused;
        return {false, k.value};
    }
    if (refuse_stale(c, k)) {
        return {false, k.value};
    }
    const auto earlier = k.open.find(k.newest);
    if (earlier != k.open.end() && earlier->second.open) {
        judge(c.name, earlier->second, now);
    }
    k.newest = std::max(k.newest, c.fence);
    k.open[c.fence] = {c.valid_until, c.lease};
    return {true, k.value};
}

fenced_resource::answer fenced_resource::write(const claim& c, std::uint64_t value,
                                               time_point now) {
    counter& k = counters_[c.name];
    if (refuse_stale(c, k)) {
        return {false, k.value};
    }
    const auto came = k.came.find(c.fence);
    if (came == k.came.end() || came->second > now) {
        ++report_.stale_accepted;  // nobody who was let in
        return {false, k.value};
    }
    k.value = value;
    ++report_.written;
    // By the records of who came, not by what the check goes by.
    report_.stale_accepted += came != std::prev(k.came.end()) ? 1 : 0;
    k.open.erase(c.fence);
    return {true, value};
}

void fenced_resource::leave(const claim& c) { counters_[c.name].open.erase(c.fence); }

void fenced_resource::data_lost(const std::string& name_prefix, time_point from, time_point to) {
    losses_.push_back({name_prefix, from, to});
}

resource_report fenced_resource::report() const {
    resource_report out = report_;
    for (const auto& [name, k] : counters_) {
        out.value += k.value;
    }
    return out;
}

}  // namespace conch::test
