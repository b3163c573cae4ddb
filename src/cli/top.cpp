// SPDX-License-Identifier: BSL-1.0
#include "cli/top_session.hpp"

#include "cli/commands.hpp"
#include "cli/survey_options.hpp"
#include "cli/text.hpp"

#include <iostream>

namespace conch::cli {
namespace {

namespace po = boost::program_options;
using namespace std::chrono_literals;

constexpr const char* about_top =
    "\nPATTERN, what is listed and the columns: as of \"conch ls\".\n"
    "Keys: w, t, n sort by waiting, time held, name; / filters; p or Space pauses; Up, Down, k, j\n"
    "choose a lock; Enter looks at it, as \"conch who\" does; ? tells all keys; q quits.\n"
    "Redis is only read, a page at a time. A server that goes away is asked again until it is "
    "there.\n"
    "Exit status: 0 at q, 128+N ended by signal N (130: Ctrl-C), 64 wrong command line, or no\n"
    "terminal, 69 no Redis at the start.\n";

}  // namespace

int top(const word_list& words) {
    po::options_description options{"Options"};
    auto add = options.add_options();
    add("interval", po::value<std::string>()->value_name("SECS"),
        "from the end of a look at all keys to the next, 0.5 to 3600 (default: 2)");
    add_survey_options(options, column::waiting);
    add_server_options(options);
    add("help,h", "show this");
    const po::variables_map values = parse_words(words, options);
    if (values.count("help") != 0) {
        std::cout << "conch top [OPTION...] [PATTERN]: shows the locks that somebody holds, "
                     "live.\n\n"
                  << options << about_top;
        return exit_code::ok;
    }
    top_plan plan;
    // Quitting waits for a pause that has begun.
    plan.terms = read_survey_terms(values, 1s);
    plan.by = read_sort(values, column::waiting);
    plan.interval = seconds_option(values, "interval", 500ms, 1h).value_or(2s);
    plan.server = read_server_options(values);
    expect_one_server(plan.server, "top");
    return top_session{plan}.go();
}

}  // namespace conch::cli
