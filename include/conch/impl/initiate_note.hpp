// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_INITIATE_NOTE_HPP
#define CONCH_IMPL_INITIATE_NOTE_HPP

#include <conch/impl/check_handler.hpp>
#include <conch/impl/operation.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <type_traits>
#include <utility>

// How the holder of a lock begins to ask for the note beside it, or to write it.
namespace conch::impl {

/// The initiation. A class with a constructor: GCC 12 destroys an aggregate twice in an expression
/// with co_await.
template <typename Result>
class initiate_note {
public:
    /// As `initiate`'s.
    using executor_type = boost::asio::any_io_executor;
    executor_type get_executor() const noexcept { return executor_of(core_); }

    initiate_note(core_ptr core, view_ptr view, spec_ptr spec)
        : core_{std::move(core)}, view_{std::move(view)}, spec_{std::move(spec)} {}

    template <typename Handler>
    void operator()(Handler&& handler, const once_note& what) {
        using op_type = handler_operation<std::decay_t<Handler>, Result>;
        const context_use use{core_};
        note_operation* op = op_type::make(request::note, core_,
                                           std::decay_t<Handler>(std::forward<Handler>(handler)));
        op->view = std::move(view_);
        op->spec = std::move(spec_);
        op->note = what;
        submit(*op, this_build{});
    }

private:
    core_ptr core_;
    view_ptr view_;
    spec_ptr spec_;
};

template <typename Signature, typename Result, typename Token>
auto async_note(core_ptr core, view_ptr view, spec_ptr spec, const once_note& what, Token&& token) {
    return check_and_initiate<Signature, Token>(
        initiate_note<Result>{std::move(core), std::move(view), std::move(spec)}, token, what);
}

}  // namespace conch::impl

#endif
