// SPDX-License-Identifier: BSL-1.0
#include <conch/blocking.hpp>

#include "api/blocking_core.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace conch {
namespace {

[[noreturn]] void refuse(boost::system::errc::errc_t why, const char* what) {
    throw system_error{make_error_code(why), what};
}

/// Calls; the library's errors name lock and server.
template <typename Call>
auto naming(const mutex& m, Call call) {
    try {
        return call();
    } catch (const system_error& e) {
        if (e.code().category() != conch_category()) {
            throw;
        }
        throw system_error{e.code(), m.label()};
    }
}

template <typename... Result, typename Start>
auto ask(const impl::blocking_core& client, const mutex& m, Start start) {
    return naming(m, [&] { return client.ask<Result...>(start); });
}

}  // namespace

blocking_client::blocking_client(config settings)
    : core_{std::make_shared<impl::blocking_core>(std::move(settings))} {}

blocking_client::~blocking_client() { core_->shutdown({}); }

void blocking_client::shutdown(const shutdown_options& options) {
    core_->may_block();
    core_->shutdown(options);
}

client& blocking_client::async() { return core_->redis(); }

stats blocking_client::stats() const { return core_->redis().stats(); }

std::string blocking_client::last_server_error() const {
    return core_->redis().last_server_error();
}

std::string blocking_client::last_deadlock() const { return core_->redis().last_deadlock(); }

const std::string& blocking_client::id() const noexcept { return core_->id(); }

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
      state_{std::make_unique<impl::blocking_state>()} {
    core_->redis();
}

blocking_mutex::~blocking_mutex() {
    if (core_->forked()) {
        // Another thread of the parent may have been changing it.
        static_cast<void>(state_.release());
    }
}

void blocking_mutex::lock() {
    naming(mutex_, [&] { core_->may_block(); });
    if (!state_->may_lock()) {
        refuse(boost::system::errc::resource_deadlock_would_occur,
               "conch: this thread has the lock already");
    }
    state_->keep(
        ask<hold>(*core_, mutex_,
                  [&](auto done) { mutex_.async_lock(options_, std::move(done)); }));
}

bool blocking_mutex::try_lock() { return try_for(duration::zero()); }

bool blocking_mutex::try_for(duration wait) {
    naming(mutex_, [&] { core_->may_block(); });
    if (!state_->may_lock()) {
        refuse(boost::system::errc::resource_deadlock_would_occur,
               "conch: this thread has the lock already");
    }
    lock_options options = options_;
    options.wait = std::max(wait, duration::zero());
    hold h =
        ask<hold>(*core_, mutex_,
                  [&](auto done) { mutex_.async_try_lock(options, std::move(done)); });
    if (!h) {
        return false;
    }
    state_->keep(std::move(h));
    return true;
}

void blocking_mutex::unlock() {
    if (core_->forked()) {
        return;
    }
    core_->may_block();
    hold h = take();
    try {
        unlock(h);
        state_->unlocked({});
    } catch (const system_error& e) {
        state_->unlocked(e.code());
    }
}

hold blocking_mutex::take() {
    hold h = state_->take();
    if (!h) {
        refuse(boost::system::errc::operation_not_permitted,
               "conch: this thread doesn't have the lock");
    }
    return h;
}

void blocking_mutex::downgrade() {
    naming(mutex_, [&] { core_->may_block(); });
    hold h = take();
    try {
        downgrade(h);
    } catch (...) {
        state_->keep(std::move(h));
        throw;
    }
    state_->keep(std::move(h));
}

bool blocking_mutex::owns_lock() const noexcept {
    return !core_->forked() && state_->look([](const hold& h) { return h.owns_lock(); });
}

time_point blocking_mutex::valid_until() const noexcept {
    return core_->forked() ? time_point{}
                           : state_->look([](const hold& h) { return h.valid_until(); });
}

std::uint64_t blocking_mutex::fence() const noexcept {
    return core_->forked() ? 0 : state_->look([](const hold& h) { return h.fence(); });
}

void blocking_mutex::progress() const noexcept {
    if (!core_->forked()) {
        state_->look([](const hold& h) { h.progress(); });
    }
}

std::stop_token blocking_mutex::stop_token(duration before) const {
    return core_->forked() ? hold{}.stop_token(before)
                           : state_->look([&](const hold& h) { return h.stop_token(before); });
}

error_code blocking_mutex::unlock_error() const noexcept {
    return core_->forked() ? make_error_code(errc::forked) : state_->unlock_error();
}

hold blocking_mutex::acquire(const lock_options& options) {
    return ask<hold>(*core_, mutex_,
                     [&](auto done) { mutex_.async_lock(options, std::move(done)); });
}

hold blocking_mutex::try_acquire(const lock_options& options) {
    return ask<hold>(*core_, mutex_,
                     [&](auto done) { mutex_.async_try_lock(options, std::move(done)); });
}

void blocking_mutex::unlock(hold& h) {
    ask(*core_, mutex_, [&](auto done) { h.async_unlock(std::move(done)); });
}

void blocking_mutex::downgrade(hold& h) {
    ask(*core_, mutex_, [&](auto done) { h.async_downgrade(std::move(done)); });
}

std::future<hold> blocking_mutex::acquire_future(const lock_options& options) {
    naming(mutex_, [&] { core_->redis(); });
    std::promise<hold> promise;
    std::future<hold> future = promise.get_future();
    auto keep = [p = std::move(promise), m = mutex_](error_code ec, hold h) mutable {
        if (ec) {
            p.set_exception(std::make_exception_ptr(system_error{ec, m.label()}));
        } else {
            p.set_value(std::move(h));
        }
    };
    mutex_.async_lock(options, core_->handler(std::move(keep)));
    return future;
}

lock_status blocking_mutex::status(const status_options& options) {
    return ask<lock_status>(
        *core_, mutex_, [&](auto done) { mutex_.async_status(options, std::move(done)); });
}

bool blocking_mutex::force_unlock() {
    return ask<bool>(*core_, mutex_,
                     [&](auto done) { mutex_.async_force_unlock(std::move(done)); });
}

std::string_view blocking_mutex::name() const noexcept { return mutex_.name(); }

}  // namespace conch
