// SPDX-License-Identifier: BSL-1.0
#include "sim/mutants/run_mutants.hpp"

#include "mutants.hpp"
#include "sim/redis/lua_host.hpp"
#include "sim/simulation.hpp"
#include "wire/script.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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
[[noreturn]] void play(std::size_t which, std::uint64_t first, std::uint64_t count, int to) {
    std::FILE* out = ::fdopen(to, "w");
    std::freopen("/dev/null", "w", stderr);  // the engine's own last words
    if (which != none) {
        choose(which);
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        std::fprintf(out, "%llu\n", static_cast<unsigned long long>(i + 1));
        std::fflush(out);
        ::alarm(30);  // an endless loop is a failure, too
        simulation s{first + i};
        const outcome o = s.run();
        if (!o.violations.empty()) {
            std::fprintf(out, "%s\n", o.violations.front().c_str());
            std::fflush(out);
            std::_Exit(1);
        }
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

fate try_mutant(std::size_t which, std::uint64_t first, std::uint64_t count) {
    int ends[2];
    if (::pipe(ends) != 0) {
        return {};
    }
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        play(which, first, count, ends[1]);
    }
    ::close(ends[1]);
    return read_fate(ends[0], child);
}

/// Of "seed N: ...": the one that must fail, where few do; 0 if none is named.
std::uint64_t expected_seed(const mutants::mutant& m) {
    constexpr std::string_view word{"seed "};
    return std::string_view{m.survives}.starts_with(word)
               ? std::strtoull(m.survives + word.size(), nullptr, 10)
               : 0;
}

/// Fails where it must: in the one seed that is named, which is clean as long as no rule is broken,
/// or within some.
bool as_expected(const fate& f, const mutants::mutant& m, std::uint64_t seed) {
    if (seed != 0) {
        return f.died && !try_mutant(none, seed, 1).died;
    }
    return f.died == (*m.survives == '\0');
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
        const std::uint64_t seed = expected_seed(m);
        const fate f = seed != 0 ? try_mutant(i, seed, 1) : try_mutant(i, first, count);
        const bool unexpected = !as_expected(f, m, seed);
        wrong += unexpected ? 1 : 0;
        std::fflush(stdout);
        std::printf("%-34s %s %6llu seeds  %s%s\n", m.name,
                    f.died ? "fails after " : "survives    ",
                    static_cast<unsigned long long>(f.seeds), f.died ? f.of.c_str() : m.survives,
                    unexpected ? "  UNEXPECTED" : "");
    }
    std::printf("%zu mutants, %zu not as expected\n", all.size(), wrong);
    return wrong == 0 ? 0 : 1;
}

}  // namespace conch::sim
