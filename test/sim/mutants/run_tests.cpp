// SPDX-License-Identifier: BSL-1.0
// conch_mutant_tests: for each mutant of mutants.txt that names a file of tests, those tests with
// that rule broken. One of them must fail, or not end. With no rule broken, all of them pass.
//
//     conch_mutant_tests            all; a line for each
//     conch_mutant_tests NAME...    those mutants, with all that the tests say
#include "mutant_table.hpp"
#include "sim/mutants/choose.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace {

using conch::mutants::mutant;
constexpr std::span<const mutant> all{conch::mutants::all};

/// A test takes milliseconds, those of all scripts a second.
constexpr unsigned patience_s = 20;

/// Tells the name of each test before it begins, and ends the process with the first that fails.
class announcer : public ::testing::EmptyTestEventListener {
public:
    explicit announcer(int to) : to_{::fdopen(to, "w")} {}
    void OnTestStart(const ::testing::TestInfo& t) override {
        std::fprintf(to_, "%s.%s\n", t.test_suite_name(), t.name());
        std::fflush(to_);
        ::alarm(patience_s);
    }
    void OnTestEnd(const ::testing::TestInfo& t) override {
        if (t.result()->Failed()) {
            std::fflush(stdout);
            std::_Exit(1);
        }
    }

private:
    std::FILE* to_;
};

/// The tests that stand in this file.
std::string tests_of(std::string_view file) {
    std::string names;
    const ::testing::UnitTest& program = *::testing::UnitTest::GetInstance();
    for (int i = 0; i < program.total_test_suite_count(); ++i) {
        const ::testing::TestSuite& suite = *program.GetTestSuite(i);
        for (int j = 0; j < suite.total_test_count(); ++j) {
            const ::testing::TestInfo& test = *suite.GetTestInfo(j);
            if (std::string_view{test.file()}.ends_with(file)) {
                names += std::string{suite.name()} + '.' + test.name() + ':';
            }
        }
    }
    return names;
}

/// In the child.
[[noreturn]] void run_tests(const std::string& tests, bool aloud, int to) {
    ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
    if (!aloud) {
        delete listeners.Release(listeners.default_result_printer());
        std::freopen("/dev/null", "w", stderr);  // the engine's own last words
    }
    listeners.Append(new announcer{to});
    ::testing::GTEST_FLAG(filter) = tests;
    const int status = RUN_ALL_TESTS();
    std::fflush(stdout);
    std::_Exit(status);
}

/// The test of this file that failed, if one did. `which`: the mutant; none: no rule is broken.
std::optional<std::string> failing_test(std::string_view file, std::optional<std::size_t> which,
                                        bool aloud) {
    const std::string tests = tests_of(file);
    int ends[2];
    if (tests.empty() || ::pipe(ends) != 0) {
        return which ? std::nullopt : std::optional<std::string>{"no test, as it has none"};
    }
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        if (which) {
            conch::sim::choose(*which);
        }
        run_tests(tests, aloud, ends[1]);
    }
    ::close(ends[1]);
    std::FILE* in = ::fdopen(ends[0], "r");
    std::string last;
    for (char line[512]; std::fgets(line, sizeof line, in);) {
        last = std::string_view{line}.substr(0, std::string_view{line}.find('\n'));
    }
    std::fclose(in);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
        return last + (WTERMSIG(status) == SIGALRM ? ", which does not end" : ", which crashes");
    }
    return WEXITSTATUS(status) != 0 ? std::optional{last} : std::nullopt;
}

/// Whether the mutant was noticed, by tests that pass without it.
bool try_and_report(std::size_t which, bool aloud) {
    static std::map<std::string_view, std::optional<std::string>> unbroken;  // by file
    const mutant& m = all[which];
    const auto [known, is_new] = unbroken.try_emplace(m.test);
    if (is_new) {
        known->second = failing_test(m.test, std::nullopt, false);
    }
    const auto noticed = failing_test(m.test, which, aloud);
    std::printf("%-36s %s %s\n", m.name, noticed ? "noticed by" : "NOT NOTICED by",
                noticed ? noticed->c_str() : m.test);
    if (known->second) {
        std::printf("%-36s FAILS WITH NO RULE BROKEN: %s\n", "", known->second->c_str());
    }
    std::fflush(stdout);
    return noticed && !known->second;
}

}  // namespace

int main(int argc, char* argv[]) {
    ::testing::InitGoogleTest(&argc, argv);
    const auto begin = std::chrono::steady_clock::now();
    const std::span<char*> named{argv + 1, static_cast<std::size_t>(argc - 1)};
    int tried = 0;
    int wrong = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto is_it = [i](std::string_view name) { return name == all[i].name; };
        if (*all[i].test == '\0' ||
            !(named.empty() || std::any_of(named.begin(), named.end(), is_it))) {
            continue;
        }
        ++tried;
        if (conch::sim::is_lost(all[i])) {
            std::printf("%s is LOST: %s\n", all[i].name, all[i].lost);
            ++wrong;
        } else if (!try_and_report(i, !named.empty())) {
            ++wrong;
        }
    }
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    std::printf("%d mutants tried with their tests, %d not as expected, in %.1f s\n", tried, wrong,
                passed.count());
    return tried == 0 || wrong != 0 ? 1 : 0;
}
