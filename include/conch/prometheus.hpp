// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_PROMETHEUS_HPP
#define CONCH_PROMETHEUS_HPP

#include <conch/metrics.hpp>

#include <memory>

namespace prometheus {
class Collectable;
}

namespace conch {

/// What a `metrics` counts, for prometheus-cpp's `Exposer` or its push gateway: the page on metrics
/// lists names and labels. In the library `conch::prometheus`, which is there where prometheus-cpp
/// is: `find_package(conch COMPONENTS prometheus)`.
///
/// Throws `std::invalid_argument` if `of` is null.
///
/// Thread safety: safe, also while clients count. Lifetime: keeps the `metrics`; an `Exposer` does
/// not keep what this gives, so the caller must.
std::shared_ptr<prometheus::Collectable> prometheus_collectable(std::shared_ptr<const metrics> of);

}  // namespace conch

#endif
