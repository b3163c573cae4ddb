// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_ONCE_FIXTURE_HPP
#define CONCH_TEST_INTEGRATION_ONCE_FIXTURE_HPP

#include "integration/fault_fixture.hpp"

#include <conch/once.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace conch::test {

inline const std::string note_of_job = "conch_done:{job}";

/// One that runs the job until it is told to end.
class job_runner {
public:
    job_runner(const client& redis, const once_schedule& s) : job_{redis, "job", s} {}

    void start(const lock_options& options = {}) {
        end_.reset();
        ending_ = false;
        auto body = [this]() { return work(); };
        job_.async_run(
            options, body,
            asio::bind_cancellation_slot(signal_.slot(), [this](std::exception_ptr e, bool ran) {
                end_ = e;
                ran_ = ran;
            }));
    }
    void end() { ending_ = true; }
    void fail() { fails_ = ending_ = true; }
    /// Where it is cancelled, it also forgets that.
    void forget() { forgets_ = true; }
    void cancel() { signal_.emit(asio::cancellation_type::terminal); }

    int runs() const { return runs_; }
    bool works() const { return works_; }
    bool ended() const { return end_.has_value(); }
    bool ran() const { return ran_; }
    std::exception_ptr error() const { return end_.value(); }

private:
    // Where it is cancelled, it returns as if nothing were.
    asio::awaitable<void> work() {
        ++runs_;
        works_ = true;
        asio::steady_timer pause{co_await asio::this_coro::executor};
        bool cancelled = false;
        while (!ending_ && !cancelled) {
            pause.expires_after(1ms);
            const auto [ec] = co_await pause.async_wait(as_result);
            cancelled = static_cast<bool>(ec);
        }
        if (forgets_) {
            co_await asio::this_coro::reset_cancellation_state();
        }
        works_ = false;
        if (std::exchange(fails_, false)) {
            throw std::runtime_error{"failed"};
        }
    }

    once job_;
    asio::cancellation_signal signal_{};
    std::optional<std::exception_ptr> end_{};
    bool ran_ = false;
    bool works_ = false;
    bool ending_ = false;
    bool fails_ = false;
    bool forgets_ = false;
    int runs_ = 0;
};

class once_test : public fault_test {
protected:
    /// A new period begins in no test.
    static constexpr once_schedule yearly{.period = std::chrono::hours{24 * 365}};
    static constexpr std::int64_t hour = 3'600'000;
    static constexpr std::int64_t year = 24 * 365 * hour;

    std::int64_t server_ms() {
        const auto now = raw.must({"TIME"}).items;
        return std::stoll(now.at(0).text) * 1000 + std::stoll(now.at(1).text) / 1000;
    }
    /// The present planned time.
    std::int64_t planned() { return server_ms() / year * year; }
    void set_note(std::int64_t ms) { raw.must({"SET", note_of_job, std::to_string(ms)}); }
    bool noted() { return raw.exists(note_of_job); }
    template <typename Condition>
    void expect(Condition condition, const char* what) {
        ASSERT_TRUE(run_until(io, condition)) << what;
    }
    /// Takes the job's lock without the job.
    hold locked(const client& redis, const std::string& name = "job") {
        lock_attempt a = start_lock(mutex{redis, name});
        EXPECT_TRUE(run_until(io, [&] { return a.done(); }));
        EXPECT_FALSE(a.ec()) << a.ec().message();
        return std::move(a.value());
    }
    /// A lease ends whose holder is dead, and who waits hears of it.
    void end_lease() {
        raw.must({"PEXPIRE", "job", "1"});
        raw.must({"PUBLISH", channel_of("job"), "0"});
    }
    error_code set_done(const once& job, const hold& h, std::int64_t ms) {
        std::optional<error_code> end;
        job.async_set_done(h, planned_time{std::chrono::milliseconds{ms}},
                           [&](error_code ec) { end = ec; });
        EXPECT_TRUE(run_until(io, [&] { return end.has_value(); }));
        return end.value_or(errc::timed_out);
    }

    client one{io, push_only("one")};
    client two{io, push_only("two")};
    client three{io, push_only("three")};
    job_runner w1{one, yearly};
    job_runner w2{two, yearly};
    job_runner w3{three, yearly};
};

}  // namespace conch::test

#endif
