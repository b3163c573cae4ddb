// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_LEADER_FIXTURE_HPP
#define CONCH_TEST_INTEGRATION_LEADER_FIXTURE_HPP

#include "integration/fault_fixture.hpp"
#include "support/child_process.hpp"

#include <conch/leader.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace conch::test {

/// What all candidates of a test have in common.
struct office {
    int leading = 0;
    std::vector<std::uint64_t> fences{};
};

/// One that leads until it is told to step down.
class candidate {
public:
    candidate(const client& redis, office& o) : leader_{redis, "lock"}, office_{o} {}

    void start(const lead_options& options = {}) {
        end_.reset();
        auto body = [this](hold& h) { return lead(h); };
        leader_.async_lead(options, body,
                           asio::bind_cancellation_slot(
                               signal_.slot(), [this](std::exception_ptr e) { end_ = e; }));
    }
    void step_down() { stepping_down_ = true; }
    void cancel(asio::cancellation_type type) { signal_.emit(type); }

    bool leads() const { return leads_; }
    int terms() const { return terms_; }
    bool ended_in_time() const { return ended_in_time_; }
    bool ended() const { return end_.has_value(); }
    error_code why() const { return code_of(end_.value()); }
    std::string words() const {
        try {
            std::rethrow_exception(end_.value());
        } catch (const std::exception& e) {
            return e.what();
        }
    }

private:
    asio::awaitable<void> lead(hold& h) {
        EXPECT_EQ(++office_.leading, 1) << "two lead";
        EXPECT_TRUE(h.owns_lock());
        office_.fences.push_back(h.fence());
        stepping_down_ = false;
        leads_ = true;
        ++terms_;
        const term mine{*this, h};
        asio::steady_timer pause{co_await asio::this_coro::executor};
        while (!stepping_down_) {  // or until it is cancelled
            pause.expires_after(1ms);
            co_await pause.async_wait(asio::use_awaitable);
        }
    }

    /// Its end, in whatever way.
    struct term {
        candidate& who;
        hold& h;
        ~term() {
            who.ended_in_time_ = h.owns_lock();
            who.leads_ = false;
            --who.office_.leading;
        }
    };

    leader leader_;
    office& office_;
    asio::cancellation_signal signal_{};
    std::optional<std::exception_ptr> end_{};
    bool leads_ = false;
    bool stepping_down_ = false;
    bool ended_in_time_ = false;
    int terms_ = 0;
};

class leader_test : public fault_test {
protected:
    std::int64_t in_line() { return raw.must({"LLEN", "redisson_lock_queue:{lock}"}).number; }
    bool watching() { return raw.subscribers(channel_of("lock") + ":leader") == 1; }
    template <typename Condition>
    void expect(Condition condition, const char* what) {
        ASSERT_TRUE(run_until(io, condition)) << what;
    }
    /// `n` gets its place behind so many.
    void stand(candidate& n, std::int64_t before, const lead_options& options = {}) {
        n.start(options);
        expect([&] { return in_line() == before + 1; }, "it stands in line");
    }
    config polling(std::chrono::milliseconds interval, const std::string& client_name) const {
        config c = settings(client_name);
        c.max_poll_interval = interval;
        return c;
    }
    /// Leads in a process of its own, and does this with its hold.
    child_process elsewhere(duration lease, std::function<void(hold&, const leader&)> deed) {
        return child_process{[this, lease, deed](const auto& report) {
            asio::io_context own;
            client redis{own, settings("elsewhere")};
            const leader l{redis, "lock"};
            auto body = [&](hold& h) -> asio::awaitable<void> {
                report('L');
                deed(h, l);
                report(h.owns_lock() ? 'y' : 'n');
                asio::steady_timer never{co_await asio::this_coro::executor,
                                         asio::steady_timer::time_point::max()};
                co_await never.async_wait(asio::use_awaitable);
            };
            error_code end;
            const auto token = [&](std::exception_ptr e) {
                end = code_of(e);
                redis.async_shutdown({.drain = 1s}, [](error_code) {});
            };
            l.async_lead({.lease = lease}, std::ref(body), token);
            own.run_for(60s);
            return end == errc::lock_lost ? 0 : 1;
        }};
    }

    office all{};
    client one{io, push_only("one")};
    client two{io, push_only("two")};
    client three{io, push_only("three")};
    candidate c1{one, all};
    candidate c2{two, all};
    candidate c3{three, all};
    leader seen{three, "lock"};
};

}  // namespace conch::test

#endif
