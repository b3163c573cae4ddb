// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_LIST_RIGHTS_HPP
#define CONCH_TEST_INTEGRATION_LIST_RIGHTS_HPP

#include "support/raw_client.hpp"
#include "support/redis_test.hpp"
#include "support/server_version.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace conch::test {

/// Each ACL SETUSER of this user on the page on operations, with the tests' password: for any
/// server, what is added in a cluster, and what is added with Sentinel.
inline std::vector<std::vector<std::string>> list_users_of_page() {
    std::ifstream in{CONCH_PAGES "/operations.md"};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    std::vector<std::vector<std::string>> users;
    const std::string begin = "ACL SETUSER conch-ls ";
    for (auto at = text.find(begin); at != text.npos; at = text.find(begin, at + 1)) {
        std::string line = text.substr(at, text.find("\n#", at) - at);
        std::erase_if(line, [](char c) { return c == '\'' || c == '\\'; });
        std::istringstream in_words{line};
        std::vector<std::string>& all = users.emplace_back(
            std::istream_iterator<std::string>{in_words}, std::istream_iterator<std::string>{});
        std::replace(all.begin(), all.end(), std::string{">PASSWORD"},
                     '>' + std::string{conch_password});
    }
    return users;
}

inline std::vector<std::string> list_user_of_page() { return list_users_of_page().at(0); }

/// "client|list" as this server counts it, and can forbid it: versions before 7 know no parts.
inline std::string command_of(const std::string& right) {
    return server_is_before(7) ? right.substr(0, right.find('|')) : right;
}

/// The commands that this user may send.
inline std::set<std::string> list_commands_of_page() {
    std::set<std::string> out;
    for (const std::string& word : list_user_of_page()) {
        if (word.starts_with('+')) {
            out.insert(command_of(word.substr(1)));
        }
    }
    return out;
}

/// What has been sent since `raw_client::reset_calls()`, by other clients.
inline std::set<std::string> commands_sent(raw_client& raw) {
    std::istringstream lines{raw.must({"INFO", "commandstats"}).text};
    const std::string head = "cmdstat_";
    std::set<std::string> out;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(":calls=");
        if (line.starts_with(head) && colon != line.npos && line[colon + 7] != '0') {
            out.insert(line.substr(head.size(), colon - head.size()));
        }
    }
    out.erase(command_of("config|resetstat"));
    return out;
}

}  // namespace conch::test

#endif
