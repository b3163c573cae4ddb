// SPDX-License-Identifier: BSL-1.0
#include "sim/mutants/run_mutants.hpp"

#include "mutants.hpp"
#include "sim/check/determinism.hpp"
#include "sim/redis/lua_host.hpp"
#include "wire/script.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

namespace conch::sim {
namespace {

constexpr std::span<const mutants::mutant> all{mutants::all};

/// How a mutant's process ended.
struct fate {
    std::uint64_t seeds = 0;  ///< that it played
    bool died = false;
    std::string of{};
    double seconds = 0;
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
    ::waitpid(child, &status, 0);
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
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        play_all(which, server, first, count, ends[1]);
    }
    ::close(ends[1]);
    fate f = read_fate(ends[0], child);
    f.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return f;
}

/// What mutants.txt expects of a mutant.
struct expectation {
    bool fails = true;
    std::uint64_t seed = 0;         ///< the first in which it does, where few do; 0: none is named
    std::string_view because = {};  ///< it survives, or so few fail
};

expectation expected_of(const mutants::mutant& m) {
    constexpr std::string_view word{"seed "};
    const std::string_view all_of_it{m.survives};
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
    std::printf("%6.1f s  %-37s %-24s %s%s\n", f.seconds, m.name, how.c_str(), why.c_str(),
                unexpected ? "  UNEXPECTED" : "");
    std::fflush(stdout);
}

}  // namespace

bool choose_mutant(std::string_view name) {
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].name == name) {
            choose(i);
            return true;
        }
    }
    return false;
}

int run_mutants(std::uint64_t first, std::uint64_t count) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const mutants::mutant& m = all[i];
        const expectation e = expected_of(m);
        const std::uint64_t from = e.seed != 0 ? e.seed : first;
        const fate f = try_mutant(i, server_of(m), from, e.seed != 0 ? 1 : count);
        const bool unexpected = !as_expected(f, e, server_of(m), from);
        wrong += unexpected ? 1 : 0;
        print_report(m, f, e, unexpected);
    }
    std::printf("%zu mutants, %zu not as expected\n", all.size(), wrong);
    return wrong == 0 ? 0 : 1;
}

}  // namespace conch::sim
