// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_SECTION_GUARD_HPP
#define CONCH_IMPL_SECTION_GUARD_HPP

#include <conch/hold.hpp>
#include <conch/mutex.hpp>
#include <conch/options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/strand.hpp>

#include <exception>
#include <memory>
#include <string>

// The untyped part of conch::with_lock; its bodies are in the compiled library.
namespace conch::impl {

/// How a section takes its lock and leaves it.
struct section_terms {
    lock_options lock{};
    std::shared_ptr<const std::string> busy{};  ///< if set: the words of the `busy_error`
    bool keeps_lease = false;                   ///< detach, don't release
    bool again = false;  ///< after a loss, or a server that was away: from the beginning
    std::shared_ptr<const void> caller{};  ///< `observer::caller_context`, for the first acquire
};

/// Acquires, starts the body, stops it if the hold is lost, releases, completes. All on one strand.
class section_guard : public std::enable_shared_from_this<section_guard> {
public:
    section_guard(const section_guard&) = delete;
    section_guard& operator=(const section_guard&) = delete;

    /// The terms of who calls on this thread now; without it, of who calls `start`.
    static section_terms called_here(const mutex& m, section_terms terms);

    /// Begins, and listens to the caller's cancellation.
    void start(boost::asio::cancellation_slot callers);

    /// When that was.
    time_point began_at() const noexcept { return began_at_; }
    /// The body has come to its end: whether it was told to. What follows under the lock is stopped
    /// by the caller alone. To be called on its strand.
    bool end_body() noexcept {
        hears_loss_ = false;
        return told_ || stopped_ != boost::asio::cancellation_type::none;
    }

protected:
    using strand_type = boost::asio::strand<boost::asio::any_io_executor>;

    section_guard(const mutex& m, section_terms terms, const boost::asio::any_io_executor& ex);
    ~section_guard() = default;

    /// Calls `body_ended` later, never in here; throws what the body throws before its coroutine.
    virtual void start_body() = 0;
    /// Delivers the end to the caller.
    virtual void complete(std::exception_ptr error) = 0;

    const strand_type& strand() const noexcept { return strand_; }
    hold& held() noexcept { return hold_; }
    boost::asio::cancellation_slot body_slot() noexcept { return stop_body_.slot(); }
    void body_ended(std::exception_ptr error);

private:
    class on_cancel;

    void acquire();
    void granted(error_code ec, hold h);
    void watch();
    duration default_stop_before() const noexcept;
    void stop(boost::asio::cancellation_type type);
    void lost(error_code why);
    void finish(error_code unlocked);
    bool goes_again(error_code why) const noexcept;
    void begin_again();

    strand_type strand_;
    mutex mutex_;
    section_terms terms_;
    time_point began_at_{};
    hold hold_{};
    boost::asio::cancellation_signal stop_acquire_{};
    boost::asio::cancellation_signal stop_body_{};
    boost::asio::cancellation_type stopped_ = boost::asio::cancellation_type::none;
    bool running_ = false;
    bool hears_loss_ = false;  // the body does
    error_code lost_{};
    bool told_ = false;     // the body was
    bool in_time_ = false;  // before it was lost
    std::exception_ptr error_{};
};

}  // namespace conch::impl

#endif
