// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_REPORT_HPP
#define CONCH_BENCH_REPORT_HPP

#include <boost/json/object.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace conch::bench {

/// The figures of one run: a table for people, a JSON object for programs.
class report {
public:
    /// `unit` and `decimals` are for the table alone.
    void add(std::string_view name, double value, std::string_view unit = {}, int decimals = 1);
    /// The median of these; where there is none, it could not be measured.
    void add_median(std::string_view name, const std::vector<double>& values,
                    std::string_view unit = {}, int decimals = 1);
    void add_count(std::string_view name, std::uint64_t value, std::string_view unit = {});
    void add_text(std::string_view name, std::string_view text);
    /// What could not be measured: null in the object, never zero.
    void add_unknown(std::string_view name);
    /// For programs alone: no row of the table.
    void add_series(std::string_view name, const std::vector<double>& values);

    std::string table() const;
    std::string json() const;

private:
    struct row {
        std::string name;
        std::string value;
        std::string unit;
    };

    boost::json::object object_{};
    std::vector<row> rows_{};
};

}  // namespace conch::bench

#endif
