// SPDX-License-Identifier: BSL-1.0
#include "cli/asking.hpp"
#include "cli/commands.hpp"
#include "cli/lock_survey.hpp"
#include "cli/lock_table.hpp"
#include "cli/lock_text.hpp"
#include "cli/one_lock.hpp"
#include "cli/text.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/json/serialize.hpp>

#include <iostream>
#include <optional>
#include <utility>
#include <vector>

namespace conch::cli {
namespace {

namespace po = boost::program_options;

/// A line of its own, if the server's list of connections has the holder.
std::string place_of(const lock_status& s) {
    if (s.holder_host.empty()) {
        return "";
    }
    // Valkey 9.1 puts the path into brackets. The address of a TCP connection has no slash.
    const bool by_unix_socket = s.holder_address.find('/') != s.holder_address.npos;
    return "  process " + std::to_string(s.holder_pid) + " on " + printable(s.holder_host) +
           (by_unix_socket ? "" : ", from " + printable(s.holder_address)) + '\n';
}

std::string waiting(const lock_status& s) {
    if (!s.waiting_clients) {
        return "  waiting unknown: the server refused to tell\n";
    }
    const std::uint64_t n = *s.waiting_clients;
    if (n == 0) {
        return s.locked ? "  waiting none\n" : "";
    }
    return "  waiting " + counted(n, "client") + '\n';
}

std::string holder_lines(const lock_status& s) {
    if (s.permits) {
        return "  ids     " + holders_of(s) + '\n' + place_of(s);
    }
    std::string out;
    for (const std::string_view one : each_holder(s)) {
        const bool is_first = out.empty();
        out += "  holder  " + printable(one) + '\n' + (is_first ? place_of(s) : "");
    }
    return out;
}

void print_text(const std::string& name, lock_kind kind, const lock_status& s) {
    std::cout << printable(name) << ": " << headline_of(name, kind, s) << '\n';
    if (s.locked) {
        std::cout << holder_lines(s);
        if (!s.permits && !s.shared) {
            std::cout << "  depth   " << s.depth << '\n';
        }
        std::cout << (s.permits ? "  next    " : "  lease   ") << ending_of(s) << '\n';
    }
    std::cout << waiting(s);
    if (s.fence != 0) {
        std::cout << "  fence   " << s.fence << '\n';
    }
}

/// What the key is, if it is no mutex: none if that is not known either.
boost::asio::awaitable<void> look_at_other(one_lock& the, const std::string& name,
                                           std::optional<lock_entry>& other, bool& clients_known) {
    const inspector asked{the.redis};
    lock_survey survey{asked, the.server.settings.cluster.has_value()};
    try {
        other = co_await survey.look_at(name);
        clients_known = survey.knows_clients();
    } catch (const system_error&) {  // this user may ask about mutexes alone
    }
}

/// The keys of a fair lock are those of a mutex, but for the line of those who wait.
boost::asio::awaitable<std::uint64_t> in_line(one_lock& the, const std::string& name) {
    const inspector asked{the.redis};
    std::vector<question> one;
    one.push_back(about_key({"LLEN", derived_key("redisson_lock_queue", name)}));
    const std::vector<answer> length = co_await ask_all(asked, std::move(one));
    const answer& a = length.front();
    co_return a.is_number() && a.reply.number > 0 ? static_cast<std::uint64_t>(a.reply.number) : 0;
}

boost::asio::awaitable<void> ask(one_lock& the, const std::string& name, lock_kind& kind,
                                 lock_status& result, std::optional<lock_entry>& other,
                                 bool& clients_known) {
    auto [ec, answer] = co_await the.contact.ask(the.lock, {.clients = true});
    const bool any_kind = the.server.kind == lock_kind::usual && the.server.others.empty();
    if (ec == errc::wrong_type && any_kind) {
        co_await look_at_other(the, name, other, clients_known);
    }
    if (ec && !other) {
        throw the.failure(ec);
    }
    result = std::move(answer);
    if (any_kind && result.locked) {
        const std::uint64_t waiting = co_await in_line(the, name);
        if (waiting > 0) {  // each listens on a channel of its own
            kind = lock_kind::fair;
            result.waiting_clients = waiting;
        }
    }
}

}  // namespace

int status(const word_list& words) {
    po::options_description options{"Options"};
    auto add = options.add_options();
    add("json", "one JSON object instead of text");
    add_lock_options(options);
    add("help,h", "show this");
    const po::variables_map values = parse_words(words, options);
    if (values.count("help") != 0) {
        std::cout
            << "conch status [OPTION...] NAME: tells who holds the lock NAME.\n\n"
            << options
            << "\nA fair lock that nobody waits for looks like a mutex, unless --fair is given.\n"
               "JSON: name, kind, locked, holder, holders, depth, ttl_ms (null: none), fence, of a "
               "semaphore\npermits; also host, pid and address of the holder, and waiting "
               "(clients); null if unknown.\nOf a NAME of another kind than was asked for it is "
               "that of \"conch who --json\".\n"
               "Exit status: 0 locked or not, 64 wrong command line, 69 no Redis, or\nthe "
               "key is no lock.\n";
        return exit_code::ok;
    }
    const std::string name = lock_name(values);
    const server_choice server = read_server_options(values);
    one_lock the{server, name};
    lock_status answer;
    std::optional<lock_entry> other;
    bool other_clients_known = false;
    lock_kind kind = server.kind;
    the.run(ask(the, name, kind, answer, other, other_clients_known));
    if (other && values.count("json") == 0) {
        std::cout << whole_text(*other, other_clients_known, server.given_url);
    } else if (values.count("json") != 0) {
        boost::json::object o = other ? json_of(*other) : json_of(name, kind, answer);
        if (!other) {
            add_clients(o, answer);
        }
        std::cout << printable_json(boost::json::serialize(o)) << '\n';
    } else {
        print_text(name, kind, answer);
    }
    return exit_code::ok;
}

}  // namespace conch::cli
