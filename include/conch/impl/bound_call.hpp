// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_BOUND_CALL_HPP
#define CONCH_IMPL_BOUND_CALL_HPP

#include <conch/impl/locked_section.hpp>

#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

// A call that is made later: a function that many calls share, and the arguments of this one.
namespace conch::impl {

template <typename Fn, typename... Args>
class bound_call {
public:
    template <typename... As>
    explicit bound_call(std::shared_ptr<Fn> fn, As&&... args)
        : fn_{std::move(fn)}, args_{std::forward<As>(args)...} {}

    /// Once. What the coroutine refers to lives as long as this.
    auto operator()() {
        return std::apply([this](Args&... args) { return std::invoke(*fn_, std::move(args)...); },
                          args_);
    }

private:
    std::shared_ptr<Fn> fn_;
    std::tuple<Args...> args_;
};

/// GCC before 12.3 destroys such a temporary twice in an expression with `co_await`: an aggregate,
/// or a lambda with captures (which, of all classes, can't be assigned), that owns something.
template <typename Arg>
inline constexpr bool destroyed_twice =
    !std::is_lvalue_reference_v<Arg> && std::is_class_v<Arg> &&
    !std::is_trivially_destructible_v<Arg> &&
    (std::is_aggregate_v<Arg> || !std::is_move_assignable_v<Arg>);

template <typename Fn, typename... Args>
using call_result = typename awaited<std::invoke_result_t<Fn&, std::decay_t<Args>...>>::type;

template <typename Fn, typename... Args>
body_ptr<call_result<Fn, Args...>> bind_call(std::shared_ptr<Fn> fn, Args&&... args) {
    static_assert((std::is_constructible_v<std::decay_t<Args>, Args> && ...),
                  "conch: the arguments are kept until the call is made: what can't be copied must "
                  "be moved, or passed as std::ref");
#if defined(__GNUC__) && !defined(__clang__) && \
    (__GNUC__ < 12 || (__GNUC__ == 12 && __GNUC_MINOR__ < 3))
    static_assert((!destroyed_twice<Args> && ...),
                  "conch: GCC before 12.3 destroys this argument twice where the call is awaited. "
                  "Give it a name first and pass that, without std::move");
#endif
    using bound = bound_call<Fn, std::decay_t<Args>...>;
    using result = call_result<Fn, Args...>;
    return std::make_unique<typed_body<result, bound>>(
        bound{std::move(fn), std::forward<Args>(args)...});
}

}  // namespace conch::impl

#endif
