// SPDX-License-Identifier: BSL-1.0
#include "cli/one_lock.hpp"

#include "cli/text.hpp"

#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <stdexcept>

namespace conch::cli {

one_server::one_server(const server_choice& choice)
    : server{choice}, redis{io, choice.settings}, others{io, choice}, contact{io, redis, server} {}

// Fenced, for the status to tell the last token; of the lock itself it makes no other.
one_lock::one_lock(const server_choice& choice, const std::string& name) try
    : one_server{choice}, lock{others.lock_of(redis, name, {.fenced = true})} {
} catch (const std::invalid_argument& e) {
    throw usage_error(plain_reason(e.what()));
}

void one_server::run(boost::asio::awaitable<void> body) {
    std::exception_ptr failed;
    boost::asio::co_spawn(io, std::move(body), [this, &failed](std::exception_ptr error) {
        failed = error;
        redis.async_shutdown([](error_code) {});
        others.shut_down();
    });
    io.run();
    if (failed) {
        std::rethrow_exception(failed);
    }
}

command_error one_server::failure(error_code ec) const {
    return {exit_status_for(ec),
            explain(ec, others.last_server_error(redis), server_label(server))};
}

}  // namespace conch::cli
