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
/// - Writers go first: once one has asked the server in vain, the server lets no new reader of any
///   conch client in until it has the lock, nor for three `config::max_poll_interval` after it
///   gave up or crashed. Redisson's readers do not look at that.
/// - A reader with equal options that comes within `config::max_pass_time` of a grant to another
///   reader of its client shares the hold of that one, and the server is not asked: at most
///   `config::max_passes` readers, the first included.
/// - A crashed reader blocks writers until its lease ends, as a crashed writer does. Beside readers
///   of Redisson, no lease for reading may be longer than its `lockWatchdogTimeout`: their renewals
///   cut the lease of the whole lock to that.
/// - A writer becomes a reader by `hold::async_downgrade`, with no writer in between.
/// - A reader can't become a writer: release first. One that asks to write waits for itself, for
///   ever unless it has a `wait`.
/// - Whoever reads twice at a time needs an owner: without one the second read waits for a writer
///   that waits for the first. With an owner, a reader may nest in a reader or a writer of it.
///
/// `errc::wrong_type`: the name is that of a `mutex`, of another kind of Redisson lock, or of data.
/// No fences, no `mutex_options::replicas`. Works with sentinels and clusters. A cheap,
/// copyable handle, as `mutex`. Thread safety: safe from any thread, one object too.
class shared_mutex {
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

    /// Takes the lock away from its writer, or from the readers that it has. All as
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
    mutex writer_;
    mutex reader_;
};

}  // namespace conch

#endif
