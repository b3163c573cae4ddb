// SPDX-License-Identifier: BSL-1.0
#include "api/acting_for.hpp"

#include <conch/guarded.hpp>
#include <conch/impl/section_guard.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace conch::impl {
namespace {

namespace asio = boost::asio;

/// Who was cut off, or deposed, is not to be back at once, over and over.
constexpr std::chrono::milliseconds pause_between_campaigns{100};

bool is_abort(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const system_error& e) {
        return e.code() == asio::error::operation_aborted;
    } catch (...) {
        return false;
    }
}

/// Says which lock it was, and where.
class section_error final : public system_error {
public:
    section_error(error_code ec, const mutex& m, std::string_view what)
        : system_error{ec}, text_{m.label().append(what)} {}

    const char* what() const noexcept override { return text_.c_str(); }

private:
    std::string text_;
};

std::exception_ptr refused(error_code ec, const mutex& m) {
    if (ec == asio::error::operation_aborted) {
        return std::make_exception_ptr(system_error{ec});
    }
    return std::make_exception_ptr(section_error{ec, m, ": " + ec.message()});
}

std::exception_ptr busy(const std::string& text, const mutex& m) {
    return std::make_exception_ptr(
        busy_error{text.empty() ? m.label() + " is busy" : text});
}

// What the caller gets for a hold that ended before its body.
std::exception_ptr ended_early(error_code why, bool in_time, const mutex& m) {
    if (why == errc::client_closed) {
        return refused(why, m);
    }
    const std::string what = in_time ? " was going to be lost: " : " was lost: ";
    return std::make_exception_ptr(section_error{errc::lock_lost, m, what + why.message()});
}

}  // namespace

/// In the caller's slot: the signal may be emitted on any thread.
class section_guard::on_cancel {
public:
    explicit on_cancel(const std::shared_ptr<section_guard>& s) : section_{s} {}

    void operator()(asio::cancellation_type type) const {
        if (const auto section = section_.lock()) {
            asio::dispatch(section->strand_, [section, type] { section->stop(type); });
        }
    }

private:
    std::weak_ptr<section_guard> section_;
};

section_guard::section_guard(const mutex& m, section_terms terms, const asio::any_io_executor& ex)
    : strand_{asio::make_strand(ex)}, mutex_{m}, terms_{std::move(terms)} {}

section_terms section_guard::called_here(const mutex& m, section_terms terms) {
    terms.caller = present_caller(m.core_);
    return terms;
}

void section_guard::start(asio::cancellation_slot callers) {
    began_at_ = clock::now();
    if (!terms_.caller) {
        terms_ = called_here(mutex_, std::move(terms_));
    }
    const auto self = shared_from_this();
    if (callers.is_connected()) {
        callers.emplace<on_cancel>(self);
    }
    asio::post(strand_, [self] { self->acquire(); });
}

void section_guard::acquire() {
    if (stopped_ != asio::cancellation_type::none) {
        complete(std::make_exception_ptr(system_error{asio::error::operation_aborted}));
        return;
    }
    const acting_for caller{std::exchange(terms_.caller, nullptr)};
    mutex_.async_lock(
        terms_.lock,
        asio::bind_cancellation_slot(
            stop_acquire_.slot(),
            asio::bind_executor(strand_, [self = shared_from_this()](error_code ec, hold h) {
                self->granted(ec, std::move(h));
            })));
}

void section_guard::granted(error_code ec, hold h) {
    if (goes_again(ec)) {
        begin_again();
        return;
    }
    if (ec) {
        complete(terms_.busy && ec == errc::timed_out ? busy(*terms_.busy, mutex_)
                                                      : refused(ec, mutex_));
        return;
    }
    hold_ = std::move(h);
    if (stopped_ != asio::cancellation_type::none) {  // between the grant and its delivery
        terms_.keeps_lease = false;                   // nothing was called
        body_ended(std::make_exception_ptr(system_error{asio::error::operation_aborted}));
        return;
    }
    watch();
    running_ = hears_loss_ = true;
    try {
        start_body();
    } catch (...) {
        body_ended(std::current_exception());
    }
}

duration section_guard::default_stop_before() const noexcept {
    const duration lease = terms_.lock.lease.value_or(default_lease(mutex_.core_));
    return std::min(lease, terms_.lock.max_hold) / 10;
}

void section_guard::watch() {
    // Of a nested acquisition, the lease is that of the outermost one.
    const duration most = hold_.remaining() / 2;
    const duration wanted = terms_.lock.stop_before.value_or(default_stop_before());
    // Not zero, which is the plain form: a drain completes that at its beginning.
    const duration before = std::max(duration{1}, std::min(wanted, most));
    hold_.async_wait_lost(before,
                          asio::bind_executor(strand_, [self = shared_from_this()](error_code ec) {
                              if (ec) {
                                  self->lost(ec);
                              }
                          }));
}

void section_guard::stop(asio::cancellation_type type) {
    stopped_ = stopped_ | type;
    if (running_) {
        stop_body_.emit(type);
    } else {
        stop_acquire_.emit(type);
    }
}

void section_guard::lost(error_code why) {
    if (hears_loss_) {
        lost_ = why;
        told_ = true;
        in_time_ = hold_.owns_lock();
        stop_body_.emit(asio::cancellation_type::terminal);
    }
}

void section_guard::body_ended(std::exception_ptr error) {
    running_ = hears_loss_ = false;
    if (lost_ == errc::client_closed && !error && hold_.owns_lock()) {
        lost_ = {};  // it ended in the drain
    }
    if (!lost_ && hold_ && !hold_.owns_lock()) {
        lost_ = hold_.lost_reason();  // the news of it is on its way
        if (!lost_) {
            lost_ = errc::lease_expired;
        }
    }
    error_ = std::move(error);
    if (terms_.keeps_lease) {
        hold_.detach();
        finish({});
        return;
    }
    // Without the caller's slot: a cancelled section is released all the same.
    hold_.async_unlock(asio::bind_executor(
        strand_, [self = shared_from_this()](error_code ec) { self->finish(ec); }));
}

void section_guard::finish(error_code unlocked) {
    if (!lost_ && (unlocked == errc::lock_lost || unlocked == errc::lost_in_failover)) {
        lost_ = unlocked;
    }
    std::exception_ptr error = std::move(error_);
    if (told_ && goes_again(lost_) && (!error || is_abort(error))) {
        begin_again();
        return;
    }
    if (lost_ && (!error || is_abort(error))) {
        error = ended_early(lost_, in_time_, mutex_);
    }
    complete(std::move(error));
}

// Not what stays as it is: a user without rights, a client that ended.
bool section_guard::goes_again(error_code why) const noexcept {
    const bool of_hold = told_ && why && why != errc::client_closed;
    const bool passing = why == errc::not_connected || why == errc::not_replicated ||
                         why == errc::server_unavailable || why == errc::read_only;
    return terms_.again && stopped_ == asio::cancellation_type::none && (of_hold || passing);
}

void section_guard::begin_again() {
    hold_ = {};
    lost_ = {};
    told_ = false;
    in_time_ = false;
    const auto pause = std::make_shared<asio::steady_timer>(strand_, pause_between_campaigns);
    pause->async_wait(asio::bind_cancellation_slot(
        stop_acquire_.slot(), asio::bind_executor(strand_, [self = shared_from_this(), pause](
                                                               error_code) { self->acquire(); })));
}

}  // namespace conch::impl
