// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_DEPLOYMENT_JOB_RUN_HPP
#define CONCH_TEST_DEPLOYMENT_JOB_RUN_HPP

#include "support/code_of.hpp"
#include "support/run.hpp"

#include <conch/once.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <optional>
#include <string>

namespace conch::test {

/// A host that comes for a job, which takes until it is told to end.
class job_run {
public:
    /// A new period begins in no test.
    static constexpr once_schedule yearly{.period = std::chrono::hours{24 * 365}};

    job_run(const client& c, const std::string& name) : job_{c, name, yearly} {
        job_.async_run({.lease = 60s}, body_, [this](std::exception_ptr e, bool ran) {
            EXPECT_FALSE(e) << code_of(e).message();
            ran_ = ran;
        });
    }
    job_run(const job_run&) = delete;
    job_run& operator=(const job_run&) = delete;

    asio::awaitable<void> works() const {
        const bool works = co_await when([&] { return works_; }, patience);
        EXPECT_TRUE(works) << "it does not run";
    }
    void end() { ending_ = true; }
    /// It comes to its end, and has run the job itself, or not.
    asio::awaitable<void> ended(bool ran) const {
        const bool ended = co_await when([&] { return ran_.has_value(); }, patience);
        EXPECT_TRUE(ended) << "it does not end";
        EXPECT_EQ(ran_, ran);
    }

private:
    static constexpr std::chrono::seconds patience{60};

    struct body {
        job_run& of;
        asio::awaitable<void> operator()() const {
            of.works_ = true;
            co_await when([this] { return of.ending_; }, patience);
        }
    };

    once job_;
    body body_{*this};
    bool works_ = false;
    bool ending_ = false;
    std::optional<bool> ran_{};
};

}  // namespace conch::test

#endif
