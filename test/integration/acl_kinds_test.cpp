// SPDX-License-Identifier: BSL-1.0
// Which rights a fair lock needs, which a read-write lock, and which each counter: without any one
// of them something is refused, and without any other nothing is, as the page on security says.
#include "integration/acl_fixture.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace {

using namespace conch;
using namespace conch::test;

/// The rights of the row of that page's table that says this.
rights_list rights_of_row(const std::string& what) {
    const std::string text = page_on_rights();
    const std::size_t at = text.find(what);
    rights_list out;
    if (at == std::string::npos) {
        return out;
    }
    const std::size_t begin = text.rfind('\n', at);
    const std::string line = text.substr(begin, at - begin);
    for (std::size_t i = line.find("`+"); i != std::string::npos; i = line.find("`+", i)) {
        const std::size_t end = line.find('`', i + 1);
        out.push_back(line.substr(i + 1, end - i - 1));
        i = end + 1;
    }
    return sorted(out);
}

/// What every lock needs stands first, up to the right to give up a subscription.
rights_list rights_of_kinds() {
    const rights_list& all = conch_rights();
    return {std::find(all.begin(), all.end(), "+unsubscribe") + 1, all.end()};
}

class acl_kinds_test : public acl_use_test {
protected:
    /// Those without which `use` is refused something.
    template <typename Use>
    rights_list needed(Use use) {
        rights_list out;
        for (const std::string& right : rights_of_kinds()) {
            rights_list fewer = rights;
            std::erase(fewer, right);
            raw.must({"FLUSHALL"});
            give(fewer);
            try_out(use);
            if (refused) {
                out.push_back(right);
            }
        }
        return sorted(out);
    }
};

// Someone who is not of conch stands in front, and has given up.
TEST_F(acl_kinds_test, a_fair_lock_needs_what_the_page_says) {
    const rights_list found = needed([&](client& one, client& other) -> asio::awaitable<void> {
        raw.must({"RPUSH", "redisson_lock_queue:{lock}", owner_of_redisson});
        raw.must({"ZADD", "redisson_lock_timeout:{lock}", "1", owner_of_redisson});
        const fair_mutex of_one{one, "lock"};
        const fair_mutex of_other{other, "lock"};
        co_await pass_on(of_one, of_other);
    });
    EXPECT_EQ(found, rights_of_row("no fair locks"));
}

TEST_F(acl_kinds_test, leased_permits_need_what_the_page_says) {
    const rights_list found = needed([&](client& one, client& other) -> asio::awaitable<void> {
        const semaphore of_one{one, "lock"};
        const semaphore of_other{other, "lock"};
        const auto [set] = co_await of_one.async_set_permits(2, as_result);
        note(set);
        raw.must({"SET", "lock", "2"});
        co_await pass_on(of_one.permits(2), of_other.permits(2));
        const auto [looked, left] = co_await of_one.async_available(as_result);
        note(looked);
    });
    EXPECT_EQ(found, rights_of_row("no semaphores whose permits have leases"));
}

TEST_F(acl_kinds_test, a_read_write_lock_needs_what_the_page_says) {
    const rights_list found = needed([&](client& one, client& other) -> asio::awaitable<void> {
        const shared_mutex of_one{one, "lock"};
        const shared_mutex of_other{other, "lock"};
        co_await read_and_write(of_one, of_other);
        if (!refused) {
            co_await pass_on(of_one.writer(), of_other.reader());
        }
    });
    EXPECT_EQ(found, rights_of_row("no read-write locks"));
}

TEST_F(acl_kinds_test, a_counting_semaphore_needs_what_the_page_says) {
    const rights_list found = needed([&](client& one, client& other) -> asio::awaitable<void> {
        const counting_semaphore of_one{one, "permits"};
        const counting_semaphore of_other{other, "permits"};
        co_await take_and_give(of_one, of_other);
    });
    EXPECT_EQ(found, rights_of_row("no rate limits of the kind `fixed_window`"));
}

TEST_F(acl_kinds_test, a_latch_needs_what_the_page_says) {
    const rights_list found = needed([&](client& one, client& other) -> asio::awaitable<void> {
        const latch of_one{one, "latch"};
        const latch of_other{other, "latch"};
        co_await count_to_zero(of_one, of_other);
    });
    rights_list expected = rights_of_row("no rate limits of the kind `fixed_window`");
    expected.emplace_back("+del");
    EXPECT_EQ(found, sorted(expected)) << "(these also need `+del`)";
}

}  // namespace
