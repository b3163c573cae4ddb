// SPDX-License-Identifier: BSL-1.0
// Which keys each kind of lock and counter uses: those that the page on security names for it, each
// of them, and no other.
#include "integration/acl_fixture.hpp"
#include "support/rate_algorithms.hpp"

#include <conch/rate_limiter.hpp>

#include <ostream>
#include <set>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

struct kind_of_keys {
    const char* kind;
    /// Beside the names themselves.
    rights_list also;
};

void PrintTo(const kind_of_keys& k, std::ostream* out) { *out << k.kind; }

const std::vector<kind_of_keys>& kinds() {
    static const std::vector<kind_of_keys> all{
        {"mutex", {}},
        {"fenced_mutex", {"~redisson_lock_token:{orders:*"}},
        {"token_mutex", {}},
        {"fenced_token_mutex", {"~conch_token_mutex_fence:{orders:*"}},
        {"shared_mutex", {"~{orders:*", "~conch_rw_writer:{orders:*"}},
        {"fair_mutex",
         {"~redisson_lock_queue:{orders:*", "~redisson_lock_timeout:{orders:*",
          "~conch_fair_lease:{orders:*", "~redisson_lock_token:{orders:*"}},
        {"rate_limiter", {}},
        {"counting_semaphore", {"~conch_once:{orders:*"}},
        {"latch", {"~conch_once:{orders:*"}},
        {"semaphore", {"~conch_once:{orders:*", "~{orders:*"}},
        {"once", {"~redisson_lock_token:{orders:*", "~conch_done:{orders:*"}},
        {"deadlock_detection", {"~conch_wait:{orders:*"}}};
    return all;
}

rights_list patterns_of(const kind_of_keys& k) {
    rights_list out{"~orders:*"};
    out.insert(out.end(), k.also.begin(), k.also.end());
    return out;
}

/// Of names that have a brace: then the keys have no other.
rights_list without_brace(const rights_list& patterns) {
    rights_list out;
    for (std::string pattern : patterns) {
        std::erase(pattern, '{');
        if (std::find(out.begin(), out.end(), pattern) == out.end()) {
            out.push_back(pattern);
        }
    }
    return out;
}

class acl_keys_test : public acl_use_test, public ::testing::WithParamInterface<kind_of_keys> {
protected:
    void expect_enough(const rights_list& patterns) {
        give_keys(patterns);
        try_out([&](client& one, client& other) { return use(one, other); });
        EXPECT_FALSE(refused);
        EXPECT_EQ(raw.refused(), std::vector<std::string>{});
    }
    void expect_each_needed(const rights_list& patterns) {
        for (const std::string& pattern : patterns) {
            rights_list fewer = patterns;
            std::erase(fewer, pattern);
            give_keys(fewer);
            try_out([&](client& one, client& other) { return use(one, other); });
            EXPECT_NE(raw.refused(), std::vector<std::string>{}) << "without " << pattern;
        }
    }
    void give_keys(const rights_list& patterns) {
        rights_list all = patterns;
        all.insert(all.end(), rights.begin() + 1, rights.end());
        raw.must({"FLUSHALL"});
        give(all);
    }
    asio::awaitable<void> use(client& one, client& other) {
        const std::string kind = GetParam().kind;
        if (kind == "mutex" || kind == "fenced_mutex") {
            const mutex_options o{.fenced = kind != "mutex"};
            co_await pass_on(mutex{one, name, o}, mutex{other, name, o});
        } else if (kind == "token_mutex" || kind == "fenced_token_mutex") {
            const mutex_options o{.fenced = kind != "token_mutex"};
            co_await pass_on(token_mutex{one, name, o}, token_mutex{other, name, o});
        } else if (kind == "shared_mutex") {
            const shared_mutex of_one{one, name};
            const shared_mutex of_other{other, name};
            co_await read_and_write(of_one, of_other);
            if (!refused) {
                co_await pass_on(of_one.writer(), of_other.reader());
            }
        } else if (kind == "fair_mutex") {
            co_await pass_on(fair_mutex{one, name}, fair_mutex{other, name});
        } else if (kind == "rate_limiter") {
            co_await use_rates(one);
        } else {
            co_await use_counters(kind, one, other);
        }
    }

