// SPDX-License-Identifier: BSL-1.0
#include "sim/mutants/run_mutants.hpp"

#include "mutant_table.hpp"
#include "sim/check/determinism.hpp"
#include "sim/mutants/choose.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace conch::sim {
namespace {

using mutants::expected;

constexpr std::span<const mutants::mutant> all{mutants::all};

/// How a mutant's process ended.
struct fate {
    std::uint64_t seeds = 0;  ///< that it played
    std::uint64_t last = 0;   ///< of them
    bool died = false;
    std::string of{};
    double seconds = 0;  ///< of a CPU
};

/// In place of a mutant's number: no rule is broken.
constexpr std::size_t none = all.size();

/// In the child: a line for each seed, and at last what was violated.
[[noreturn]] void play_all(std::size_t which, deployment server, std::uint64_t first,
                           std::uint64_t count, int to) {
    std::FILE* out = ::fdopen(to, "w");
    std::freopen("/dev/null", "w", stderr);  // the engine's own last words
    if (which != none) {
        choose(which);
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        std::fprintf(out, "%llu\n", static_cast<unsigned long long>(i + 1));
        std::fflush(out);
        ::alarm(30);  // an endless loop is a failure, too
        play(first + i, server, false, [out](const outcome& o) {
            if (!o.violations.empty()) {
                std::fprintf(out, "%s\n", o.violations.front().c_str());
                std::fflush(out);
                std::_Exit(1);
            }
        });
    }
    std::_Exit(0);
}

fate read_fate(int from, pid_t child) {
    fate f;
    std::FILE* in = ::fdopen(from, "r");
    char line[512];
    while (std::fgets(line, sizeof line, in)) {
        char* end = nullptr;
        const std::uint64_t n = std::strtoull(line, &end, 10);
        if (end != line && *end == '\n') {
            f.seeds = n;
        } else {
            f.of.assign(line, std::string_view{line}.find(':'));
        }
    }
    std::fclose(in);
    int status = 0;
    ::rusage used{};
    ::wait4(child, &status, 0, &used);
    f.seconds = static_cast<double>(used.ru_utime.tv_sec) +
                static_cast<double>(used.ru_utime.tv_usec) * 1e-6;
    f.died = !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    if (f.died && f.of.empty()) {
        f.of = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "an endless loop"
                                                                  : "an invariant of the engine";
    }
    return f;
}

fate try_mutant(std::size_t which, deployment server, std::uint64_t first, std::uint64_t count) {
    int ends[2];
    if (::pipe(ends) != 0) {
        return {};
    }
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        play_all(which, server, first, count, ends[1]);
    }
    ::close(ends[1]);
    fate f = read_fate(ends[0], child);
    f.last = first + f.seeds - 1;
    return f;
}

deployment server_of(const mutants::mutant& m) {
    return deployment_named(m.server).value_or(deployment::alone);
}

/// A seed shows the mutant only if it is clean as long as no rule is broken.
bool as_expected(const fate& f, const mutants::mutant& m) {
    return f.died == (m.outcome == expected::fails) &&
           (!f.died || !try_mutant(none, server_of(m), f.last, 1).died);
}

void print_report(const mutants::mutant& m, const fate& f, bool unexpected) {
    const std::string how = !f.died        ? "survives"
                            : f.seeds == 1 ? "fails in seed " + std::to_string(f.last)
                                           : "fails after " + std::to_string(f.seeds) + " seeds";
    std::string why = f.of;
    const std::string because{m.because};
    if (!because.empty()) {
        why = f.died ? why + " (" + because + ")" : because;
    }
    std::printf("%6.1f s  %-34s %-24s %s%s\n", f.seconds, m.name, how.c_str(), why.c_str(),
                unexpected ? "  UNEXPECTED" : "");
    std::fflush(stdout);
}

/// Who is expected to survive proves little by it: few seeds will do.
constexpr std::uint64_t enough_to_survive = 100;

fate play_mutant(std::size_t which, std::uint64_t first, std::uint64_t count) {
    const mutants::mutant& m = all[which];
    if (m.seed != 0) {
        return try_mutant(which, server_of(m), m.seed, 1);
    }
    if (m.first != 0) {
        const fate f = try_mutant(which, server_of(m), m.first, 1);
        if (f.died) {
            return f;
        }
    }
    return try_mutant(which, server_of(m), first,
                      m.outcome == expected::fails ? count : std::min(count, enough_to_survive));
}

/// Whether it was as expected.
bool try_and_report(std::size_t which, std::uint64_t first, std::uint64_t count) {
    const mutants::mutant& m = all[which];
    if (m.outcome == expected::rare) {
        std::printf("         %-34s %-24s rare: conch_mutant_tests runs %s\n", m.name, "not run",
                    m.test);
        return true;
    }
    const fate f = play_mutant(which, first, count);
    const bool is_expected = as_expected(f, m);
    print_report(m, f, !is_expected);
    return is_expected;
}

}  // namespace

std::optional<part> part_named(std::string_view text) {
    part p;
    const std::string whole{text};
    int end = 0;
    const bool read = std::sscanf(whole.c_str(), "%zu/%zu%n", &p.number, &p.count, &end) == 2;
    const bool fits = read && static_cast<std::size_t>(end) == whole.size() && p.number > 0 &&
                      p.number <= p.count;
    return fits ? std::optional{p} : std::nullopt;
}

int run_mutants(std::uint64_t first, std::uint64_t count, part of) {
    std::size_t tried = 0;
    std::size_t wrong = 0;
    std::vector<const mutants::mutant*> lost;
    for (std::size_t i = of.number - 1; i < all.size(); i += of.count) {
        if (is_lost(all[i])) {
            lost.push_back(&all[i]);
        } else {
            ++tried;
            wrong += try_and_report(i, first, count) ? 0 : 1;
        }
    }
    for (const mutants::mutant* m : lost) {
        std::printf("%s is LOST: %s\n", m->name, m->lost);
    }
    std::printf("%zu mutants, %zu not as expected, %zu lost\n", tried, wrong, lost.size());
    return wrong == 0 && lost.empty() ? 0 : 1;
}

}  // namespace conch::sim
