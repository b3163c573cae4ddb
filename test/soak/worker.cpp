// SPDX-License-Identifier: BSL-1.0
#include "soak/worker.hpp"

#include "soak/witness.hpp"
#include "support/told_in_time.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <array>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace conch::soak {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using test::as_result;
using test::pass;

/// What a user is told to expect of a server or a wire in trouble, besides the loss of a hold.
/// Noise on the wire is told to who waited in vain for a connection after it.
const std::set<error_code> expected_of_acquires{
    errc::not_connected, errc::out_of_memory,  errc::server_unavailable,
    errc::timed_out,     errc::protocol_error, asio::error::operation_aborted};
const std::set<error_code> expected_of_unlocks{errc::lease_expired, errc::renewal_refused,
                                               errc::lock_lost, errc::lost_in_failover};

config settings_for(const std::string& wire) {
    config c;
    c.unix_path = wire;
    c.client_name = client_name;
    c.connect_timeout = 1s;
    c.response_timeout = 2s;
    c.operation_timeout = 4s;
    c.reconnect_delay_min = 5ms;
    c.reconnect_delay_max = 200ms;
    // Waiters hear of a release by its message, or far too late.
    c.max_poll_interval = 60s;
    return c;
}

/// A server as this process sees it.
struct side {
    side(asio::io_context& io, std::string its_name, const std::string& wire)
        : name{std::move(its_name)}, redis{io, settings_for(wire)} {}
    std::string name;
    client redis;
};

class process {
public:
    explicit process(const options& o)
        : options_{o},
          random_{o.seed},
          sides_{{{io_, "durable", o.durable}, {io_, "forgetful", o.forgetful}}} {}

    int go();

private:
    enum class way { wait, wait_briefly, attempt, cancel, outstay, outlast };

    asio::awaitable<void> labour(unsigned number);
    asio::awaitable<void> watch_input();
    asio::awaitable<void> conclude();
    asio::awaitable<hold> acquire(way how, const mutex& m, const lock_options& wanted, witness& w);
    asio::awaitable<void> section(way how, tenure& t, duration waited, const std::string& worker,
                                  witness& w);
    asio::awaitable<void> stay(way how, tenure& t, witness& w);
    asio::awaitable<void> give_back(tenure& t, witness& w);

    way choose();
    unsigned any(unsigned below) {
        return std::uniform_int_distribution<unsigned>{0, below - 1}(random_);
    }
    std::chrono::milliseconds some_time(unsigned below_ms) {
        return std::chrono::milliseconds{any(below_ms)};
    }

    const options& options_;
    std::mt19937_64 random_;
    asio::io_context io_{1};
    std::array<side, 2> sides_;
    bool stop_ = false;
};

process::way process::choose() {
    const unsigned n = any(1000);
    if (n < 700) {
        return way::wait;
    }
    if (n < 800) {
        return way::wait_briefly;
    }
    if (n < 880) {
        return way::attempt;
    }
    if (n < 984) {
        return way::cancel;
    }
    return n < 993 ? way::outstay : n < 996 ? way::outlast : way::wait;
}

asio::awaitable<hold> process::acquire(way how, const mutex& m, const lock_options& wanted,
                                       witness& w) {
    asio::cancellation_signal cancel;
    asio::steady_timer impatience{io_};
    if (how == way::cancel) {
        impatience.expires_after(some_time(60));
        impatience.async_wait([&cancel](error_code ec) {
            if (!ec) {
                cancel.emit(asio::cancellation_type::terminal);
            }
        });
    }
    auto token = asio::bind_cancellation_slot(cancel.slot(), asio::as_tuple(asio::use_awaitable));
    error_code ec;
    hold h;
    if (how == way::attempt) {
        std::tie(ec, h) = co_await m.async_try_lock(wanted, token);
    } else {
        std::tie(ec, h) = co_await m.async_lock(wanted, token);
    }
    // A handler that is already queued would still use the signal.
    if (how == way::cancel && impatience.cancel() == 0) {
        co_await pass(1ms);
    }
    if (ec && expected_of_acquires.contains(ec)) {
        co_await w.say("count acquire: " + ec.message());
    } else if (ec) {
        co_await w.say("wrong: acquire of " + std::string{m.name()} + ": " + ec.message());
    }
    if (ec && ec != errc::timed_out && ec != asio::error::operation_aborted) {
        co_await pass(10ms + some_time(40));
    }
    co_return h;
}

