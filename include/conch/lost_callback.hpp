// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_LOST_CALLBACK_HPP
#define CONCH_LOST_CALLBACK_HPP

#include <conch/hold.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

namespace conch {

namespace impl {

/// The loss of one hold, for other threads.
struct loss {
    static std::shared_ptr<const loss> of(const hold& h, duration before);
    void happened(error_code reason) noexcept;

    std::stop_source stop{};
    /// Written before the stop is requested, and read after.
    error_code why{};
};

template <typename Callback>
struct lost_call {
    void operator()() { std::invoke(callback, of.why); }

    Callback callback;
    const loss& of;
};

}  // namespace impl

/// Calls a function when a hold is lost, and is registered for as long as it lives: a
/// `std::stop_callback` on `hold::stop_token` that is also told why. Neither it nor its function
/// extends the hold's life; it may outlive the hold and survives its moves. Each one watches until
/// the hold's end, so make one for each hold, not for each piece of work under it.
///
/// The function runs once at most, on the client's executor: of a `blocking_client` that is its own
/// thread, where no blocking call may be made; or in this constructor, if the hold is lost already.
/// It must neither block nor throw (`std::terminate`). The destructor waits until a running one has
/// returned, unless the function itself destroys this object.
template <std::invocable<error_code> Callback>
class [[nodiscard]] lost_callback {
public:
    /// `of`, `before`: as of `hold::stop_token`, whose errors it throws. `callback`: called as
    /// `callback(error_code)` with the error that `hold::async_wait_lost` would give.
    lost_callback(const hold& of, Callback callback, duration before = duration::zero())
        : loss_{impl::loss::of(of, before)},
          registered_{loss_->stop.get_token(),
                      impl::lost_call<Callback>{std::move(callback), *loss_}} {}
    lost_callback(const lost_callback&) = delete;
    lost_callback& operator=(const lost_callback&) = delete;

private:
    std::shared_ptr<const impl::loss> loss_;
    std::stop_callback<impl::lost_call<Callback>> registered_;
};

}  // namespace conch

#endif
