// SPDX-License-Identifier: BSL-1.0
// Which rights a fair lock needs, and which one a semaphore whose permits have leases: without any
// one of them something is refused, and without any other nothing is, as the page on security says.
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

class acl_kinds_test : public acl_test {
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
            refused = false;
            run([&]() -> asio::awaitable<void> {
                client one{io, settings("one")};
                client other{io, settings("other")};
                co_await use(one, other);
                co_await one.async_shutdown();
                co_await other.async_shutdown();
            });
            if (refused) {
                out.push_back(right);
            }
        }
        return sorted(out);
    }
    void note(const error_code& ec) { refused = refused || ec == errc::permission_denied; }

    /// Two wait for a holder, have it one after the other, and give it back at once.
    asio::awaitable<void> pass_on(mutex of_one, mutex of_other) {
        auto [ec, h] = co_await of_one.async_lock(as_result);
        note(ec);
        const auto [extended] = co_await h.async_extend(60s, as_result);
        note(extended);
        const auto [looked, s] = co_await of_other.async_status(as_result);
        note(looked);
        if (refused) {
            co_return;  // the others might wait in vain
        }
        std::size_t waiting = 0;
        std::size_t ended = 0;
        for (const mutex* m : {&of_other, &of_one}) {
            ++waiting;
            m->async_lock({.wait = 5s}, [&](error_code why, const hold&) {
                note(why);
                ++ended;
            });
            co_await when([&] { return ended > 0 || wait_now(of_one.name()) == waiting; });
        }
        const auto [unlocked] = co_await h.async_unlock(as_result);
        note(unlocked);
        co_await when([&] { return ended == waiting; });
        const auto [tried, last] = co_await of_one.async_try_lock(as_result);
        note(tried);
        const auto [forced, had] = co_await of_one.async_force_unlock(as_result);
        note(forced);
    }
    /// So many stand in line, or, of permits, listen.
    std::size_t wait_now(std::string_view name) {
        const std::string tag = '{' + std::string{name} + '}';
        return static_cast<std::size_t>(raw.subscribers("redisson_sc:" + tag) +
                                        raw.must({"LLEN", "redisson_lock_queue:" + tag}).number);
    }

    bool refused = false;
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

}  // namespace
