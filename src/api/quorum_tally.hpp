// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_QUORUM_TALLY_HPP
#define CONCH_SRC_API_QUORUM_TALLY_HPP

#include "api/quorum_task.hpp"
#include "core/timer_heap.hpp"

#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <memory>

namespace conch::impl {

/// An operation of a quorum that counts what its members answer to it.
class quorum_tally : public quorum_task {
public:
    enum class kind {
        majority,  ///< done when one has confirmed it, or none can any more
        all        ///< done when all have answered; well if a majority has
    };

    static std::shared_ptr<quorum_tally> start(const std::shared_ptr<quorum_core>& core,
                                               operation& op, kind k);
    quorum_tally(const std::shared_ptr<quorum_core>& core, operation& op, kind k);
    ~quorum_tally() override;

    /// Who has not answered by then ends it, with `late` for an error.
    void expect_by(time_point at, error_code late);
    void expect_one() noexcept { ++open_; }
    void told(error_code ec);
    /// All have been asked.
    void look();
    void end(error_code ec);
    void cancel() override;

protected:
    /// A majority has answered: the result is wanted.
    virtual void conclude() {}
    virtual void over() {}

private:
    static void on_late(void* self);

    const kind kind_;
    std::size_t open_ = 0;
    std::size_t confirmed_ = 0;
    error_code why_{};   // the last error
    error_code late_{};  // if there is none
    core::timer late_at_;
};

}  // namespace conch::impl

#endif
