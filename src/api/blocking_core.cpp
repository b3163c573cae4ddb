// SPDX-License-Identifier: BSL-1.0
#include "api/blocking_core.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace conch::impl {

namespace asio = boost::asio;
namespace {

// Unlike a std::thread::id, never that of another thread later on.
std::uint64_t this_thread() noexcept {
    static std::atomic<std::uint64_t> last{0};
    thread_local const std::uint64_t number = ++last;
    return number;
}

}  // namespace

blocking_core::loop::loop(config settings)
    : work{asio::make_work_guard(io)}, redis{io, std::move(settings)} {}

void blocking_core::loop::run() noexcept {
    for (;;) {
        try {
            io.run();
            return;
        } catch (...) {
            // Out of a handler of the user's: the locks must go on.
        }
    }
}

blocking_core::blocking_core(config settings)
    : loop_{std::make_shared<loop>(std::move(settings))} {
    loop_->thread = std::thread{[l = loop_] { l->run(); }};
}

blocking_core::~blocking_core() {
    if (forked()) {
        return;
    }
    loop_->redis.async_shutdown([l = loop_](error_code) { l->io.stop(); });
    if (on_own_thread()) {  // the last handle went in a handler
        loop_->thread.detach();
    } else {
        loop_->thread.join();
    }
}

client& blocking_core::redis() const {
    if (forked()) {
        throw system_error{errc::forked};
    }
    return loop_->redis;
}

void blocking_core::may_block() const {
    if (forked()) {
        throw system_error{errc::forked};
    }
    if (on_own_thread()) {
        throw system_error{make_error_code(boost::system::errc::resource_deadlock_would_occur),
                           "conch: a blocking call on the client's own thread"};
    }
}

void blocking_core::shutdown(const shutdown_options& options) {
    if (forked()) {
        return;
    }
    if (on_own_thread()) {
        loop_->redis.async_shutdown(options, [](error_code) {});
    } else {
        ask([&](auto done) { loop_->redis.async_shutdown(options, std::move(done)); });
    }
}

const blocking_state::entry* blocking_state::find() const noexcept {
    const auto it = std::find_if(held_.begin(), held_.end(),
                                 [](const entry& e) { return e.thread == this_thread(); });
    return it != held_.end() ? &*it : nullptr;
}

bool blocking_state::may_lock() const {
    const std::lock_guard guard{mutex_};
    return !find();
}

void blocking_state::keep(hold h) {
    const std::lock_guard guard{mutex_};
    held_.push_back({this_thread(), std::move(h)});
}

hold blocking_state::take() {
    const std::lock_guard guard{mutex_};
    const entry* const e = find();
    if (!e) {
        return {};
    }
    const auto it = held_.begin() + (e - held_.data());
    hold h = std::move(it->held);
    held_.erase(it);
    return h;
}

void blocking_state::unlocked(error_code ec) {
    const std::lock_guard guard{mutex_};
    const std::uint64_t me = this_thread();
    std::erase_if(failed_, [&](const ended& e) { return e.thread == me; });
    if (ec) {
        failed_.push_back({me, ec});
    }
}

error_code blocking_state::unlock_error() const {
    const std::lock_guard guard{mutex_};
    for (const ended& e : failed_) {
        if (e.thread == this_thread()) {
            return e.why;
        }
    }
    return {};
}

}  // namespace conch::impl
