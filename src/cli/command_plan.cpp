// SPDX-License-Identifier: BSL-1.0
#include "cli/command_plan.hpp"

#include "cli/command_error.hpp"
#include "cli/text.hpp"

#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace conch::cli {
namespace {

namespace po = boost::program_options;

word_list shell_command(const std::string& text) {
    const char* const set = std::getenv("SHELL");
    const std::string shell = set != nullptr && *set != '\0' ? set : "/bin/sh";
    return {shell, "-c", text};
}

/// The words after NAME, where there is no -c before it.
word_list command_of(word_list rest, const std::string& name) {
    if (!rest.empty() && (rest.front() == "-c" || rest.front() == "--command")) {
        if (rest.size() != 2 || rest.back().empty()) {
            throw usage_error(
                "-c takes exactly one word, the STRING that the shell runs; put it "
                "into quotes");
        }
        return shell_command(rest.back());
    }
    const bool marked = !rest.empty() && rest.front() == "--";
    if (marked) {
        rest.erase(rest.begin());
    }
    if (rest.empty() || rest.front().empty()) {
        throw usage_error("the COMMAND to run is missing");
    }
    if (!marked && rest.front().front() == '-') {
        throw usage_error("options come before NAME: " + in_quotes(rest.front()) + " comes after " +
                          in_quotes(name) + "; write -- before a COMMAND of that name");
    }
    return rest;
}

/// The words after our own options: NAME, then the command.
void read_words(word_list rest, const po::variables_map& values, std::string_view thing,
                command_plan& plan) {
    const std::string string = text_option(values, "command");
    if (rest.empty()) {
        const std::string name = "the " + std::string{thing} + "'s NAME";
        throw usage_error(name + (string.empty() ? " and the COMMAND are missing" : " is missing"));
    }
    check_name(thing, rest.front());
    plan.name = rest.front();
    rest.erase(rest.begin());
    if (string.empty()) {
        plan.command = command_of(std::move(rest), plan.name);
        return;
    }
    if (!rest.empty()) {
        throw usage_error("a COMMAND and -c exclude each other");
    }
    plan.command = shell_command(string);
}

/// A client refuses one that the server would refuse.
void read_service(const po::variables_map& values, server_choice& server) {
    const char* const set = std::getenv("CONCH_SERVICE");
    const bool given = values.count("service") != 0;
    const std::string service = given ? text_option(values, "service") : set != nullptr ? set : "";
    if (service.empty()) {
        return;
    }
    server.settings.service = service;
    for (config& other : server.others) {
        other.service = service;
    }
    try {
        boost::asio::io_context nothing_runs;
        const client unused{nothing_runs, server.settings};
    } catch (const std::invalid_argument& e) {
        throw usage_error(std::string{given ? "--service: " : "$CONCH_SERVICE: "} +
                          plain_reason(e.what()));
    }
}

}  // namespace

void add_grant_options(po::options_description& options, std::string_view refusal) {
    const std::string if_refused = "if " + std::string{refusal};
    auto add = options.add_options();
    add("conflict-exit-code,E", po::value<std::string>()->value_name("CODE"),
        ("the exit status " + if_refused + " (default: 1)").c_str());
    add("service", po::value<std::string>()->value_name("NAME"),
        "what \"conch ls\" tells the holder as, beside host and process (default: $CONCH_SERVICE)");
    add("verbose,v", "tell what happens, on standard error");
    add("quiet,q", ("say nothing " + if_refused + ", but for the exit status").c_str());
}

void add_command_options(po::options_description& options, std::string_view refusal) {
    options.add_options()("command,c", po::value<std::string>()->value_name("STRING"),
                          "let the shell run STRING; also after NAME");
    add_grant_options(options, refusal);
}

void read_grant_options(const po::variables_map& values, command_plan& plan) {
    if (values.count("conflict-exit-code") != 0) {
        plan.refused_status =
            parse_status("--conflict-exit-code", text_option(values, "conflict-exit-code"));
    }
    plan.verbose = values.count("verbose") != 0;
    plan.quiet = values.count("quiet") != 0;
    if (plan.verbose && plan.quiet) {
        throw usage_error("--verbose and --quiet exclude each other");
    }
    plan.server = read_server_options(values);
    read_service(values, plan.server);
}

po::variables_map read_command_plan(const word_list& words, const po::options_description& options,
                                    std::string_view thing, command_plan& plan) {
    const auto own = static_cast<std::ptrdiff_t>(count_own_words(words, options));
    po::variables_map values = parse_words({words.begin(), words.begin() + own}, options);
    if (values.count("help") != 0) {
        return values;
    }
    read_words({words.begin() + own, words.end()}, values, thing, plan);
    read_grant_options(values, plan);
    return values;
}

}  // namespace conch::cli
