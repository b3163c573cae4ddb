// SPDX-License-Identifier: BSL-1.0
#include "cli/commands.hpp"
#include "cli/lock_text.hpp"
#include "cli/one_lock.hpp"
#include "cli/text.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <iostream>

namespace conch::cli {
namespace {

namespace po = boost::program_options;

constexpr auto as_result = boost::asio::as_tuple(boost::asio::use_awaitable);

struct thrown_out {
    lock_status before{};
    bool done = false;
};

boost::asio::awaitable<void> throw_out(one_lock& the, thrown_out& result) {
    auto [ask_error, before] = co_await the.contact.ask(the.lock);
    if (ask_error) {
        throw the.failure(ask_error);
    }
    result.before = std::move(before);
    const auto [ec, done] = co_await the.lock.async_force_unlock(as_result);
    if (ec) {
        throw the.failure(ec);
    }
    result.done = done;
}

}  // namespace

int release(const word_list& words) {
    po::options_description options{"Options"};
    auto add = options.add_options();
    add("force", "take the lock away, although its holder may be at work");
    add_lock_options(options);
    add("help,h", "show this");
    const po::variables_map values = parse_words(words, options);
    if (values.count("help") != 0) {
        std::cout
            << "conch release --force [OPTION...] NAME: takes the lock NAME away from whoever "
               "holds it.\n\n"
            << options
            << "\nThe holder finds out when it next checks the lock, a third of its lease later at "
               "the\nlatest; \"conch run\" then ends its command.\n"
               "Exit status: 0 released, 1 nobody held it, 64 wrong command line, 69 no "
               "Redis, or the key\nis no lock.\n";
        return exit_code::ok;
    }
    const std::string name = lock_name(values);
    if (values.count("force") == 0) {
        throw usage_error(
            "a lock is released by its holder alone; add --force to take it away "
            "from a holder that may be at work");
    }
    const server_choice server = read_server_options(values);
    one_lock the{server, name};
    thrown_out result;
    the.run(throw_out(the, result));
    if (!result.done) {
        std::cerr << "conch release: nobody holds " << in_quotes(name) << pattern_note(name)
                  << '\n';
        return exit_code::failure;
    }
    std::cout << printable(name) << ": released";
    if (result.before.locked) {
        std::cout << "; before: " << state_of(name, server.kind, result.before);
    }
    std::cout << '\n';
    return exit_code::ok;
}

}  // namespace conch::cli
