// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_BENCH_COMMAND_HPP
#define CONCH_BENCH_COMMAND_HPP

#include "report.hpp"
#include "server.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace conch::bench {

/// Fewer rounds would make a poor median.
inline constexpr double least_rounds = 11;

/// The command line is wrong.
struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// An option with a number.
struct parameter {
    const char* name;
    const char* help;  ///< with the unit
    double fallback;
    double least;
    double most;
    enum class kind { whole, real } type = kind::whole;
};

/// The numbers of one run, each within its range.
class arguments {
public:
    std::size_t count(const std::string& name) const {
        return static_cast<std::size_t>(values_.at(name));
    }
    std::chrono::duration<double> seconds(const std::string& name) const {
        return std::chrono::duration<double>{values_.at(name)};
    }
    std::chrono::nanoseconds nanoseconds(const std::string& name) const {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(seconds(name));
    }

    std::map<std::string, double> values_{};
};

/// What a benchmark can measure with.
enum class server_kind {
    plain,  ///< one server, without TLS
    any,    ///< whatever conch can
};

/// One benchmark.
struct sub_command {
    const char* name;
    const char* summary;  ///< a line
    const char* text;     ///< what is measured, what its limit is, what the figures are
    std::vector<parameter> parameters;
    report (*run)(const server_choice& where, const arguments& how);
    server_kind kind = server_kind::plain;
};

/// Runs it as the words say, and prints what they want. Throws `usage_error`.
void run_command(const sub_command& c, const std::vector<std::string>& words);

}  // namespace conch::bench

#endif
