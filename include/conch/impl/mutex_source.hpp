// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_MUTEX_SOURCE_HPP
#define CONCH_IMPL_MUTEX_SOURCE_HPP

#include <conch/client.hpp>
#include <conch/mutex.hpp>

#include <string_view>

namespace conch::impl {

/// Makes mutexes of a client that may be elsewhere by then.
class mutex_source {
public:
    explicit mutex_source(const client& redis) noexcept;
    /// Throws `std::invalid_argument` for a bad name.
    mutex named(std::string_view name) const;

private:
    core_ptr core_;
};

}  // namespace conch::impl

#endif
