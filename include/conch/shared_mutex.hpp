// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SHARED_MUTEX_HPP
#define CONCH_SHARED_MUTEX_HPP

#include <conch/mutex.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace conch {

/// A read-write lock that many processes share: any number of readers, or one writer. Redisson's
/// `RReadWriteLock` on the wire, so a Java service with the same name excludes and wakes this one.
///
/// - Waiters of one client are served in their order: a reader waits behind a writer that came
///   before it.
/// - A waiting writer makes new readers of all conch clients wait, so that readers can't starve it.
///   Redisson's readers do not look at that.
/// - Readers of one client may share one hold at the server: one that comes while another was just
///   granted is granted with no word to the server, within `config::max_passes` and
///   `config::max_pass_time`.
/// - A crashed reader blocks writers until its lease ends, as a crashed writer does.
/// - A reader can't become a writer: release first. With an owner, a reader may nest in a reader or
///   a writer of that owner.
///
/// The name must not be that of a `mutex`, nor of another lock of Redisson. No fences. A cheap,
/// copyable handle, as `mutex`. Thread safety: safe from any thread, one object too.
class shared_mutex {
    class side : public mutex {
    public:
        side(const client& redis, std::string_view name, bool shared);
    };

public:
    /// As `mutex::mutex`.
    shared_mutex(const client& redis, std::string_view name);

    /// Waits until the lock is granted for writing. All as `mutex::async_lock`.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_lock(const lock_options& options = {}, Token&& token = Token{}) const {
        return writer_.async_lock(options, std::forward<Token>(token));
    }

    /// The same with the default options.
    template <typename Token>
        requires(!std::convertible_to<Token, const lock_options&>)
    [[nodiscard]] auto async_lock(Token&& token) const {
        return writer_.async_lock(std::forward<Token>(token));
    }

    /// Tries to get the lock for writing. All as `mutex::async_try_lock`.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_try_lock(const lock_options& options = {},
                                      Token&& token = Token{}) const {
        return writer_.async_try_lock(options, std::forward<Token>(token));
    }

    /// The same with the default options: once.
    template <typename Token>
        requires(!std::convertible_to<Token, const lock_options&>)
    [[nodiscard]] auto async_try_lock(Token&& token) const {
        return writer_.async_try_lock(std::forward<Token>(token));
    }

    /// Waits until the lock is granted for reading. All as `mutex::async_lock`.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_lock_shared(const lock_options& options = {},
                                         Token&& token = Token{}) const {
        return reader_.async_lock(options, std::forward<Token>(token));
    }

    /// The same with the default options.
    template <typename Token>
        requires(!std::convertible_to<Token, const lock_options&>)
    [[nodiscard]] auto async_lock_shared(Token&& token) const {
        return reader_.async_lock(std::forward<Token>(token));
    }

    /// Tries to get the lock for reading. All as `mutex::async_try_lock`; busy also while a writer
    /// waits.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_try_lock_shared(const lock_options& options = {},
                                             Token&& token = Token{}) const {
        return reader_.async_try_lock(options, std::forward<Token>(token));
    }

    /// The same with the default options: once.
    template <typename Token>
        requires(!std::convertible_to<Token, const lock_options&>)
    [[nodiscard]] auto async_try_lock_shared(Token&& token) const {
        return reader_.async_try_lock(std::forward<Token>(token));
    }

    /// Asks the server who holds the lock; `lock_status::shared` says for what. All as
    /// `mutex::async_status`.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_status(const status_options& options, Token&& token = Token{}) const {
        return writer_.async_status(options, std::forward<Token>(token));
    }

    /// The same with the default options.
    template <typename Token = boost::asio::deferred_t>
        requires(!std::convertible_to<Token, const status_options&>)
    [[nodiscard]] auto async_status(Token&& token = Token{}) const {
        return writer_.async_status(std::forward<Token>(token));
    }

    /// Takes the lock away from its writer, or from all of its readers. All as
    /// `mutex::async_force_unlock`.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_force_unlock(Token&& token = Token{}) const {
        return writer_.async_force_unlock(std::forward<Token>(token));
    }

    /// The lock for writing as a `mutex`, for what takes one, as `with_lock` does.
    const mutex& writer() const noexcept { return writer_; }
    /// The same for reading.
    const mutex& reader() const noexcept { return reader_; }

    /// As `mutex::name`.
    std::string_view name() const noexcept { return writer_.name(); }
    /// As `mutex::label`.
    std::string label() const { return writer_.label(); }

private:
    side writer_;
    side reader_;
};

}  // namespace conch

#endif
