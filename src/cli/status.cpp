// SPDX-License-Identifier: BSL-1.0
#include "cli/command_error.hpp"
#include "cli/commands.hpp"
#include "cli/server_url.hpp"
#include "cli/text.hpp"

#include <conch/conch.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <iostream>
#include <optional>
#include <stdexcept>

namespace conch::cli {
namespace {

namespace po = boost::program_options;

std::int64_t milliseconds(duration d) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

void print_json(const std::string& name, const lock_status& s) {
    boost::json::object o;
    o["name"] = valid_utf8(name);
    o["locked"] = s.locked;
    o["holder"] = valid_utf8(s.holder);
    o["depth"] = s.depth;
    o["ttl_ms"] = nullptr;
    if (s.ttl) {
        o["ttl_ms"] = milliseconds(*s.ttl);
    }
    o["fence"] = s.fence;
    std::cout << boost::json::serialize(o) << '\n';
}

void print_text(const std::string& name, const lock_status& s) {
    std::cout << printable(name) << ": " << (s.locked ? "locked" : "free") << '\n';
    if (s.locked) {
        std::cout << "  holder  " << printable(s.holder) << '\n'
                  << "  depth   " << s.depth << '\n'
                  << "  ends    "
                  << (s.ttl ? "in " + short_time(*s.ttl) + " unless renewed" : "never (no expiry)")
                  << '\n';
    }
    if (s.fence != 0) {
        std::cout << "  fence   " << s.fence << '\n';
    }
}

lock_status ask(const std::string& name, const config& server) {
    boost::asio::io_context io{1};
    try {
        client redis{io, server};
        // Fenced, for the status to tell the last token; of the lock itself it makes no other.
        const mutex lock{redis, name, {.fenced = true}};
        error_code error;
        lock_status answer;
        std::string server_words;
        lock.async_status([&](error_code ec, lock_status s) {
            error = ec;
            answer = std::move(s);
            server_words = redis.last_server_error();
            redis.async_shutdown([](error_code) {});
        });
        io.run();
        if (error) {
            throw command_error(exit_status_for(error), explain(error, server_words, server));
        }
        return answer;
    } catch (const std::invalid_argument& e) {
        throw usage_error(e.what());
    }
}

}  // namespace

int status(const word_list& words) {
    po::options_description options{"Options"};
    auto add = options.add_options();
    add("json", "one JSON object instead of text");
    add("redis", po::value<std::string>()->value_name("URL"),
        "the server (default: $CONCH_REDIS, then redis://127.0.0.1:6379)");
    add("help,h", "show this");
    const po::variables_map values = parse_words(words, options);
    if (values.count("help") != 0) {
        std::cout << "conch status [OPTION...] NAME: tells who holds the lock NAME.\n\n"
                  << options
                  << "\nJSON: name, locked, holder, depth, ttl_ms (null: none), fence.\n"
                     "Exit status: 0 locked or not, 64 wrong command line, 69 no Redis.\n";
        return exit_code::ok;
    }
    if (values.count("NAME") == 0) {
        throw usage_error("the lock's NAME is missing");
    }
    const std::string name = values["NAME"].as<std::string>();
    const lock_status answer = ask(name, choose_server(text_option(values, "redis")));
    if (values.count("json") != 0) {
        print_json(name, answer);
    } else {
        print_text(name, answer);
    }
    return exit_code::ok;
}

}  // namespace conch::cli
