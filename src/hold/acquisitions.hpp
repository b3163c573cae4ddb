// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_ACQUISITIONS_HPP
#define CONCH_SRC_HOLD_ACQUISITIONS_HPP

#include "hold/acquisition.hpp"

#include <boost/intrusive/list.hpp>

#include <iterator>

namespace conch::lock {

/// The acquisitions of one name that are not forgotten. Those that hold it stand first: one alone,
/// or any number of readers or of holders of permits, the last one to come before the others.
class acquisitions {
public:
    bool empty() const noexcept { return all_.empty(); }
    bool only_one() const noexcept { return !empty() && std::next(all_.begin()) == all_.end(); }
    acquisition& first() noexcept { return all_.front(); }
    bool held() const noexcept { return !empty() && all_.front().holds; }
    /// Whether another may hold the name beside those that do: for permits, the server knows.
    bool admit(bool shared) const noexcept {
        return !held() || (shared && protocol::is_shared(*all_.front().spec)) ||
               protocol::takes_permits(*all_.front().spec);
    }
    /// The exclusive holder; null if there is none.
    acquisition* alone() noexcept { return held() && !admit(true) ? &all_.front() : nullptr; }
    /// The server has answered it most lately; null if no reader holds the name.
    acquisition* last_reader() noexcept {
        return held() && protocol::is_shared(*all_.front().spec) ? &all_.front() : nullptr;
    }

    void add(acquisition& a) noexcept { all_.push_back(a); }
    void remove(acquisition& a) noexcept { all_.erase(all_.iterator_to(a)); }
    /// It holds the name from now on.
    void begin_hold(acquisition& a) noexcept {
        a.holds = true;
        if (&all_.front() != &a) {
            remove(a);
            all_.push_front(a);
        }
    }
    /// False if it does not hold the name.
    bool end_hold(acquisition& a) noexcept {
        if (!a.holds) {
            return false;
        }
        a.holds = false;
        if (&all_.back() != &a) {
            remove(a);
            all_.push_back(a);
        }
        return true;
    }

    template <typename Function>
    void for_each_holder(Function f) {
        for (auto it = all_.begin(); it != all_.end() && it->holds; ++it) {
            f(*it);
        }
    }
    /// Each may be removed when its turn comes.
    template <typename Function>
    void for_each(Function f) {
        for (auto it = all_.begin(); it != all_.end();) {
            f(*it++);
        }
    }

private:
    boost::intrusive::list<acquisition, boost::intrusive::constant_time_size<false>> all_{};
};

}  // namespace conch::lock

#endif
