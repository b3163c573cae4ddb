// SPDX-License-Identifier: BSL-1.0
#include "unit/wire/text.hpp"

#include "wire/script.hpp"

#include <gtest/gtest.h>

#include <cctype>

namespace conch::test {
namespace {

std::string script_by_sha1(std::string_view sha1) {
    for (std::size_t i = 0; i < wire::script_count; ++i) {
        const wire::script& s = wire::get_script(static_cast<wire::script_id>(i));
        if (s.sha1 == sha1) {
            return std::string{s.name};
        }
    }
    return "unknown";
}

std::string script_by_body(std::string_view body) {
    for (std::size_t i = 0; i < wire::script_count; ++i) {
        const wire::script& s = wire::get_script(static_cast<wire::script_id>(i));
        if (s.body == body) {
            return std::string{s.name};
        }
    }
    return "unknown";
}

command to_command(const resp::value& v) {
    command c;
    std::vector<std::string> words;
    for (std::size_t i = 0; i < v.size(); ++i) {
        words.emplace_back(v.at(i).text());
    }
    if (words.at(0) != "EVALSHA" && words.at(0) != "EVAL") {
        c.name = words.at(0);
        c.args.assign(words.begin() + 1, words.end());
        if (c.name == "SCRIPT" && c.args.size() == 2) {
            c.args[1] = script_by_body(c.args[1]);
        }
        return c;
    }
    c.name = words[0] == "EVAL" ? join("EVAL ", script_by_body(words.at(1)))
                                : script_by_sha1(words.at(1));
    const auto keys = static_cast<std::ptrdiff_t>(std::stoul(words.at(2)));
    c.keys.assign(words.begin() + 3, words.begin() + 3 + keys);
    c.args.assign(words.begin() + 3 + keys, words.end());
    return c;
}

}  // namespace

std::string command::text() const {
    std::string out = name;
    for (const std::vector<std::string>* part : {&keys, &args}) {
        for (const std::string& word : *part) {
            out += join(" ", word.empty() ? "\"\"" : word);
        }
    }
    return out;
}

std::vector<command> read_commands(std::string_view bytes) {
    std::vector<command> out;
    resp::reader r;
    while (!bytes.empty()) {
        const resp::reader::status s = r.parse(bytes);
        EXPECT_EQ(s, resp::reader::status::message) << "not a whole command: " << bytes;
        if (s != resp::reader::status::message) {
            break;
        }
        out.push_back(to_command(r.get(bytes)));
        bytes.remove_prefix(r.size());
        r.next();
    }
    return out;
}

lines texts(const std::vector<command>& commands) {
    lines out;
    for (const command& c : commands) {
        out.push_back(c.text());
    }
    return out;
}

std::string channel_of(std::string_view lock) {
    return join("redisson_lock__channel:{", lock, "}");
}

std::string push(std::string_view what, std::string_view channel, std::string_view third) {
    return join(">3\r\n", bulk(what), bulk(channel), third);
}

std::string hello(std::int64_t client_id) {
    return join("%3\r\n", bulk("server"), bulk("redis"), bulk("proto"), integer(3), bulk("id"),
                integer(client_id));
}

std::string replication(std::string_view role, std::string_view id) {
    return bulk(join("# Replication\r\nrole:", role, "\r\nconnected_slaves:0\r\nmaster_replid:", id,
                     "\r\nmaster_replid2:0\r\n"));
}

std::string info(std::string_view run_id) {
    return bulk(join("# Server\r\nredis_version:7.0.15\r\nrun_id:", run_id, "\r\ntcp_port:1\r\n"));
}

std::string greeting(std::int64_t client_id, std::string_view run_id, bool with_select) {
    std::string out = join(hello(client_id), with_select ? ok() : "", replication("master", run_id),
                           info(run_id));
    for (std::size_t i = 0; i < wire::preloaded_scripts; ++i) {
        out += bulk(wire::get_script(static_cast<wire::script_id>(i)).sha1);
    }
    return out;
}

}  // namespace conch::test
