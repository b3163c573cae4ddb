// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_RAW_NAMES_HPP
#define CONCH_BENCH_RAW_NAMES_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace conch::bench {

/// What is said about many locks at once, encoded beforehand; the fields are `field_of` of
/// `first_field` and the following numbers.
struct raw_names {
    raw_names(std::string_view prefix, std::size_t count, std::size_t first_field,
              std::string_view lease_ms);

    std::size_t count;
    std::string acquires{};
    std::string releases{};
    std::string subscriptions{};  ///< and an acquire after each
    std::string unsubscriptions{};
};

}  // namespace conch::bench

#endif
