// SPDX-License-Identifier: BSL-1.0
#include "cli/survey_options.hpp"

#include "cli/command_error.hpp"
#include "cli/text.hpp"

namespace conch::cli {
namespace {

namespace po = boost::program_options;
using namespace std::chrono_literals;

std::string columns_text(const char* before_last) {
    std::string all;
    for (std::size_t i = 0; i < columns; ++i) {
        all.append(i == 0 ? "" : i + 1 == columns ? before_last : ", ");
        all += text_of(static_cast<column>(i));
    }
    return all;
}

}  // namespace

void add_survey_options(po::options_description& options, column first) {
    auto add = options.add_options();
    const std::string sort =
        "by " + columns_text(" or ") + " (default: " + std::string{text_of(first)} + ")";
    add("sort", po::value<std::string>()->value_name("COLUMN"), sort.c_str());
    add("plain", "plain locks (SET NX PX) instead of all others; needs a PATTERN");
    add("page", po::value<std::string>()->value_name("N"),
        "let the server look at N keys at once (default: 1000)");
    add("pause", po::value<std::string>()->value_name("SECS"),
        "between two pages, for the server to do other work (default: 0.001)");
}

survey_terms read_survey_terms(const po::variables_map& values, duration longest_pause) {
    survey_terms terms;
    if (values.count("NAME") != 0) {
        terms.pattern = values["NAME"].as<std::string>();
        if (terms.pattern.empty()) {
            throw usage_error("PATTERN is empty");
        }
    }
    terms.plain = values.count("plain") != 0;
    if (terms.plain && values.count("NAME") == 0) {
        throw usage_error("--plain needs a PATTERN: plain locks look like other strings");
    }
    if (const std::string text = text_option(values, "page"); !text.empty()) {
        terms.page = parse_count("--page", text, 10'000);
    }
    terms.pause = seconds_option(values, "pause", 0s, longest_pause).value_or(1ms);
    return terms;
}

column read_sort(const po::variables_map& values, column first) {
    const std::string name = text_option(values, "sort");
    if (name.empty()) {
        return first;
    }
    for (std::size_t i = 0; i < columns; ++i) {
        const auto c = static_cast<column>(i);
        if (text_of(c) == name) {
            return c;
        }
    }
    throw usage_error("--sort takes one of " + columns_text(", ") + ", not " + in_quotes(name));
}

std::vector<std::string> notes_of(const lock_survey& survey) {
    std::vector<std::string> notes;
    if (survey.moved()) {
        notes.emplace_back("the cluster moved hash slots meanwhile: locks may be missing");
    }
    if (survey.forbidden() != 0) {
        notes.push_back("the server refused this user " + counted(survey.forbidden(), "answer") +
                        ": locks, or what is told of them, may be missing");
    }
    if (!survey.knows_clients()) {
        notes.emplace_back("the server does not tell its clients (CLIENT LIST): no host is known");
    }
    return notes;
}

}  // namespace conch::cli
