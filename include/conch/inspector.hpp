// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_INSPECTOR_HPP
#define CONCH_INSPECTOR_HPP

#include <conch/client.hpp>
#include <conch/impl/initiate_question.hpp>
#include <conch/server_reply.hpp>

#include <boost/asio/deferred.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conch {

/// Sends single commands that only read, over the connections of a client: for tools that look for
/// locks and their holders, as `conch ls` does. Thread safety: as of `client`.
class inspector {
public:
    /// The client may be gone before the inspector; see `errc::client_closed`.
    explicit inspector(const client& redis) noexcept;

    /// Sends one command, once.
    ///
    /// `command`: the command and its arguments. Those that are sent: CLIENT LIST, CLUSTER SLOTS,
    /// EXISTS, GET, GETRANGE, HGET, HLEN, HSCAN, LLEN, LRANGE, PTTL, PUBSUB NUMSUB, PUBSUB
    /// SHARDNUMSUB, SCAN, STRLEN, TIME, TYPE, ZCOUNT, ZRANGE and ZRANGEBYSCORE.
    /// `std::invalid_argument`, thrown before anything is sent: it is another, or `hash_slot` is
    /// above 16,383.
    /// `hash_slot`: in a cluster, the master of this hash slot is asked. A command with a key needs
    /// that of its key (`hash_slot_of`).
    ///
    /// Completion signature: `void(error_code, server_reply)`. Executor: the handler's associated
    /// executor, by default the client's; the handler never runs inside this call.
    /// Errors: `errc::not_connected`, also where the connection breaks before the answer;
    /// `errc::client_closed`, `errc::overloaded`, and the server's, whose words are the reply's
    /// text. An answer of more than 16 MiB or 131,072 values breaks the connection.
    /// Cancellation (terminal, partial, total): `operation_aborted`.
    template <typename Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_ask(std::vector<std::string> command, std::uint16_t hash_slot,
                                 Token&& token = Token{}) const {
        impl::check_question(command, hash_slot);
        return impl::async_question(core_, std::move(command), hash_slot,
                                    std::forward<Token>(token));
    }

    /// Where a cluster keeps this key.
    static std::uint16_t hash_slot_of(std::string_view key) noexcept;

private:
    impl::core_ptr core_;
};

}  // namespace conch

#endif
