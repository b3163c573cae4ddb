// SPDX-License-Identifier: BSL-1.0
#include "cli/commands.hpp"
#include "cli/lock_survey.hpp"
#include "cli/lock_table.hpp"
#include "cli/lock_text.hpp"
#include "cli/one_lock.hpp"
#include "cli/text.hpp"

#include <boost/json/serialize.hpp>

#include <iostream>

namespace conch::cli {
namespace {

namespace asio = boost::asio;
namespace po = boost::program_options;

asio::awaitable<void> look(one_server& the, lock_survey& survey, const std::string& name,
                           std::optional<lock_entry>& found) {
    error_code ec = co_await the.contact.reach();
    if (!ec) {
        try {
            found = co_await survey.look_at(name);
        } catch (const system_error& e) {
            ec = e.code();
        }
    }
    if (ec) {
        throw the.failure(ec);
    }
}

int print_free(const std::string& name, bool json) {
    if (json) {
        boost::json::object o;
        o["name"] = valid_utf8(name);
        o["kind"] = nullptr;
        o["locked"] = false;
        std::cout << printable_json(boost::json::serialize(o)) << '\n';
    } else {
        std::cout << printable(name) << ": " << freedom_of(name) << '\n';
    }
    return exit_code::failure;
}

}  // namespace

int who(const word_list& words) {
    po::options_description options{"Options"};
    auto add = options.add_options();
    add("json", "one JSON object instead of text");
    add_server_options(options);
    add("help,h", "show this");
    const po::variables_map values = parse_words(words, options);
    if (values.count("help") != 0) {
        std::cout
            << "conch who [OPTION...] NAME: tells all that is known of the lock NAME, of "
               "whatever kind:\nwho holds it, from where, and who waits.\n\n"
            << options
            << "\nHow long it has been held is known of a lock with a fence of conch: \"conch "
               "run\" takes one\nwith --fenced or --lead.\n"
               "Exit status: 0 somebody holds it, or it is a counter or a rate limit; 1 "
               "nobody does; 64 wrong\ncommand line; 69 no Redis, or it refuses, or the key "
               "is no lock.\n";
        return exit_code::ok;
    }
    const std::string name = lock_name(values);
    const server_choice server = read_server_options(values);
    expect_one_server(server, "who");
    one_server the{server};
    const inspector asked{the.redis};
    lock_survey survey{asked, server.settings.cluster.has_value()};
    std::optional<lock_entry> found;
    the.run(look(the, survey, name, found));
    const bool json = values.count("json") != 0;
    if (!found && survey.stranger()) {
        throw command_error{exit_code::unavailable,
                            in_quotes(name) + " at " + server_label(server) + " is no lock"};
    }
    if (!found) {
        return print_free(name, json);
    }
    std::cout << (json ? printable_json(boost::json::serialize(json_of(*found))) + '\n'
                       : whole_text(*found, survey.knows_clients(), server.given_url));
    return exit_code::ok;
}

}  // namespace conch::cli
