// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_GUARDED_HPP
#define CONCH_GUARDED_HPP

#include <conch/client.hpp>
#include <conch/error.hpp>
#include <conch/impl/bound_call.hpp>
#include <conch/impl/key_text.hpp>
#include <conch/impl/mutex_source.hpp>
#include <conch/mutex.hpp>
#include <conch/options.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace conch {

/// How the calls of a guarded function take their lock.
struct guarded_options {
    /// As `lock_options::wait`. Default: zero, so that who comes second is told at once.
    duration wait{};
    /// As `lock_options::lease`.
    std::optional<duration> lease{};
    /// As `lock_options::renew`.
    std::optional<bool> renew{};
    /// As `lock_options::max_hold`.
    duration max_hold = forever;
    /// As `lock_options::stop_before`.
    std::optional<duration> stop_before{};
    /// Release when the function has ended. If not, the lock is left until its lease ends, however
    /// the function ended: another call within that time is busy.
    bool auto_release = true;
};

/// What `busy_error` says.
class busy_text {
public:
    /// UTF-8, for whoever made the call.
    explicit busy_text(std::string text) : text_{std::move(text)} {}
    /// As it was given.
    const std::string& str() const noexcept { return text_; }

private:
    std::string text_;
};

/// Thrown by a guarded function whose lock someone else holds: nothing was called. Its code is
/// `errc::timed_out`, its `what()` the `busy_text`, or `mutex::label()` if there is none.
class busy_error : public system_error {
public:
    /// `text`: as `what()` shall return it.
    explicit busy_error(std::string text)
        : system_error{make_error_code(errc::timed_out)}, text_{std::move(text)} {}
    /// The `busy_text`.
    const char* what() const noexcept override { return text_.c_str(); }

private:
    std::string text_;
};

/// A coroutine function whose every call runs under a lock; made by `guarded`. Copies share the
/// function. Thread safety: as the function's own.
template <typename Key, typename Fn>
class guarded_function {
public:
    /// See `guarded`.
    guarded_function(const client& redis, Key key, Fn fn, const busy_text& busy,
                     const guarded_options& options)
        : mutexes_{redis},
          key_{std::move(key)},
          fn_{std::make_shared<Fn>(std::move(fn))},
          terms_{{.wait = options.wait,
                  .lease = options.lease,
                  .renew = options.renew,
                  .max_hold = options.max_hold,
                  .stop_before = options.stop_before},
                 std::make_shared<const std::string>(busy.str()),
                 !options.auto_release} {}

    /// Nothing happens before the result is awaited, but for the lock's name being made. Throws
    /// `std::invalid_argument` for a name that can't be a lock's.
    template <typename... Args>
        requires std::invocable<Fn&, std::decay_t<Args>...>
    auto operator()(Args&&... args) const
        -> boost::asio::awaitable<impl::call_result<Fn, Args...>> {
        mutex m = mutexes_.named(name_of(std::as_const(args)...));  // before they are moved
        impl::section_terms terms = impl::section_guard::called_here(m, terms_);
        return impl::run_locked_section<impl::call_result<Fn, Args...>>(
            std::move(m), std::move(terms), impl::bind_call(fn_, std::forward<Args>(args)...));
    }

private:
    template <typename... Args>
    std::string name_of(const Args&... args) const {
        if constexpr (!std::convertible_to<const Key&, std::string_view>) {
            return std::string{std::invoke(key_, args...)};
        } else if constexpr (std::is_member_function_pointer_v<Fn>) {
            return name_without_object(args...);
        } else {
            return impl::joined_key(key_, args...);
        }
    }
    template <typename Object, typename... Args>
    std::string name_without_object(const Object&, const Args&... args) const {
        return impl::joined_key(key_, args...);
    }

    impl::mutex_source mutexes_;
    Key key_;
    std::shared_ptr<Fn> fn_;
    impl::section_terms terms_;
};

/// Wraps a coroutine function: every call of the result takes a `mutex` named from the call's
/// arguments, runs the function, and releases the lock on every way out, as `with_lock` does.
///
/// `key`: a function of the same arguments (as const; the object of a member function is the first)
/// that returns the name; or a prefix, to which ':' and each argument are appended as text
/// (numbers, strings, enumerators by number, and what has a `to_string()` or `operator<<`; anything
/// else is a compile error; the object of a member function is left out). A ':' within an argument
/// is not escaped: ("a:b", "c") and ("a", "b:c") share a lock, which costs waiting, or busy
/// answers, never exclusion. Where that matters, give a function.
/// `fn`: anything that `std::invoke` takes: function, lambda, pointer to member function. Returns
/// `asio::awaitable<T>` as a body of `with_lock` (T: void, or default constructible and move
/// assignable). Kept until the last call has ended; calls on
/// several threads call it at the same time, under locks of other names.
/// `busy`: what `busy_error` says.
///
/// The result is called with the function's arguments, which are copied or moved as `std::thread`
/// does (`std::ref` passes a reference; GCC before 12.3 destroys a temporary that is an aggregate
/// with owning members, or a lambda with owning captures, twice in an expression with `co_await`:
/// name it), and returns an `asio::awaitable<T>`. It throws what the
/// function throws; `busy_error` if the lock was not free within `options.wait`; else as
/// `with_lock`, which also says how the function is cancelled when the lock is lost. Options are
/// checked at each call, before anything is sent.
template <typename Key, typename Fn>
auto guarded(const client& redis, Key&& key, Fn&& fn, const busy_text& busy,
             const guarded_options& options = {}) {
    using key_type = std::conditional_t<std::convertible_to<Key, std::string_view>, std::string,
                                        std::decay_t<Key>>;
    return guarded_function<key_type, std::decay_t<Fn>>{redis, key_type(std::forward<Key>(key)),
                                                        std::forward<Fn>(fn), busy, options};
}

/// The same, with the lock's name as the text of `busy_error`.
template <typename Key, typename Fn>
auto guarded(const client& redis, Key&& key, Fn&& fn, const guarded_options& options = {}) {
    return guarded(redis, std::forward<Key>(key), std::forward<Fn>(fn), busy_text{{}}, options);
}

}  // namespace conch

#endif
