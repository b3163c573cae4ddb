// SPDX-License-Identifier: BSL-1.0
#include "report.hpp"

#include "statistics.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace conch::bench {

void report::add(std::string_view name, double value, std::string_view unit, int decimals) {
    if (!std::isfinite(value)) {
        add_unknown(name);
        return;
    }
    object_.emplace(name, value);
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    rows_.push_back({std::string{name}, text, std::string{unit}});
}

void report::add_median(std::string_view name, const std::vector<double>& values,
                        std::string_view unit, int decimals) {
    if (values.empty()) {
        add_unknown(name);
    } else {
        add(name, median(values), unit, decimals);
    }
}

void report::add_count(std::string_view name, std::uint64_t value, std::string_view unit) {
    object_.emplace(name, value);
    rows_.push_back({std::string{name}, std::to_string(value), std::string{unit}});
}

void report::add_text(std::string_view name, std::string_view text) {
    object_.emplace(name, text);
    rows_.push_back({std::string{name}, std::string{text}, {}});
}

void report::add_unknown(std::string_view name) {
    object_.emplace(name, nullptr);
    rows_.push_back({std::string{name}, "not measured", {}});
}

void report::add_series(std::string_view name, const std::vector<double>& values) {
    object_.emplace(name, boost::json::array(values.begin(), values.end()));
}

std::string report::table() const {
    std::size_t names = 0, values = 0;
    for (const row& r : rows_) {
        names = std::max(names, r.name.size());
        values = std::max(values, r.value.size());
    }
    std::string out;
    for (const row& r : rows_) {
        out += r.name + std::string(names - r.name.size() + 2 + values - r.value.size(), ' ') +
               r.value + (r.unit.empty() ? "" : ' ' + r.unit) + '\n';
    }
    return out;
}

std::string report::json() const { return boost::json::serialize(object_) + '\n'; }

}  // namespace conch::bench
