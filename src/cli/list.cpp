// SPDX-License-Identifier: BSL-1.0
#include "cli/commands.hpp"
#include "cli/one_lock.hpp"
#include "cli/survey_options.hpp"
#include "cli/text.hpp"

#include <boost/json/serialize.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>

namespace conch::cli {
namespace {

namespace asio = boost::asio;
namespace po = boost::program_options;
using namespace std::chrono_literals;

struct list_plan {
    server_choice server;
    survey_terms terms;
    column by = column::name;
    duration held_longer{};  ///< zero: whatever is known of that
    bool json = false;
};

constexpr const char* explanation =
    "\nPATTERN is one of KEYS: orders:*, say; all locks without it, but for plain ones, which look "
    "like\nother strings: --plain lists those that match PATTERN. A counting semaphore or a latch "
    "is not\nlisted; \"conch who\" tells one that is named. Redis is only read, a page at a time.\n"
    "HELD is told by a fence of conch, which is the time when it was taken; nothing else tells "
    "it.\n\"conch run\" takes a fence with --fenced or --lead.\nHOLDER is host and process, or how "
    "the holder's id begins where no conch client that is\n"
    "connected has that: one of Redisson, or one that is gone. +2: two more hold it.\n"
    "Exit status: 0 some were found, 1 none, 64 wrong command line, 69 no Redis, or it refuses.\n";

std::size_t terminal_width() {
    winsize size{};
    const bool known = ::isatty(STDOUT_FILENO) != 0 &&
                       ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : 0;
}

list_plan read_plan(const po::variables_map& values) {
    list_plan plan;
    plan.json = values.count("json") != 0;
    plan.terms = read_survey_terms(values, 1h);
    plan.by = read_sort(values, column::name);
    if (const std::string text = text_option(values, "held-longer"); !text.empty()) {
        plan.held_longer = parse_time("--held-longer", text);
    }
    plan.server = read_server_options(values);
    expect_one_server(plan.server, "ls");
    return plan;
}

asio::awaitable<void> look(one_server& the, lock_survey& survey, const survey_terms& terms,
                           std::vector<lock_entry>& found) {
    error_code ec = co_await the.contact.reach();
    if (!ec) {
        try {
            found = co_await survey.list(terms);
        } catch (const system_error& e) {
            ec = e.code();
        }
    }
    if (ec) {
        throw the.failure(ec);
    }
}

/// What the list can't tell, and why.
void warn(const lock_survey& survey, std::size_t of_unknown_time) {
    constexpr const char* me = "conch ls: ";
    for (const std::string& note : notes_of(survey)) {
        std::cerr << me << note << '\n';
    }
    if (of_unknown_time != 0) {
        std::cerr << me << "for how long it has been held is not known of "
                  << counted(of_unknown_time, "more lock")
                  << ", without a fence of a connected conch client\n";
    }
}

}  // namespace

int ls(const word_list& words) {
    po::options_description options{"Options"};
    auto add = options.add_options();
    add("json", "one JSON object a line instead of a table");
    add("held-longer", po::value<std::string>()->value_name("TIME"),
        "only those that are known to be held for longer: 90 (seconds), 5m, 2h");
    add_survey_options(options, column::name);
    add_server_options(options);
    add("help,h", "show this");
    const po::variables_map values = parse_words(words, options);
    if (values.count("help") != 0) {
        std::cout << "conch ls [OPTION...] [PATTERN]: lists the locks that somebody holds.\n\n"
                  << options << explanation;
        return exit_code::ok;
    }
    const list_plan plan = read_plan(values);
    one_server the{plan.server};
    const inspector server{the.redis};
    lock_survey survey{server, plan.server.settings.cluster.has_value()};
    std::vector<lock_entry> found;
    the.run(look(the, survey, plan.terms, found));
    std::size_t of_unknown_time = 0;
    if (plan.held_longer > 0ns) {
        std::erase_if(found, [&](const lock_entry& e) {
            of_unknown_time += e.held ? 0 : 1;
            return !e.held || *e.held <= plan.held_longer;
        });
    }
    sort_by(plan.by, found);
    if (plan.json) {
        for (const lock_entry& e : found) {
            boost::json::object o = json_of(e);
            o["longest_wait_ms"] = nullptr;
            if (e.longest_wait) {
                o["longest_wait_ms"] =
                    std::chrono::floor<std::chrono::milliseconds>(*e.longest_wait).count();
            }
            std::cout << printable_json(boost::json::serialize(o)) << '\n';
        }
    } else if (!found.empty()) {
        std::cout << table_of(found, terminal_width());
    }
    warn(survey, of_unknown_time);
    return found.empty() ? exit_code::failure : exit_code::ok;
}

}  // namespace conch::cli
