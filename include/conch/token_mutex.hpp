// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TOKEN_MUTEX_HPP
#define CONCH_TOKEN_MUTEX_HPP

#include <conch/mutex.hpp>

#include <string_view>

namespace conch {

/// A lock that is a plain key with a token as its value: `SET name token NX PX lease`, deleted and
/// extended only by who has the token. So lock redis-py, redsync, node-redlock, Spring Integration
/// and many a script, and they and this one exclude each other by the same name.
///
/// In all else a `mutex`: its operations, options, holds, renewal, loss and waiting, and what takes
/// a `mutex` takes this. The differences:
///
/// - Its key is no `mutex`'s, nor Redisson's: the name in use for one is `errc::wrong_type` for the
///   other (a try that need not wait finds it busy).
/// - A text of somebody else's is taken for a lock, with a time to live or without one (as that of
///   redis-py is without `timeout`): it is waited for, and `async_force_unlock` deletes it. One of
///   more than 4,096 bytes is `errc::wrong_type`.
/// - A release publishes a message, as a `mutex`'s does, so conch's waiters wake at once. Others
///   don't: their release is noticed within `config::max_poll_interval`, or when their lease ends.
/// - The depth of nested acquisitions is known to this client alone; `lock_status::depth` is 1.
/// - The fencing token (`mutex_options::fenced`) is counted in a key of its own, which only conch's
///   token mutexes raise.
class token_mutex : public mutex {
public:
    /// As `mutex::mutex`.
    token_mutex(const client& redis, std::string_view name, const mutex_options& options = {});
};

}  // namespace conch

#endif
