// SPDX-License-Identifier: BSL-1.0
// Commands on the connection and the server: greeting, scripts, messages.
#include "sim/fake_redis.hpp"
#include "sim/redis/command.hpp"

#include <string>

namespace conch::sim {
namespace {

bool is_right(const fake_redis& r, std::string_view user, std::string_view password) {
    return user == "default" && (r.how().password.empty() || password == r.how().password);
}

constexpr const char* wrong_pass = "WRONGPASS invalid username-password pair or user is disabled.";

reply greeting(const fake_redis& r, const session& s) {
    reply all{reply::kind::map, 0, {}, {}};
    const auto add = [&](std::string_view key, reply value) {
        all.items.push_back(reply::bulk(key));
        all.items.push_back(std::move(value));
    };
    (void)r;
    add("server", reply::bulk("redis"));
    add("version", reply::bulk("7.0.15"));
    add("proto", reply::number(s.resp3 ? 3 : 2));
    add("id", reply::number(s.id));
    add("mode", reply::bulk("standalone"));
    add("role", reply::bulk("master"));
    add("modules", reply::array());
    return all;
}

reply hello(fake_redis& r, session& s, arguments a) {
    bool resp3 = s.resp3;
    if (a.size() > 1) {
        const auto version = to_integer(a[1]);
        if (!version) {
            return reply::error("ERR Protocol version is not an integer or out of range");
        }
        if (*version < 2 || *version > 3) {
            return reply::error("NOPROTO unsupported protocol version");
        }
        resp3 = *version == 3;
    }
    bool authenticated = s.authenticated;
    std::string name = s.name;
    for (std::size_t i = 2; i < a.size(); ++i) {
        if (same_word(a[i], "AUTH") && i + 2 < a.size()) {
            if (!is_right(r, a[i + 1], a[i + 2])) {
                return reply::error(wrong_pass);
            }
            authenticated = true;
            i += 2;
        } else if (same_word(a[i], "SETNAME") && i + 1 < a.size()) {
            name = a[++i];
        } else {
            return reply::error("ERR Syntax error in HELLO option '" + std::string{a[i]} + "'");
        }
    }
    if (!authenticated) {
        return reply::error(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the "
            "HELLO AUTH <user> <pass> option can be used to authenticate the client and "
            "select the RESP protocol version at the same time");
    }
    s.authenticated = true;
    s.resp3 = resp3;
    s.name = name;
    return greeting(r, s);
}

reply auth(fake_redis& r, session& s, arguments a) {
    if (a.size() > 3) {
        return reply::error(syntax_error);
    }
    if (a.size() == 2 && r.how().password.empty()) {
        return reply::error(
            "ERR AUTH <password> called without any password configured for the default user. "
            "Are you sure your configuration is correct?");
    }
    if (!is_right(r, a.size() == 3 ? a[1] : "default", a.back())) {
        return reply::error(wrong_pass);
    }
    s.authenticated = true;
    return reply::ok();
}

reply select(fake_redis&, session&, arguments a) {
    const auto n = to_integer(a[1]);
    if (!n) {
        return reply::error(not_an_integer);
    }
    // One database is enough: the others are not told apart.
    return *n < 0 || *n > 15 ? reply::error("ERR DB index is out of range") : reply::ok();
}

reply ping(fake_redis&, session&, arguments a) {
    if (a.size() > 2) {
        return reply::error("ERR wrong number of arguments for 'ping' command");
    }
    return a.size() == 2 ? reply::bulk(a[1]) : reply::status("PONG");
}

reply time(fake_redis& r, session&, arguments) {
    return reply::array({reply::bulk(std::to_string(r.clock_us() / 1'000'000)),
                         reply::bulk(std::to_string(r.clock_us() % 1'000'000))});
}

reply info(fake_redis& r, session& s, arguments a) {
    std::string text;
    if (a.size() < 2 || same_word(a[1], "server")) {
        text = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:" + r.run_id() +
               "\r\n";
    }
    if (a.size() < 2 || same_word(a[1], "replication")) {
        text += "# Replication\r\nrole:";
        text += r.processes().is_master(s.at) ? "master" : "slave";
        text += "\r\nmaster_replid:" + r.replication_id() + "\r\n";
    }
    return {reply::kind::verbatim, 0, text, {}};
}

reply kill(fake_redis& r, session& s, arguments a) {
    if (r.kill_is_refused()) {
        return reply::error("NOPERM this user has no permissions to run the 'client|kill' command");
    }
    const auto id = a.size() == 4 && same_word(a[2], "ID") ? to_integer(a[3]) : std::nullopt;
    if (!id || *id < 1) {
        return reply::error(a.size() == 4 && same_word(a[2], "ID")
                                ? "ERR client-id should be greater than 0"
                                : syntax_error);
    }
    const auto it = r.sessions().find(*id);
    // By default, a client doesn't end itself.
    if (it == r.sessions().end() || it->second.closing || *id == s.id || it->second.at != s.at) {
        return reply::number(0);
    }
    r.close(it->second);
    return reply::number(1);
}

reply client(fake_redis& r, session& s, arguments a) {
    if (same_word(a[1], "ID") && a.size() == 2) {
        return reply::number(s.id);
    }
    if (same_word(a[1], "GETNAME") && a.size() == 2) {
        return s.name.empty() ? reply::nil() : reply::bulk(s.name);
    }
    if (same_word(a[1], "SETNAME") && a.size() == 3) {
        s.name = a[2];
        return reply::ok();
    }
    if (same_word(a[1], "KILL") && a.size() > 2) {
        return kill(r, s, a);
    }
    return reply::error("ERR unknown subcommand '" + std::string{a[1]} + "'. Try CLIENT HELP.");
}

reply script(fake_redis& r, session&, arguments a) {
    if (same_word(a[1], "LOAD") && a.size() == 3) {
        std::string problem;
        const std::string sha = lua_host::instance().load(a[2], &problem);
        if (sha.empty()) {
            return reply::error(problem);
        }
        r.scripts().insert(sha);
        return reply::bulk(sha);
    }
    if (same_word(a[1], "EXISTS") && a.size() > 2) {
        reply all = reply::array();
        for (const std::string_view sha : a.subspan(2)) {
            all.items.push_back(reply::number(r.scripts().contains(sha) ? 1 : 0));
        }
        return all;
    }
    if (same_word(a[1], "FLUSH") && a.size() <= 3) {
        r.scripts().clear();
        return reply::ok();
    }
    return reply::error("ERR unknown subcommand '" + std::string{a[1]} + "'. Try SCRIPT HELP.");
}

/// What is wrong with the number of keys, looked at before the script is; nothing: nil.
reply keys_problem(arguments a) {
    const auto keys = to_integer(a[2]);
    if (!keys) {
        return reply::error(not_an_integer);
    }
    if (*keys < 0) {
        return reply::error("ERR Number of keys can't be negative");
    }
    if (static_cast<std::size_t>(*keys) > a.size() - 3) {
        return reply::error("ERR Number of keys can't be greater than number of args");
    }
    return reply::nil();
}

reply run_script(fake_redis& r, session& s, std::string_view sha, arguments a) {
    const auto n = static_cast<std::size_t>(*to_integer(a[2]));
    const arguments keys = a.subspan(3, n);
    const arguments args = a.subspan(3 + n);
    const auto before = r.tokens(keys, args);
    reply answer = lua_host::instance().run(r, s, sha, keys, args);
    r.compare_tokens(s, before, keys, args);
    r.ran(s, sha, keys, args, answer);
    return answer;
}

reply evalsha(fake_redis& r, session& s, arguments a) {
    constexpr std::size_t sha_size = 40;
    const reply problem = keys_problem(a);
    if (problem.is_error() && a[1].size() == sha_size) {
        return problem;
    }
    if (!r.scripts().contains(a[1])) {
        return reply::error("NOSCRIPT No matching script. Please use EVAL.");
    }
    return run_script(r, s, a[1], a);
}

reply eval(fake_redis& r, session& s, arguments a) {
    const reply bad_keys = keys_problem(a);
    if (bad_keys.is_error()) {
        return bad_keys;
    }
    std::string problem;
    const std::string sha = lua_host::instance().load(a[1], &problem);
    if (sha.empty()) {
        return reply::error(problem);
    }
    r.scripts().insert(sha);
    return run_script(r, s, sha, a);
}

reply publish(fake_redis& r, session&, arguments a) { return reply::number(r.publish(a[1], a[2])); }

void confirm(session& s, std::string_view what, reply channel) {
    reply{reply::kind::push,
          0,
          {},
          {reply::bulk(what), std::move(channel),
           reply::number(static_cast<std::int64_t>(s.channels.size()))}}
        .write(s.output, s.resp3);
}

const reply written{reply::kind::push, 0, {}, {}};

reply subscribe(fake_redis&, session& s, arguments a) {
    for (const std::string_view channel : a.subspan(1)) {
        s.channels.emplace(channel);
        confirm(s, "subscribe", reply::bulk(channel));
    }
    return written;
}

reply unsubscribe(fake_redis&, session& s, arguments a) {
    if (a.size() == 1 && s.channels.empty()) {
        confirm(s, "unsubscribe", reply::nil());
    }
    while (a.size() == 1 && !s.channels.empty()) {
        const std::string channel = *s.channels.begin();
        s.channels.erase(s.channels.begin());
        confirm(s, "unsubscribe", reply::bulk(channel));
    }
    for (const std::string_view channel : a.subspan(1)) {
        const auto it = s.channels.find(channel);
        if (it != s.channels.end()) {
            s.channels.erase(it);
        }
        confirm(s, "unsubscribe", reply::bulk(channel));
    }
    return written;
}

reply pubsub(fake_redis& r, session&, arguments a) {
    const bool sharded = r.processes().clustered() && r.how().sharded;
    if (sharded && same_word(a[1], "SHARDNUMSUB")) {
        return reply::array();
    }
    if (!same_word(a[1], "NUMSUB")) {
        return reply::error("ERR unknown subcommand '" + std::string{a[1]} + "'. Try PUBSUB HELP.");
    }
    reply all = reply::array();
    for (const std::string_view channel : a.subspan(2)) {
        std::int64_t n = 0;
        for (const auto& [id, s] : r.sessions()) {
            n += s.channels.contains(channel) ? 1 : 0;
        }
        all.items.push_back(reply::bulk(channel));
        all.items.push_back(reply::number(n));
    }
    return all;
}

constexpr unsigned l = command::while_loading;
constexpr unsigned n = command::not_in_scripts;
constexpr command commands[] = {
    {"hello", -1, l | n, hello},
    {"auth", -2, l | n, auth},
    {"select", 2, l, select},
    {"ping", -1, 0, ping},
    {"time", 1, l, time},
    {"info", -1, l, info},
    {"client", -2, l | n, client},
    {"script", -2, n, script},
    {"eval", -3, n, eval},
    {"evalsha", -3, n, evalsha},
    {"publish", 3, l, publish},
    {"subscribe", -2, l | n, subscribe},
    {"unsubscribe", -1, l | n, unsubscribe},
    {"pubsub", -2, l, pubsub},
};

}  // namespace

std::span<const command> server_commands() noexcept { return commands; }

}  // namespace conch::sim
