// SPDX-License-Identifier: BSL-1.0
#include <conch/blocking.hpp>

#include "api/blocking_core.hpp"

#include <boost/asio/use_future.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace conch {
namespace {

namespace asio = boost::asio;

[[noreturn]] void refuse(boost::system::errc::errc_t why, const char* what) {
    throw system_error{make_error_code(why), what};
}

// What every call here gives to an operation: its error is thrown by the thread that asked, not
// carried over from the client's.
const auto answer = asio::use_future([](error_code ec, auto... result) {
    return std::tuple<error_code, decltype(result)...>{ec, std::move(result)...};
});

void ask(std::future<std::tuple<error_code>> asked) {
    if (const auto [ec] = asked.get(); ec) {
        throw system_error{ec};
    }
}

template <typename Result>
Result ask(std::future<std::tuple<error_code, Result>> asked) {
    auto [ec, result] = asked.get();
    if (ec) {
        throw system_error{ec};
    }
    return std::move(result);
}

}  // namespace

blocking_client::blocking_client(config settings)
    : core_{std::make_shared<impl::blocking_core>(std::move(settings))} {}

blocking_client::~blocking_client() { core_->shutdown({}); }

void blocking_client::shutdown(const shutdown_options& options) {
    core_->may_block();
    core_->shutdown(options);
}

client& blocking_client::async() noexcept { return core_->redis(); }

stats blocking_client::stats() const { return core_->redis().stats(); }

std::string blocking_client::last_server_error() const {
    return core_->redis().last_server_error();
}

const std::string& blocking_client::id() const noexcept { return core_->redis().id(); }

blocking_mutex::blocking_mutex(const blocking_client& redis, std::string_view name,
                               const mutex_options& kind, const lock_options& options)
    : core_{redis.core_},
      mutex_{core_->redis(), name, kind},
      options_{options},
      state_{std::make_unique<impl::blocking_state>()} {}

blocking_mutex::blocking_mutex(const blocking_client& redis, const mutex& of,
                               const lock_options& options)
    : core_{redis.core_},
      mutex_{of},
      options_{options},
      state_{std::make_unique<impl::blocking_state>()} {}

blocking_mutex::~blocking_mutex() = default;

void blocking_mutex::lock() {
    core_->may_block();
    if (!state_->may_lock()) {
        refuse(boost::system::errc::resource_deadlock_would_occur,
               "conch: this thread has the lock already");
    }
    state_->keep(ask(mutex_.async_lock(options_, answer)));
}

bool blocking_mutex::try_lock() { return try_for(duration::zero()); }

bool blocking_mutex::try_for(duration wait) {
    core_->may_block();
    if (!state_->may_lock()) {
        refuse(boost::system::errc::resource_deadlock_would_occur,
               "conch: this thread has the lock already");
    }
    lock_options options = options_;
    options.wait = std::max(wait, duration::zero());
    hold h = ask(mutex_.async_try_lock(options, answer));
    if (!h) {
        return false;
    }
    state_->keep(std::move(h));
    return true;
}

void blocking_mutex::unlock() {
    core_->may_block();
    hold h = state_->take();
    if (!h) {
        refuse(boost::system::errc::operation_not_permitted,
               "conch: this thread doesn't have the lock");
    }
    try {
        unlock(h);
        state_->unlocked({});
    } catch (const system_error& e) {
        state_->unlocked(e.code());
    }
}

bool blocking_mutex::owns_lock() const noexcept {
    return state_->look([](const hold& h) { return h.owns_lock(); });
}

time_point blocking_mutex::valid_until() const noexcept {
    return state_->look([](const hold& h) { return h.valid_until(); });
}

std::uint64_t blocking_mutex::fence() const noexcept {
    return state_->look([](const hold& h) { return h.fence(); });
}

error_code blocking_mutex::unlock_error() const noexcept { return state_->unlock_error(); }

hold blocking_mutex::acquire(const lock_options& options) {
    core_->may_block();
    return ask(mutex_.async_lock(options, answer));
}

hold blocking_mutex::try_acquire(const lock_options& options) {
    core_->may_block();
    return ask(mutex_.async_try_lock(options, answer));
}

void blocking_mutex::unlock(hold& h) {
    core_->may_block();
    ask(h.async_unlock(answer));
}

std::future<hold> blocking_mutex::acquire_future(const lock_options& options) {
    return mutex_.async_lock(options, asio::use_future);
}

lock_status blocking_mutex::status() {
    core_->may_block();
    return ask(mutex_.async_status(answer));
}

bool blocking_mutex::force_unlock() {
    core_->may_block();
    return ask(mutex_.async_force_unlock(answer));
}

std::string_view blocking_mutex::name() const noexcept { return mutex_.name(); }

}  // namespace conch
