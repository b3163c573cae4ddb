// SPDX-License-Identifier: BSL-1.0
#include "uncontended.hpp"

#include "raw_baseline.hpp"
#include "statistics.hpp"

#include <conch/conch.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace conch::bench {
namespace {

namespace asio = boost::asio;
using steady = std::chrono::steady_clock;

struct slice_result {
    double pairs_per_s = 0;
    std::vector<double> latencies_us{};
};

asio::awaitable<void> lock_and_unlock(mutex m, steady::time_point end, slice_result& result) {
    auto before = steady::now();
    while (before < end) {
        hold h = co_await m.async_lock();
        co_await h.async_unlock();
        const auto after = steady::now();
        result.latencies_us.push_back(
            std::chrono::duration<double, std::micro>{after - before}.count());
        before = after;
    }
}

/// One client, one event loop in the calling thread.
class conch_side {
public:
    conch_side(const config& server, std::size_t coroutines) : client_{context_, server} {
        for (std::size_t i = 0; i < coroutines; ++i) {
            mutexes_.emplace_back(client_, "conch-bench:own:" + std::to_string(i));
        }
        signals_.async_wait([](const boost::system::error_code& ec, int) {
            if (!ec) {
                throw std::runtime_error{"interrupted"};
            }
        });
    }

    slice_result run(std::chrono::duration<double> time) {
        slice_result result;
        result.latencies_us.reserve(last_count_ + last_count_ / 2);
        std::size_t running = mutexes_.size();
        const auto begin = steady::now();
        const auto end = begin + std::chrono::duration_cast<steady::duration>(time);
        for (const mutex& m : mutexes_) {
            asio::co_spawn(context_, lock_and_unlock(m, end, result),
                           [&running](const std::exception_ptr& failure) {
                               if (failure) {
                                   std::rethrow_exception(failure);
                               }
                               --running;
                           });
        }
        while (running > 0) {
            context_.run_one();
        }
        const std::chrono::duration<double> elapsed = steady::now() - begin;
        last_count_ = result.latencies_us.size();
        result.pairs_per_s = static_cast<double>(last_count_) / elapsed.count();
        return result;
    }

private:
    asio::io_context context_{1};
    asio::signal_set signals_{context_, SIGINT, SIGTERM};
    client client_;
    std::vector<mutex> mutexes_;
    std::size_t last_count_ = 0;
};

}  // namespace

uncontended_result run_uncontended(const config& server, const uncontended_options& options) {
    conch_side own{server, options.coroutines};
    raw_baseline raw{server, options.coroutines};
    own.run(options.slice);
    raw.run(options.slice);

    std::vector<double> own_rates, raw_rates, ratios, p50s, p99s;
    for (std::size_t round = 0; round < options.rounds; ++round) {
        // Each side goes first as often as second.
        const bool raw_first = round % 2 == 1;
        double raw_rate = raw_first ? raw.run(options.slice) : 0;
        const slice_result slice = own.run(options.slice);
        if (!raw_first) {
            raw_rate = raw.run(options.slice);
        }
        own_rates.push_back(slice.pairs_per_s);
        raw_rates.push_back(raw_rate);
        ratios.push_back(slice.pairs_per_s / raw_rate);
        p50s.push_back(percentile(slice.latencies_us, 50));
        p99s.push_back(percentile(slice.latencies_us, 99));
    }
    return {median(own_rates), median(raw_rates), median(ratios), median(p50s), median(p99s)};
}

}  // namespace conch::bench
