// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_GROUP_VIEW_HPP
#define CONCH_SRC_GROUP_VIEW_HPP

#include "hold/composite_view.hpp"

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <cstddef>
#include <vector>

namespace conch::group {

class holding;

/// A group's hold as the user's threads see it: the holds of its members, which their clients keep
/// up to date. Who may be seen by other threads guards it (`kind::lock`); the group alone writes.
struct view : impl::composite_view {
    struct kind : impl::composite_view::kind {
        void (*lock)(const view& v) noexcept;
        void (*unlock)(const view& v) noexcept;
    };

    view(const kind& k, std::size_t members) : composite_view{k}, parts(members) {}

    /// The earliest end of the longest-lived ones, as many as are needed, of those that are not
    /// lost; the epoch if there are fewer. From any thread; for `kind::until`.
    static time_point until(const composite_view& v) noexcept;

    /// The holder reported progress: to each member that there is, and to those that join.
    static void note_progress(composite_view& v, time_point at) noexcept;

    /// The hold of a member from now on, or none; returns what it was before.
    impl::view_ptr put(std::size_t member, impl::view_ptr hold) noexcept;
    /// It lasts no longer than until then, whatever its members say.
    void limit(time_point most) noexcept;
    /// It ended: what was told of it stays so. `most`: it can't have lasted longer.
    void end(time_point most) noexcept;

    holding* of = nullptr;   ///< null once it ended
    std::size_t needed = 0;  ///< of its members, from when it is made
    std::vector<impl::view_ptr> parts;

protected:
    ~view() = default;

private:
    class guard;

    const kind& how() const noexcept;
    time_point alive() const noexcept;

    time_point most_ = time_point::max();
    bool ended_ = false;
};

using own_view_ptr = boost::intrusive_ptr<view>;

}  // namespace conch::group

#endif
