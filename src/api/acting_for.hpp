// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_ACTING_FOR_HPP
#define CONCH_SRC_API_ACTING_FOR_HPP

#include <conch/impl/operation.hpp>

namespace conch::impl {

/// What the client's observer knows of who calls on this thread; null: nothing.
caller_context present_caller(const core_ptr& core) noexcept;

/// While it lives, what this thread begins is called by this caller; null: by nobody that is known.
class acting_for {
public:
    explicit acting_for(caller_context caller) noexcept;
    acting_for(const acting_for&) = delete;
    acting_for& operator=(const acting_for&) = delete;
    ~acting_for();

private:
    const caller_context caller_;
    const caller_context* const before_;
};

}  // namespace conch::impl

#endif
