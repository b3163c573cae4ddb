// SPDX-License-Identifier: BSL-1.0
#include "integration/acl_fixture.hpp"

namespace conch::test {

asio::awaitable<void> acl_use_test::pass_on(mutex of_one, mutex of_other) {
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

asio::awaitable<void> acl_use_test::read_and_write(shared_mutex of_one, shared_mutex of_other) {
    auto [read, reads] = co_await of_one.async_lock_shared(as_result);
    note(read);
    const auto [extended] = co_await reads.async_extend(60s, as_result);
    note(extended);
    const auto [kept_out, none] = co_await of_other.async_lock({.wait = 100ms}, as_result);
    note(kept_out);
    const auto [ended] = co_await reads.async_unlock(as_result);
    note(ended);
    auto [written, writes] = co_await of_one.async_lock({.wait = 5s}, as_result);
    note(written);
    const auto [turned] = co_await writes.async_downgrade(as_result);
    note(turned);
    auto [too, reads_too] = co_await of_other.async_try_lock_shared({.wait = 5s}, as_result);
    note(too);
    const auto [unlocked] = co_await writes.async_unlock(as_result);
    note(unlocked);
    const auto [last] = co_await reads_too.async_unlock(as_result);
    note(last);
}

asio::awaitable<void> acl_use_test::take_and_give(counting_semaphore of_one,
                                                  counting_semaphore of_other) {
    const auto [first, is_first] = co_await of_one.async_try_set(1, as_result);
    note(first);
    const auto [set] = co_await of_one.async_set(1, as_result);
    note(set);
    if (refused) {
        co_return;
    }
    const auto [took] = co_await of_one.async_acquire({.wait = 5s}, as_result);
    note(took);
    const auto [looked, left] = co_await of_other.async_available(as_result);
    note(looked);
    if (refused) {
        co_return;
    }
    bool ended = false;
    of_other.async_acquire({.wait = 5s}, [&](error_code ec) {
        note(ec);
        ended = true;
    });
    co_await when([&] { return ended || wait_now(of_one.name()) == 1; });
    const auto [gave] = co_await of_one.async_release(as_result);
    note(gave);
    co_await when([&] { return ended; });
    const auto [more] = co_await of_one.async_add(2, as_result);
    note(more);
    const auto [drained, all] = co_await of_one.async_drain(as_result);
    note(drained);
}

asio::awaitable<void> acl_use_test::count_to_zero(latch of_one, latch of_other) {
    const auto [set, was_open] = co_await of_one.async_try_set_count(2, as_result);
    note(set);
    const auto [one] = co_await of_one.async_count_down(as_result);
    note(one);
    const auto [looked, count] = co_await of_other.async_count(as_result);
    note(looked);
    if (refused) {
        co_return;
    }
    bool ended = false;
    of_other.async_wait({.wait = 5s}, [&](error_code ec) {
        note(ec);
        ended = true;
    });
    co_await when([&] { return ended || wait_now(of_one.name()) == 1; });
    const auto [last] = co_await of_one.async_count_down(as_result);
    note(last);
    co_await when([&] { return ended; });
}

std::size_t acl_use_test::wait_now(std::string_view name) {
    const std::string in_braces = '{' + std::string{name} + '}';
    const std::string tag = name.find('{') == name.npos ? in_braces : std::string{name};
    std::int64_t all = raw.must({"LLEN", "redisson_lock_queue:" + tag}).number +
                       raw.subscribers("redisson_countdownlatch__channel__" + in_braces);
    for (const char* const channels : {"redisson_sc:", "redisson_rwlock:",
                                       "redisson_lock__channel:", "conch_token_mutex_channel:"}) {
        all += raw.subscribers(channels + tag);
    }
    return static_cast<std::size_t>(all);
}

}  // namespace conch::test
