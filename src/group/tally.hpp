// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_GROUP_TALLY_HPP
#define CONCH_SRC_GROUP_TALLY_HPP

#include "core/timer_heap.hpp"
#include "group/task.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace conch::group {

/// An operation of a group that counts what its members answer to it.
class tally : public task {
public:
    enum class kind {
        majority,  ///< done when one has confirmed it, or none can any more
        all        ///< done when all have answered; well if a majority has
    };

    tally(context& ctx, void* tag, kind k);
    ~tally() override;

    /// Who has not answered by then ends it, with `late` for an error.
    void expect_by(time_point at, error_code late);
    /// One more is asked: the id of the question.
    std::uint64_t expect(std::size_t member);
    /// All have been asked.
    void look();
    void end(error_code ec);
    void cancel(error_code why) override { end(why); }

protected:
    /// A member has; what it says of an error is counted anyway.
    virtual void answered(std::size_t /*member*/, reply&) {}
    /// A majority has answered: the result is wanted.
    virtual void conclude() {}
    virtual void over() {}

private:
    void told(std::size_t member, std::uint64_t, reply& r);
    static void on_late(void* self);

    const kind kind_;
    std::size_t open_ = 0;
    std::size_t confirmed_ = 0;
    error_code why_{};   // of those that did not confirm it
    error_code late_{};  // if there is none
    core::timer late_at_;
};

}  // namespace conch::group

#endif
