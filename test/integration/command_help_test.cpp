// SPDX-License-Identifier: BSL-1.0
// Help, manual page and completion tell the same commands and options.
#include "support/command_fixture.hpp"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

namespace {

using namespace conch::test;

using option_set = std::set<std::string>;

const words all_commands{"run", "rate",   "hold",  "ls",      "top",
                         "who", "status", "watch", "release", "demo"};

std::string source(const std::string& file) {
    std::ifstream in{std::string{CONCH_PROGRAM_SOURCES} + '/' + file};
    EXPECT_TRUE(in) << file;
    return {std::istreambuf_iterator<char>{in}, {}};
}

ended to_end(words line) {
    line.insert(line.begin(), CONCH_PROGRAM_PATH);
    program p{line};
    return p.finish();
}

option_set options_in(const std::string& text) {
    static const std::regex option{"(^|[^-\\w])(--?[A-Za-z][a-z-]*)"};
    option_set out;
    for (std::sregex_iterator i{text.begin(), text.end(), option}, end; i != end; ++i) {
        out.insert((*i)[2]);
    }
    return out;
}

/// What the lines of the option table begin with.
option_set options_of(const std::string& command) {
    const std::string help = to_end({command, "--help"}).out;
    static const std::regex line{"\n  (-[^ ]+( \\[ [^ ]+ \\])?)"};
    option_set out;
    for (std::sregex_iterator i{help.begin(), help.end(), line}, end; i != end; ++i) {
        out.merge(options_in((*i)[1]));
    }
    EXPECT_GE(out.size(), 3u) << help;
    return out;
}

/// Those of flock that the table leaves out.
option_set other_names(const std::string& command) {
    if (command == "run" || command == "hold") {
        return {"--nb", "--timeout"};
    }
    return command == "rate" ? option_set{"--timeout"} : option_set{};
}

/// The items of the manual page's lists of options.
option_set options_in_manual() {
    const std::string page = source("conch.1");
    static const std::regex item{"\n\\.It Fl ([^\n]*)"};
    option_set out;
    for (std::sregex_iterator i{page.begin(), page.end(), item}, end; i != end; ++i) {
        const std::string line = (*i)[1];
        std::istringstream names{line.substr(0, line.find(" Ar "))};
        for (std::string name; names >> name;) {
            if (name != ",") {
                out.insert('-' + name);
            }
        }
    }
    return out;
}

/// What bash offers for these words, the last of which is being typed.
option_set completed(const words& line) {
    std::string script = "source '" + std::string{CONCH_PROGRAM_SOURCES} +
                         "/completion/conch.bash'; COMP_WORDS=(conch";
    for (const std::string& word : line) {
        script += " '" + word + '\'';
    }
    const std::string previous = line.size() > 1 ? line[line.size() - 2] : "conch";
    script += "); COMP_CWORD=" + std::to_string(line.size()) + "; _conch conch '" + line.back() +
              "' '" + previous + "'; printf '%s\\n' \"${COMPREPLY[@]}\"";
    program p{{"/bin/bash", "-c", script}};
    const ended& end = p.finish();
    EXPECT_EQ(end.err, "");
    std::set<std::string> out;
    std::istringstream in{end.out};
    for (std::string word; std::getline(in, word);) {
        if (!word.empty()) {
            out.insert(word);
        }
    }
    return out;
}

std::string text_between(const std::string& from, const std::string& to, const std::string& text) {
    const auto start = text.find(from);
    EXPECT_NE(start, std::string::npos) << from;
    return text.substr(start, text.find(to, start) - start);
}

/// The options in a part of zsh's completion, with those in the arrays that it names.
option_set offered_by_zsh(const std::string& text, const std::string& part) {
    static const std::regex option{"['{,]\\*?(--?[A-Za-z][a-z-]*)"};
    static const std::regex array{" \\$([a-z]+)|\\(\\$([a-z]+)"};
    option_set out;
    for (std::sregex_iterator i{part.begin(), part.end(), option}, end; i != end; ++i) {
        out.insert((*i)[1]);
    }
    for (std::sregex_iterator i{part.begin(), part.end(), array}, end; i != end; ++i) {
        const std::string name = (*i)[1].str() + (*i)[2].str();
        out.merge(offered_by_zsh(text, text_between("\n    " + name + "=(", ")\n", text)));
    }
    return out;
}

TEST(help_command_test, help_lists_every_command) {
    const std::string overview = to_end({"help"}).out;
    for (const std::string& command : all_commands) {
        expect_in("\n  conch " + command + ' ', overview);
    }
    for (const std::string kind :
         {"fair", "rw", "shared", "at-most", "semaphore", "plain", "lock"}) {
        expect_in("\n  --" + kind + ' ', overview);
        expect_in("--" + kind, to_end({"run", "--help"}).out);
    }
    EXPECT_EQ(to_end({"--help"}).out, overview);
}

TEST(help_command_test, help_of_a_command_is_its_option_help) {
    for (const std::string& command : all_commands) {
        const ended end = to_end({"help", command});
        EXPECT_EQ(end.status, 0);
        EXPECT_TRUE(end.out.starts_with("conch " + command + ' ')) << end.out;
        EXPECT_EQ(end.out, to_end({command, "--help"}).out);
    }
}

TEST(help_command_test, help_needs_no_server) {
    program p{{CONCH_PROGRAM_PATH, "run", "-h"}, {{"CONCH_REDIS", "nonsense"}}};
    EXPECT_EQ(p.finish().status, 0);
}

TEST(help_command_test, units_of_time_are_told_in_help_and_manual_page) {
    static const std::regex units{"a time with a unit: 500ms, 90s, 5m,\\s1\\.5h or 2d\\."};
    EXPECT_TRUE(std::regex_search(to_end({"help"}).out, units));
    EXPECT_TRUE(std::regex_search(source("conch.1"), units));
}

TEST(help_command_test, the_version_is_told) {
    EXPECT_TRUE(
        std::regex_match(to_end({"--version"}).out, std::regex{"conch \\d+\\.\\d+\\.\\d+\n"}));
}

TEST(help_command_test, every_option_is_in_the_manual_page) {
    const option_set told = options_in_manual();
    for (const std::string& command : all_commands) {
        expect_in("\n.It Cm " + command + '\n', source("conch.1"));
        for (const std::string& option : options_of(command)) {
            EXPECT_TRUE(told.contains(option)) << command << ' ' << option;
        }
    }
}

TEST(help_command_test, the_manual_page_tells_no_option_that_is_unknown) {
    option_set known;
    for (const std::string& command : all_commands) {
        known.merge(other_names(command));
        known.merge(options_of(command));
    }
    EXPECT_EQ(options_in_manual(), known);
}

TEST(help_command_test, bash_offers_every_option_and_no_other) {
    for (const std::string& command : all_commands) {
        option_set expected = options_of(command);
        expected.merge(other_names(command));
        EXPECT_EQ(completed({command, "-"}), expected) << command;
    }
}

TEST(help_command_test, bash_offers_every_command) {
    option_set expected{all_commands.begin(), all_commands.end()};
    expected.merge(option_set{"help", "--help", "--version"});
    EXPECT_EQ(completed({""}), expected);
}

TEST(help_command_test, bash_offers_commands_behind_the_name) {
    EXPECT_TRUE(completed({"run", "-w", "5", "lock", "tou"}).contains("touch"));
    EXPECT_TRUE(completed({"run", "lock", "--", "tou"}).contains("touch"));
    EXPECT_TRUE(completed({"run", "-w", "tou"}).empty());
    EXPECT_TRUE(completed({"rate", "--limit", "5", "--per", "1", "name", "tou"}).contains("touch"));
    EXPECT_TRUE(completed({"rate", "--permits", "tou"}).empty());
}

TEST(help_command_test, zsh_offers_every_option_and_no_other) {
    // Without the lists of what an option excludes.
    const std::string text =
        std::regex_replace(source("completion/_conch"), std::regex{"'\\([^)]*\\)'?"}, "'");
    for (const std::string& command : all_commands) {
        option_set expected = options_of(command);
        expected.merge(other_names(command));
        EXPECT_EQ(offered_by_zsh(text, text_between("\n        " + command + ")\n", ";;", text)),
                  expected)
            << command;
    }
}

TEST(help_command_test, the_manual_page_has_no_fault) {
    if (::access("/usr/bin/man", X_OK) != 0) {
        GTEST_SKIP() << "man is not installed";
    }
    program p{{"/usr/bin/man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z",
               std::string{CONCH_PROGRAM_SOURCES} + "/conch.1"}};
    const ended& end = p.finish();
    EXPECT_EQ(end.status, 0);
    EXPECT_EQ(end.err, "");
}

}  // namespace
