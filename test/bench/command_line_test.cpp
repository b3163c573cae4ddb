// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_run.hpp"
#include "cli/private_redis.hpp"
#include "support/raw_client.hpp"

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>

#include <algorithm>

namespace conch::test {
namespace {

class each_bench : public ::testing::TestWithParam<small_bench> {};

INSTANTIATE_TEST_SUITE_P(bench, each_bench, ::testing::ValuesIn(small_benches()),
                         [](const auto& one) { return one.param.name; });

bool has_line(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST_P(each_bench, measures_with_the_server_that_is_given_and_leaves_nothing_on_it) {
    const cli::private_redis server;
    raw_client raw{server.socket_path()};
    raw.reset_calls();
    words options{"--redis", server.url()};
    const ended end = run_bench(line_of(GetParam(), options));
    EXPECT_EQ(end.status, 0) << end.err;
    const bool measured = !has_line(end.out, "not measured");
    EXPECT_EQ(raw.calls("evalsha") > 0, measured);
    EXPECT_EQ(raw.dbsize(), 0);
}

TEST_P(each_bench, has_a_table_with_a_row_for_each_figure_of_its_object) {
    const ended table = run_bench(line_of(GetParam(), {}));
    ASSERT_EQ(table.status, 0) << table.err;
    const auto object = figures_of(GetParam().name);
    std::size_t rows = 0;
    for (const auto& field : object) {
        if (!field.value().is_array()) {
            ++rows;
            EXPECT_TRUE(has_line("\n" + table.out, "\n" + std::string{field.key()} + " "))
                << field.key();
        }
    }
    EXPECT_EQ(static_cast<std::size_t>(std::count(table.out.begin(), table.out.end(), '\n')), rows);
}

TEST_P(each_bench, explains_its_options_and_its_figures) {
    const ended help = run_bench({GetParam().name, "--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_EQ(help.err, "");
    for (const std::string& option : GetParam().options) {
        if (option.starts_with("--")) {
            EXPECT_TRUE(has_line(help.out, option + " ")) << option;
        }
    }
    for (const char* text : {"--redis URL", "--json", "--rounds", "default", "limit"}) {
        EXPECT_TRUE(has_line(help.out, text)) << text;
    }
}

TEST(bench_command_line, lists_its_benchmarks) {
    const ended help = run_bench({"--help"});
    EXPECT_EQ(help.status, 0);
    for (const small_bench& b : small_benches()) {
        EXPECT_TRUE(has_line(help.out, "\n  " + b.name + " ")) << b.name;
    }
}

TEST(bench_command_line, refuses_what_it_does_not_understand_in_one_line_with_status_2) {
    const std::vector<words> wrong{{},
                                   {"nothing"},
                                   {"uncontended", "more"},
                                   {"uncontended", "--coro", "3"},
                                   {"uncontended", "--coroutines"},
                                   {"uncontended", "--coroutines", "0"},
                                   {"uncontended", "--coroutines", "1.5"},
                                   {"uncontended", "--coroutines", "99999999999999999999"},
                                   {"local", "--seconds", "nan"},
                                   {"local", "--seconds", "-1"},
                                   {"local", "--rounds", "10"},
                                   {"holds", "--lease", "soon"},
                                   {"handoff", "--json", "--json"},
                                   {"names", "--redis", "http://127.0.0.1"},
                                   {"names", "--redis"},
                                   {"names", "--redis", "rediss://127.0.0.1"},
                                   {"names", "--redis", "redis+cluster://127.0.0.1"},
                                   {"names", "--topology", "cluster"},
                                   {"handoff", "--topology", "ring"},
                                   {"handoff", "--topology", "tls", "--redis", "redis://a"}};
    for (const words& line : wrong) {
        const ended end = run_bench(line);
        EXPECT_EQ(end.status, 2) << ::testing::PrintToString(line);
        EXPECT_EQ(end.out, "");
        EXPECT_TRUE(end.err.starts_with("conch_bench: ")) << end.err;
        EXPECT_EQ(std::count(end.err.begin(), end.err.end(), '\n'), 1) << end.err;
    }
}

TEST(bench_command_line, says_that_there_is_no_server_and_ends_with_status_1) {
    const temporary_folder folder;
    for (const small_bench& b : small_benches()) {
        const ended end = run_bench(line_of(b, {"--redis", "unix://" + folder.path() + "/none"}));
        const bool unmeasured = has_line(end.out, "not measured");
        EXPECT_EQ(end.status, unmeasured ? 0 : 1) << b.name;
        EXPECT_EQ(end.err.empty(), unmeasured) << b.name;
    }
}

}  // namespace
}  // namespace conch::test
