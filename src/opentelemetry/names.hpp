// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_OPENTELEMETRY_NAMES_HPP
#define CONCH_SRC_OPENTELEMETRY_NAMES_HPP

#include <conch/clock.hpp>

#include <opentelemetry/common/attribute_value.h>
#include <opentelemetry/nostd/string_view.h>

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

namespace conch::otel {

namespace api = ::opentelemetry;

/// Of the tracer and of the meter.
inline constexpr const char* scope = "conch";

using attribute = std::pair<api::nostd::string_view, api::common::AttributeValue>;
using attributes = std::vector<attribute>;

inline api::nostd::string_view text(std::string_view s) noexcept { return {s.data(), s.size()}; }

inline double seconds(duration d) noexcept { return std::chrono::duration<double>{d}.count(); }

}  // namespace conch::otel

#endif
