// SPDX-License-Identifier: BSL-1.0
#include "pair_loop.hpp"

#include "direct_access.hpp"

#include <cstdint>
#include <functional>
#include <utility>

namespace conch::bench {

std::string own_name(std::size_t coroutine) {
    return std::string{tag} + ":own:" + std::to_string(coroutine);
}

namespace {

mutex lock_of_all(const client& redis, const std::string& name, std::size_t count) {
    std::vector<mutex> locks;
    for (std::size_t k = 0; k < count; ++k) {
        locks.emplace_back(redis, name + ':' + std::to_string(k));
    }
    const std::vector<std::reference_wrapper<const mutex>> all{locks.begin(), locks.end()};
    return multi_lock{all};
}

}  // namespace

pair_loop::pair_loop(const config& server, std::size_t coroutines, const own_locks& each)
    : client_{loop_.context(), server} {
    for (std::size_t i = 0; i < coroutines; ++i) {
        const std::string name = own_name(i);
        if (each.permits != 0) {
            locks_.emplace_back(
                semaphore{client_, name}.permits(static_cast<std::int64_t>(each.permits)));
        } else {
            locks_.emplace_back(each.locks == 1 ? mutex{client_, name}
                                                : lock_of_all(client_, name, each.locks));
        }
    }
}

pair_loop::pair_loop(const config& server, std::size_t coroutines, const std::string& name,
                     const mutex_options& what, std::size_t readers_percent)
    : client_{loop_.context(), server} {
    for (std::size_t i = 0; i < coroutines; ++i) {
        locks_.push_back(readers_percent == 0
                             ? lock_mix{mutex{client_, name, what}}
                             : lock_mix{shared_mutex{client_, name}, readers_percent, i});
    }
}

asio::awaitable<void> pair_loop::lock_and_unlock(lock_mix& locks) {
    auto before = steady::now();
    while (before < end_ && pairs_left_ > 0) {
        --pairs_left_;
        hold h = co_await locks.next().async_lock();
        co_await h.async_unlock();
        const auto after = steady::now();
        latencies_us_.push_back(microseconds(after - before));
        before = after;
    }
}

slice pair_loop::run(const slice_length& length) {
    latencies_us_.reserve(last_count_ + last_count_ / 2);
    pairs_left_ = length.pairs;
    for (lock_mix& locks : locks_) {
        loop_.spawn(lock_and_unlock(locks));  // starts when the loop runs
    }
    const slice_meter meter;
    end_ = steady::now() + std::chrono::duration_cast<steady::duration>(length.time);
    loop_.run_spawned();
    last_count_ = latencies_us_.size();
    return meter.finish(std::exchange(latencies_us_, {}));
}

}  // namespace conch::bench
