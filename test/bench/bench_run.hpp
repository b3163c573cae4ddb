// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_BENCH_BENCH_RUN_HPP
#define CONCH_TEST_BENCH_BENCH_RUN_HPP

#include "support/program.hpp"

#include <boost/json/object.hpp>

#include <string>
#include <vector>

namespace conch::test {

using words = std::vector<std::string>;

/// A benchmark, in sizes that take a moment.
struct small_bench {
    std::string name;
    words options;
};

inline void PrintTo(const small_bench& b, std::ostream* stream) { *stream << b.name; }

inline const std::vector<small_bench>& small_benches() {
    static const std::vector<small_bench> all{
        {"uncontended", {"--coroutines", "4", "--seconds", "0.01"}},
        {"calls", {"--coroutines", "4", "--seconds", "0.01"}},
        {"local", {"--coroutines", "4", "--seconds", "0.01"}},
        {"contended", {"--processes", "2", "--coroutines", "2", "--seconds", "0.02"}},
        {"handoff", {"--passes", "10"}},
        {"holds", {"--holds", "150", "--lease", "0.3"}},
        {"names", {"--names", "20"}},
        {"reconnect", {"--holds", "20"}},
        {"instructions", {"--coroutines", "2", "--pairs", "10"}},
    };
    return all;
}

inline ended run_bench(const words& arguments) {
    words line{CONCH_BENCH_PATH};
    line.insert(line.end(), arguments.begin(), arguments.end());
    program p{line};
    return p.finish(std::chrono::seconds{270});
}

/// Its words, with more.
inline words line_of(const small_bench& b, const words& more) {
    words line{b.name};
    line.insert(line.end(), b.options.begin(), b.options.end());
    line.insert(line.end(), more.begin(), more.end());
    return line;
}

/// The object that this line prints; the same for one of `small_benches`. Throws if that is not
/// all, or the status is not 0.
boost::json::object figures_of(words line);
boost::json::object figures_of(const std::string& name, const words& more = {});

}  // namespace conch::test

#endif
