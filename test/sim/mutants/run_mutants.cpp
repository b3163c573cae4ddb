// SPDX-License-Identifier: BSL-1.0
#include "sim/mutants/run_mutants.hpp"

#include "mutants.hpp"
#include "sim/check/determinism.hpp"
#include "sim/redis/lua_host.hpp"
#include "wire/script.hpp"

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
#include <utility>
#include <vector>

namespace conch::sim {
namespace {

constexpr std::span<const mutants::mutant> all{mutants::all};

/// Its place wasn't found in the sources.
bool is_lost(const mutants::mutant& m) { return *m.lost != '\0'; }

/// How a mutant's process ended.
struct fate {
    std::uint64_t seeds = 0;  ///< that it played
    bool died = false;
    std::string of{};
    double seconds = 0;  ///< of a CPU
};

void choose(std::size_t which) {
    mutants::active = static_cast<int>(which);
    for (const mutants::script& s : mutants::scripts) {
        for (std::size_t id = 0; s.mutant == mutants::active && id < wire::script_count; ++id) {
            const wire::script& original = wire::get_script(static_cast<wire::script_id>(id));
            if (original.name == s.name) {
                std::string problem;
                lua_host::instance().load(original.body, &problem);
                lua_host::instance().replace(original.sha1, s.text);
            }
        }
    }
}

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
    return read_fate(ends[0], child);
}

/// What mutants.txt expects of a mutant.
struct expectation {
    bool fails = true;
    std::uint64_t seed = 0;         ///< the first in which it does, where few do; 0: none is named
    std::string_view because = {};  ///< it survives, or so few fail
    bool rare = false;              ///< now and then one fails, and another after each change
};

expectation expected_of(const mutants::mutant& m) {
    constexpr std::string_view word{"seed "};
    const std::string_view all_of_it{m.survives};
    if (all_of_it.starts_with("rare: ")) {
        return {.because = all_of_it, .rare = true};
    }
    if (!all_of_it.starts_with(word)) {
        return {.fails = all_of_it.empty(), .because = all_of_it};
    }
    char* end = nullptr;
    const std::uint64_t seed = std::strtoull(m.survives + word.size(), &end, 10);
    return {.seed = seed, .because = end + std::string_view{": "}.size()};
}

deployment server_of(const mutants::mutant& m) {
    return deployment_named(m.server).value_or(deployment::alone);
}

/// A seed shows the mutant only if it is clean as long as no rule is broken.
bool as_expected(const fate& f, const expectation& e, deployment server, std::uint64_t first) {
    return f.died == e.fails && (!f.died || !try_mutant(none, server, first + f.seeds - 1, 1).died);
}

void print_report(const mutants::mutant& m, const fate& f, const expectation& e, bool unexpected) {
    const std::string how = !f.died       ? "survives"
                            : e.seed != 0 ? "fails in seed " + std::to_string(e.seed)
                                          : "fails after " + std::to_string(f.seeds) + " seeds";
    std::string why = f.of;
    if (!e.because.empty()) {
        const std::string because{e.because};
        why = f.died ? why + " (" + because + ")" : because;
    }
    std::printf("%6.1f s  %-34s %-24s %s%s\n", f.seconds, m.name, how.c_str(), why.c_str(),
                unexpected ? "  UNEXPECTED" : "");
    std::fflush(stdout);
}

/// Who is expected to survive proves little by it: a seed that notices comes early, as a rule.
constexpr std::uint64_t fewer = 8;

/// The seeds to play: from which one, and how many.
std::pair<std::uint64_t, std::uint64_t> seeds_for(const expectation& e, std::uint64_t first,
                                                  std::uint64_t count) {
    if (e.seed != 0) {
        return {e.seed, 1};
    }
    return {first, e.fails ? count : count / fewer};
}

/// Whether it was as expected.
bool try_and_report(std::size_t which, std::uint64_t first, std::uint64_t count) {
    const mutants::mutant& m = all[which];
    const expectation e = expected_of(m);
    if (e.rare) {
        std::printf("         %-34s %-24s %s\n", m.name, "not run", m.survives);
        return true;
    }
    const auto [from, how_many] = seeds_for(e, first, count);
    const fate f = try_mutant(which, server_of(m), from, how_many);
    const bool expected = as_expected(f, e, server_of(m), from);
    print_report(m, f, e, !expected);
    return expected;
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

bool choose_mutant(std::string_view name) {
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].name == name && !is_lost(all[i])) {
            choose(i);
            return true;
        }
    }
    return false;
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
