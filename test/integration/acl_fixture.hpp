// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_ACL_FIXTURE_HPP
#define CONCH_TEST_INTEGRATION_ACL_FIXTURE_HPP

#include "support/redis_test.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace conch::test {

using rights_list = std::vector<std::string>;

/// The page on security.
inline std::string page_on_rights() {
    std::ifstream in{CONCH_PAGES "/security.md"};
    return {std::istreambuf_iterator<char>{in}, {}};
}

/// The rights of the ACL SETUSER below this comment in the page on security, sorted, without quotes
/// and line ends.
inline rights_list rights_of_page(const std::string& comment) {
    const std::string text = page_on_rights();
    const std::string begin = "ACL SETUSER conch ";
    const std::size_t at = text.find(begin, text.find("\n# " + comment + '\n'));
    if (at == std::string::npos) {
        return {};
    }
    std::size_t end = text.find('\n', at);
    while (text[end - 1] == '\\') {
        end = text.find('\n', end + 1);
    }
    std::string line = text.substr(at + begin.size(), end - at - begin.size());
    std::erase_if(line, [](char c) { return c == '\'' || c == '\\'; });
    std::istringstream words{line};
    rights_list out{std::istream_iterator<std::string>{words}, {}};
    std::erase_if(out, [](const std::string& w) { return w == "on" || w == ">PASSWORD"; });
    std::sort(out.begin(), out.end());
    return out;
}

inline rights_list sorted(rights_list l) {
    std::sort(l.begin(), l.end());
    return l;
}

/// A server whose user has the rights that a test gives it.
class acl_test : public redis_test {
protected:
    acl_test() { may_refuse = true; }

    void give(const rights_list& given) {
        raw_client::words line{"ACL",   "SETUSER", "conch",
                               "reset", "on",      '>' + std::string{conch_password}};
        line.insert(line.end(), given.begin(), given.end());
        raw.must(line);
        raw.must({"ACL", "LOG", "RESET"});
        raw.must({"SCRIPT", "FLUSH"});
    }

    rights_list rights = conch_rights();
};

inline constexpr lock_options brief{.wait = 100ms, .lease = 200ms, .renew = false};

}  // namespace conch::test

#endif