asio::awaitable<void> process::stay(way how, tenure& t, witness& w) {
    if (how == way::outstay) {
        const std::optional<error_code> told = co_await test::told_in_time(t.held());
        if (!told) {
            co_await w.say("wrong: a loss of " + t.name() + " was not told by valid_until");
        } else {
            co_await w.say("count told in time: " + told->message());
        }
    } else if (how == way::outlast) {
        co_await pass(lease + some_time(500));
    } else {
        co_await pass(some_time(3));
    }
}

asio::awaitable<void> process::section(way how, tenure& t, duration waited,
                                       const std::string& worker, witness& w) {
    const auto seen = co_await w.enter(worker, t, waited);
    if (!seen.accepted) {
        co_await w.say("count entered too late, refused by its fence");
        co_await w.leave(t);
        co_return;
    }
    co_await stay(how, t, w);
    const bool looked = t.held().owns_lock();
    if (looked) {
        co_await w.write_unfenced(t, seen.unfenced + 1);
    }
    // A holder that doesn't look at its hold tries as well: the fence is there for it.
    const auto written = co_await w.write(t, seen.value + 1);
    if (!written.accepted) {
        co_await w.say("count wrote too late, refused by its fence");
    }
    if (!written.accepted || !looked) {
        co_await w.leave(t);
    }
}

asio::awaitable<void> process::give_back(tenure& t, witness& w) {
    error_code why = t.held().lost_reason();
    if (any(8) == 0) {
        t.held().release();
    } else {
        const auto [ec] = co_await t.held().async_unlock(as_result);
        if (ec == errc::lease_expired && clock::now() < t.held().valid_until()) {
            co_await w.say("wrong: unlock of " + t.name() + ": expired ahead of its time");
        } else if (expected_of_unlocks.contains(ec)) {
            co_await w.say("count told by unlock: " + ec.message());
        } else if (ec) {
            co_await w.say("wrong: unlock of " + t.name() + ": " + ec.message());
        }
        why = ec;
    }
    if (why == errc::lock_lost || why == errc::lost_in_failover) {
        co_await w.taken(t);
    }
}

asio::awaitable<void> process::labour(unsigned number) {
    const std::string me = std::to_string(options_.worker) + '.' + std::to_string(number);
    witness w{io_, options_.resource};
    std::optional<time_point> asked;
    while (!stop_) {
        const way how = choose();
        side& s = sides_[any(2)];
        const mutex m{
            s.redis, s.name + ':' + std::to_string(any(options_.names)), {.fenced = true}};
        // Many leases are shorter than some answers are late.
        const bool brief = how == way::outstay || (how != way::outlast && any(3) == 0);
        lock_options wanted{.lease = brief ? short_lease : lease, .renew = !brief};
        if (how == way::wait_briefly) {
            wanted.wait = some_time(150);
        }
        asked = asked.value_or(clock::now());
        hold h = co_await acquire(how, m, wanted, w);
        if (h) {
            const duration waited = clock::now() - *asked;
            asked.reset();
            tenure t{std::string{m.name()}, std::move(h), *wanted.lease};
            co_await section(how, t, waited, me, w);
            co_await give_back(t, w);
        }
    }
}

asio::awaitable<void> process::watch_input() {
    asio::posix::stream_descriptor in{io_, ::dup(STDIN_FILENO)};
    std::array<char, 64> ignored{};
    for (;;) {
        const auto [ec, n] = co_await in.async_read_some(asio::buffer(ignored), as_result);
        if (ec) {
            break;
        }
    }
    stop_ = true;
}

asio::awaitable<void> process::conclude() {
    test::task_group group{io_.get_executor()};
    group.spawn(watch_input());
    for (unsigned i = 0; i < options_.coroutines; ++i) {
        group.spawn(labour(i));
    }
    co_await group.join();
    witness w{io_, options_.resource};
    for (side& s : sides_) {
        const auto idle = [&] {
            const stats now = s.redis.stats();
            return now.holds_now == 0 && now.waiting_now == 0 && now.slots_now == 0 &&
                   now.subscriptions_now == 0;
        };
        const bool empty = co_await test::when(idle);
        if (!empty) {
            co_await w.say("wrong: a client of the " + s.name + " server has state left");
        }
        co_await s.redis.async_shutdown(as_result);
    }
}

int process::go() {
    std::exception_ptr failure;
    asio::co_spawn(io_, conclude(), [&](std::exception_ptr e) { failure = e; });
    io_.run();
    if (failure) {
        std::rethrow_exception(failure);
    }
    return 0;
}

}  // namespace

int work(const options& o) {
    process p{o};
    return p.go();
}

}  // namespace conch::soak
