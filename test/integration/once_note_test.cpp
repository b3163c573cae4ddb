// SPDX-License-Identifier: BSL-1.0
// The note of a run that has come to its end, where something is in its way.
#include "integration/once_fixture.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <string>

namespace {

using namespace conch;
using namespace conch::test;

std::string text_of(const std::exception_ptr& e) {
    try {
        std::rethrow_exception(e);
    } catch (const std::exception& x) {
        return x.what();
    }
}

TEST_F(once_test, what_ran_and_could_not_be_noted_as_its_lease_ended_has_an_error_of_its_own) {
    client c{io, through()};
    job_runner w{c, yearly};
    w.start({.lease = 2s});
    expect([&] { return w.works(); }, "it works");
    wire.refuse();
    wire.cut();
    w.end();
    expect([&] { return w.ended(); }, "its lease ends");
    EXPECT_EQ(code_of(w.error()), errc::not_noted);
    EXPECT_FALSE(noted());
}

TEST_F(once_test, what_the_server_refuses_to_note_is_told_with_its_words) {
    w1.start({.lease = 2s});
    expect([&] { return w1.works(); }, "it works");
    raw.must({"CONFIG", "SET", "maxmemory", "1"});
    w1.end();
    expect([&] { return w1.ended(); }, "it is tried for a lease");
    raw.must({"CONFIG", "SET", "maxmemory", "0"});
    EXPECT_EQ(code_of(w1.error()), errc::not_noted);
    const std::string text = text_of(w1.error());
    EXPECT_NE(text.find("lock \"job\" at "), text.npos) << text;
    EXPECT_NE(text.find("the server is out of memory ("), text.npos) << text;
    EXPECT_NE(text.find("OOM command not allowed"), text.npos) << text;
    EXPECT_NE(text.find("the job has run"), text.npos) << text;
    EXPECT_FALSE(noted());
}

TEST_F(once_test, what_is_about_to_be_lost_is_noted_by_a_server_that_comes_back) {
    client c{io, through()};
    job_runner w{c, yearly};
    w.start({.lease = 8s, .renew = false, .stop_before = 4s});
    expect([&] { return w.works(); }, "it works");
    const std::int64_t began = server_ms();
    wire.stall_replies();
    w.end();
    expect([&] { return server_ms() > began + 5000; }, "the body would have been stopped");
    EXPECT_FALSE(w.ended());
    wire.heal();
    expect([&] { return w.ended(); }, "it ends");
    EXPECT_FALSE(code_of(w.error()));
    EXPECT_TRUE(w.ran());
}

TEST_F(once_test, what_comes_to_its_end_elsewhere_is_noted) {
    const once job{one, "job", yearly};
    asio::thread_pool elsewhere{1};
    auto body = [&]() -> asio::awaitable<void> {
        co_await asio::post(elsewhere, asio::bind_executor(elsewhere, asio::use_awaitable));
    };
    run([&]() -> asio::awaitable<void> {
        const bool ran = co_await job.async_run(body);
        EXPECT_TRUE(ran);
    });
    elsewhere.join();
    EXPECT_TRUE(noted());
}

}  // namespace