    std::string name = "orders:7";
    std::string wanted_name = "orders:wanted";

private:
    asio::awaitable<void> use_rates(client& one) {
        for (const rate_algorithm a : rate_algorithms) {
            const rate_limiter calls{one, name + name_of(a), {5, 1h}, a};
            const auto [ec, v] = co_await calls.async_try_acquire(as_result);
            note(ec);
        }
    }
    asio::awaitable<void> use_counters(const std::string& kind, client& one, client& other) {
        if (kind == "counting_semaphore") {
            const counting_semaphore of_one{one, name};
            const counting_semaphore of_other{other, name};
            co_await take_and_give(of_one, of_other);
        } else if (kind == "latch") {
            const latch of_one{one, name};
            const latch of_other{other, name};
            co_await count_to_zero(of_one, of_other);
        } else if (kind == "semaphore") {
            const semaphore of_one{one, name};
            const semaphore of_other{other, name};
            const auto [ec] = co_await of_one.async_set_permits(1, as_result);
            note(ec);
            raw.must({"SET", name, "1"});
            co_await pass_on(of_one.permits(1), of_other.permits(1));
        } else if (kind == "once") {
            co_await run_once(one);
        } else {
            co_await use_deadlocks(other);
        }
    }
    asio::awaitable<void> run_once(client& one) {
        const once job{one, name, {.period = 1h}};
        const auto body = []() -> asio::awaitable<void> { co_return; };
        for (int i = 0; i < 2; ++i) {
            try {
                const bool ran =
                    co_await job.async_run(lock_options{.lease = 10s}, body, asio::use_awaitable);
                EXPECT_EQ(ran, i == 0);
            } catch (const system_error& e) {
                note(e.code());
            }
        }
    }
    /// An owner waits for what another one has, and tells it.
    asio::awaitable<void> use_deadlocks(client& other) {
        config looking = settings("looking");
        looking.deadlock_detection = true;
        looking.max_poll_interval = 20ms;
        client c{io, looking};
        const owner job{};
        const mutex wanted{c, wanted_name};
        const auto [first, theirs] =
            co_await mutex{other, wanted_name}.async_lock({.lease = 10s}, as_result);
        note(first);
        const auto [second, mine] = co_await mutex{c, name}.async_lock({.owner = &job}, as_result);
        note(second);
        const auto [waited, none] =
            co_await wanted.async_lock({.wait = 1s, .owner = &job}, as_result);
        note(waited);
        co_await c.async_shutdown();
    }
};

INSTANTIATE_TEST_SUITE_P(of, acl_keys_test, ::testing::ValuesIn(kinds()),
                         [](const auto& which) { return std::string{which.param.kind}; });

TEST_P(acl_keys_test, are_those_of_the_page_and_no_other) {
    expect_enough(patterns_of(GetParam()));
}

TEST_P(acl_keys_test, are_needed_each) { expect_each_needed(patterns_of(GetParam())); }

TEST_P(acl_keys_test, of_names_with_a_brace_are_those_of_the_page_without_theirs) {
    name = "orders:{7}";
    wanted_name = "orders:{wanted}";
    expect_enough(without_brace(patterns_of(GetParam())));
    expect_each_needed(without_brace(patterns_of(GetParam())));
}

TEST(acl_page_test, names_these_keys_and_no_others) {
    std::set<std::string> used;
    for (const kind_of_keys& k : kinds()) {
        for (const std::string& pattern : patterns_of(k)) {
            used.insert(pattern);
        }
    }
    std::set<std::string> named;
    const std::string text = page_on_rights();
    for (std::size_t i = text.find("`~"); i != text.npos; i = text.find("`~", i)) {
        const std::size_t end = text.find('`', i + 1);
        named.insert(text.substr(i + 1, end - i - 1));
        i = end + 1;
    }
    named.erase("~*");  // instead of which they are named
    EXPECT_EQ(named.erase("~redisson_lock_token:orders:*"), 1u) << "as an example of a brace";
    EXPECT_EQ(named, used);
}

}  // namespace
