// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_ACL_FIXTURE_HPP
#define CONCH_TEST_INTEGRATION_ACL_FIXTURE_HPP

#include "support/redis_test.hpp"

#include <conch/conch.hpp>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
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

/// Uses of each kind by two clients, and whether something was refused.
class acl_use_test : public acl_test {
protected:
    /// `use` by two new clients.
    template <typename Use>
    void try_out(Use use) {
        refused = false;
        run([&]() -> asio::awaitable<void> {
            client one{io, settings("one")};
            client other{io, settings("other")};
            co_await use(one, other);
            co_await one.async_shutdown();
            co_await other.async_shutdown();
        });
    }
    void note(const error_code& ec) { refused = refused || ec == errc::permission_denied; }

    /// Two wait for a holder, have it one after the other, and give it back at once.
    asio::awaitable<void> pass_on(mutex of_one, mutex of_other);
    /// A reader keeps a writer out; then a writer becomes a reader, beside another one.
    asio::awaitable<void> read_and_write(shared_mutex of_one, shared_mutex of_other);
    asio::awaitable<void> take_and_give(counting_semaphore of_one, counting_semaphore of_other);
    asio::awaitable<void> count_to_zero(latch of_one, latch of_other);
    /// So many stand in line, or, of what has none, listen.
    std::size_t wait_now(std::string_view name);

    bool refused = false;
};

inline constexpr lock_options brief{.wait = 100ms, .lease = 200ms, .renew = false};

}  // namespace conch::test

#endif
