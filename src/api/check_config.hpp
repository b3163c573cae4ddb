// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_API_CHECK_CONFIG_HPP
#define CONCH_SRC_API_CHECK_CONFIG_HPP

#include <conch/config.hpp>

namespace conch::impl {

/// Throws `std::invalid_argument`, naming the setting that is out of its range.
void check_config(const config& c);

}  // namespace conch::impl

#endif
