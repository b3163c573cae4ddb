// SPDX-License-Identifier: BSL-1.0
#include <conch/blocking.hpp>
#include <conch/printable.hpp>

#include "api/blocking_core.hpp"

#include <utility>

namespace conch {
namespace {

const char* kind_of(const counting_semaphore&) noexcept { return "semaphore \""; }
const char* kind_of(const latch&) noexcept { return "latch \""; }
const char* kind_of(const rate_limiter&) noexcept { return "rate limit \""; }

/// Calls; the library's errors name the counter.
template <typename... Result, typename Counter, typename Start>
auto ask(const impl::blocking_core& client, const Counter& of, Start start) {
    try {
        return client.ask<Result...>(start);
    } catch (const system_error& e) {
        if (e.code().category() != conch_category()) {
            throw;
        }
        throw system_error{e.code(), kind_of(of) + printable(of.name()) + '"'};
    }
}

}  // namespace

blocking_semaphore::blocking_semaphore(const blocking_client& redis, std::string_view name)
    : core_{redis.core_}, semaphore_{core_->redis(), name} {}

void blocking_semaphore::acquire(std::int64_t permits, const wait_options& options) {
    ask(*core_, semaphore_,
        [&](auto done) { semaphore_.async_acquire(permits, options, std::move(done)); });
}

bool blocking_semaphore::try_acquire(std::int64_t permits) {
    return ask<bool>(*core_, semaphore_,
                     [&](auto done) { semaphore_.async_try_acquire(permits, std::move(done)); });
}

void blocking_semaphore::release(std::int64_t permits) {
    ask(*core_, semaphore_, [&](auto done) { semaphore_.async_release(permits, std::move(done)); });
}

void blocking_semaphore::add(std::int64_t permits) {
    ask(*core_, semaphore_, [&](auto done) { semaphore_.async_add(permits, std::move(done)); });
}

void blocking_semaphore::set(std::int64_t permits) {
    ask(*core_, semaphore_, [&](auto done) { semaphore_.async_set(permits, std::move(done)); });
}

bool blocking_semaphore::try_set(std::int64_t permits) {
    return ask<bool>(*core_, semaphore_,
                     [&](auto done) { semaphore_.async_try_set(permits, std::move(done)); });
}

std::int64_t blocking_semaphore::drain() {
    return ask<std::int64_t>(*core_, semaphore_,
                             [&](auto done) { semaphore_.async_drain(std::move(done)); });
}

std::int64_t blocking_semaphore::available() {
    return ask<std::int64_t>(*core_, semaphore_,
                             [&](auto done) { semaphore_.async_available(std::move(done)); });
}

std::string_view blocking_semaphore::name() const noexcept { return semaphore_.name(); }

blocking_latch::blocking_latch(const blocking_client& redis, std::string_view name)
    : core_{redis.core_}, latch_{core_->redis(), name} {}

bool blocking_latch::try_set_count(std::int64_t count) {
    return ask<bool>(*core_, latch_,
                     [&](auto done) { latch_.async_try_set_count(count, std::move(done)); });
}

void blocking_latch::count_down(std::int64_t by) {
    ask(*core_, latch_, [&](auto done) { latch_.async_count_down(by, std::move(done)); });
}

void blocking_latch::wait(const wait_options& options) {
    ask(*core_, latch_, [&](auto done) { latch_.async_wait(options, std::move(done)); });
}

std::int64_t blocking_latch::count() {
    return ask<std::int64_t>(*core_, latch_,
                             [&](auto done) { latch_.async_count(std::move(done)); });
}

std::string_view blocking_latch::name() const noexcept { return latch_.name(); }

blocking_rate_limiter::blocking_rate_limiter(const blocking_client& redis, std::string_view name,
                                             const rate& allowed, rate_algorithm algorithm)
    : core_{redis.core_}, limiter_{core_->redis(), name, allowed, algorithm} {}

rate_verdict blocking_rate_limiter::try_acquire(std::int64_t permits) {
    return ask<rate_verdict>(
        *core_, limiter_, [&](auto done) { limiter_.async_try_acquire(permits, std::move(done)); });
}

rate_verdict blocking_rate_limiter::wait_for(std::uint64_t permits, const rate_options& options) {
    return ask<rate_verdict>(*core_, limiter_, [&](auto done) {
        limiter_.async_acquire(permits, options, std::move(done));
    });
}

std::string_view blocking_rate_limiter::name() const noexcept { return limiter_.name(); }

}  // namespace conch
