// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_COMPLETIONS_HPP
#define CONCH_SRC_HOLD_COMPLETIONS_HPP

#include "core/hold_view.hpp"
#include "hold/pending.hpp"

#include <conch/error.hpp>

#include <cstddef>
#include <vector>

namespace conch::lock {

/// The end of one caller's operation, for the driver to deliver.
struct completion {
    void* tag = nullptr;
    error_code ec{};
    impl::view_ptr view{};
    bool flag = false;  ///< of a refused acquire: no server was there to be asked
};

/// Where callers' operations end, each exactly once.
class completions {
public:
    /// One more is to be completed.
    void admit() noexcept { ++unanswered_; }
    /// Queues the completion of `p`; no-op if it was completed before.
    void complete(pending& p, error_code ec, impl::view_ptr view = {}, bool flag = false);
    /// The same at once, for a caller whose operation needs no object; no-op if there is none.
    void answer(caller from, error_code ec, impl::view_ptr view = {}, bool flag = false);
    /// Queues the completion of one that was not admitted.
    void refuse(caller from, errc why) { queued_.push_back({from.tag, why, {}, false}); }

    /// How many were admitted and not completed.
    std::size_t unanswered() const noexcept { return unanswered_; }
    /// For the driver to take.
    std::vector<completion>& queued() noexcept { return queued_; }

private:
    std::vector<completion> queued_{};
    std::size_t unanswered_ = 0;
};

}  // namespace conch::lock

#endif
