// SPDX-License-Identifier: BSL-1.0
#include "support/scripted_peer.hpp"
#include "support/sha1.hpp"

#include <optional>

namespace conch::test {
namespace {

std::string number(std::size_t n) { return ":" + std::to_string(n) + "\r\n"; }

std::string repeated(std::string_view item, std::size_t times) {
    std::string out = "*" + std::to_string(times) + "\r\n";
    for (std::size_t i = 0; i < times; ++i) {
        out += item;
    }
    return out;
}

}  // namespace

std::optional<words> take_command(std::string& in) {
    std::size_t at = 0;
    const auto header = [&](char mark) -> std::optional<std::size_t> {
        const auto end = in.find("\r\n", at);
        if (end == std::string::npos || in[at] != mark) {
            return std::nullopt;
        }
        const std::size_t number = std::stoul(in.substr(at + 1, end - at - 1));
        at = end + 2;
        return number;
    };
    const auto count = header('*');
    if (!count) {
        return std::nullopt;
    }
    words out;
    for (std::size_t i = 0; i < *count; ++i) {
        const auto length = header('$');
        if (!length || in.size() < at + *length + 2) {
            return std::nullopt;
        }
        out.push_back(in.substr(at, *length));
        at += *length + 2;
    }
    in.erase(0, at);
    return out;
}

std::string canned_redis::bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string{text} + "\r\n";
}

std::string canned_redis::upper(std::string_view text) {
    std::string out{text};
    for (char& c : out) {
        if (c >= 'a' && c <= 'z') {
            c = static_cast<char>(c - 'a' + 'A');
        }
    }
    return out;
}

std::string canned_redis::load(const std::string& text) {
    scripts_.push_back({sha1_of(text), text});
    return bulk(scripts_.back().sha);
}

// A script is known by what it does, not by its name.
std::string canned_redis::run(const std::string& script, const words& command) {
    const auto has = [&](const char* what) { return script.find(what) != std::string::npos; };
    if (has("'time'") || has("'mode', 'read'") || has("'mode', 'write'")) {
        return bulk("");
    }
    if (has("#KEYS / 2")) {
        return repeated(":1\r\n", std::stoul(command.at(2)) / 2);
    }
    if (has("'hdel'")) {
        return number(0);
    }
    if (has("ipairs(KEYS)")) {
        return repeated(":1\r\n", std::stoul(command.at(2)));
    }
    if (has("'hgetall'")) {
        return "*2\r\n:-2\r\n" + bulk("");
    }
    return number(1);
}

std::string canned_redis::run_loaded(const words& command) const {
    for (const loaded_script& script : scripts_) {
        if (command.size() > 3 && script.sha == command[1]) {
            return run(script.text, command);
        }
    }
    return "-NOSCRIPT No matching script. Please use EVAL.\r\n";
}

std::string canned_redis::subscription(const words& command) {
    const bool on = upper(command.front()) == "SUBSCRIBE";
    std::string out;
    for (std::size_t i = 1; i < command.size(); ++i) {
        out += ">3\r\n" + bulk(on ? "subscribe" : "unsubscribe") + bulk(command[i]) +
               number(on ? 1 : 0);
    }
    return out;
}

std::string canned_redis::handshake(std::size_t connection, const words& command) {
    const std::string name = upper(command.front());
    if (name == "HELLO") {
        return "%7\r\n" + bulk("server") + bulk("redis") + bulk("version") + bulk("7.0.15") +
               bulk("proto") + number(3) + bulk("id") + number(connection + 1) + bulk("mode") +
               bulk("standalone") + bulk("role") + bulk("master") + bulk("modules") + "*0\r\n";
    }
    if (name == "INFO") {
        const std::string text =
            "txt:# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n"
            "run_id:0123456789abcdef0123456789abcdef01234567\r\ntcp_port:0\r\n"
            "\r\n# Replication\r\nrole:master\r\n"
            "master_replid:123456789abcdef0123456789abcdef012345678\r\n";
        return "=" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    }
    if (name == "CLIENT" && command.size() > 1) {
        const std::string what = upper(command[1]);
        if (what == "ID" || what == "KILL") {
            return number(what == "ID" ? connection + 1 : 0);
        }
        return "+OK\r\n";
    }
    if (name == "AUTH" || name == "SELECT") {
        return "+OK\r\n";
    }
    if (name == "PING") {
        return "+PONG\r\n";
    }
    return topology(name, command);
}

std::string canned_redis::topology(const std::string& name, const words& command) {
    if (name == "SENTINEL" && command.size() > 1) {
        const bool asks_for_all = upper(command[1]) == "MASTER";
        return asks_for_all ? "%1\r\n" + bulk("config-epoch") + bulk("1")
                            : "*2\r\n" + bulk("m1") + bulk("6379");
    }
    if (name == "CLUSTER") {
        return "*1\r\n*3\r\n" + number(0) + number(16383) + "*2\r\n" + bulk("m1") +
               number(7000);
    }
    if (name == "PUBSUB") {
        return "*0\r\n";
    }
    if (name == "WAIT") {
        return number(1);
    }
    return name == "ASKING" ? "+OK\r\n" : "-ERR unknown command\r\n";
}

reaction canned_redis::answer(std::size_t connection, const words& command) {
    reaction out;
    if (command.empty()) {
        return out;
    }
    const std::string name = upper(command.front());
    if (name == "SCRIPT" && command.size() == 3) {
        out.bytes = load(command[2]);
    } else if (name == "EVALSHA") {
        out.bytes = run_loaded(command);
    } else if (name == "EVAL" && command.size() > 3) {
        load(command[1]);
        out.bytes = run(command[1], command);
    } else if (name == "SUBSCRIBE" || name == "UNSUBSCRIBE") {
        out.bytes = subscription(command);
    } else {
        out.bytes = handshake(connection, command);
    }
    return out;
}

}  // namespace conch::test
