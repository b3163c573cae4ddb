// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_IMPL_INITIATE_QUESTION_HPP
#define CONCH_IMPL_INITIATE_QUESTION_HPP

#include <conch/impl/check_handler.hpp>
#include <conch/impl/operation.hpp>
#include <conch/server_reply.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// How the questions of an inspector start.
namespace conch::impl {

/// Throws `std::invalid_argument` where this is not to be sent.
void check_question(const std::vector<std::string>& command, std::uint16_t hash_slot);

struct reply_result {
    using operation_type = question_operation;
    static std::tuple<error_code, server_reply> take(question_operation& op) {
        return {op.ec, std::move(op.reply)};
    }
};

/// The initiation. A class with a constructor: GCC 12 destroys an aggregate twice in an expression
/// with co_await.
class initiate_question {
public:
    /// As `initiate`'s.
    using executor_type = boost::asio::any_io_executor;
    executor_type get_executor() const noexcept { return executor_of(core_); }

    initiate_question(core_ptr core, std::vector<std::string> command)
        : core_{std::move(core)}, command_{std::move(command)} {}

    template <typename Handler>
    void operator()(Handler&& handler, std::uint16_t hash_slot) {
        using op_type = handler_operation<std::decay_t<Handler>, reply_result>;
        const context_use use{core_};
        question_operation* op = op_type::make(
            request::ask, core_, std::decay_t<Handler>(std::forward<Handler>(handler)));
        op->command = std::move(command_);
        op->hash_slot = hash_slot;
        submit(*op, this_build{});
    }

private:
    core_ptr core_;
    std::vector<std::string> command_;
};

template <typename Token>
auto async_question(core_ptr core, std::vector<std::string> command, std::uint16_t hash_slot,
                    Token&& token) {
    return check_and_initiate<void(error_code, server_reply), Token>(
        initiate_question{std::move(core), std::move(command)}, token, hash_slot);
}

}  // namespace conch::impl

#endif
