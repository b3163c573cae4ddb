// SPDX-License-Identifier: BSL-1.0
#include "cli/session.hpp"

#include "cli/command_error.hpp"
#include "cli/server_url.hpp"
#include "cli/text.hpp"

#include <boost/asio/co_spawn.hpp>

#include <unistd.h>

#include <exception>
#include <utility>

namespace conch::cli {
namespace {

namespace asio = boost::asio;

/// For messages that nobody reads, at the very end.
constexpr duration longest_farewell = std::chrono::seconds{1};
constexpr std::string_view refusal = "refused for now by ";

}  // namespace

session::session(const command_plan& plan, std::string title, const std::vector<int>& signals)
    : common_{plan},
      title_{std::move(title)},
      messages_{STDERR_FILENO},
      signals_{signals},
      signal_stream_{io_, signals_.duplicate()},
      redis_{io_, with_log(plan.server.settings,
                           [this](log_level, std::string_view line) { on_warning(line); })},
      contact_{io_, redis_, plan.server} {}

void session::on_warning(std::string_view line) {
    if (line.starts_with(refusal)) {
        tell_refusal(line);
    } else {
        detail(line);
    }
}

// Else who waits without -w would wait for ever, and nobody would know for what.
void session::tell_refusal(std::string_view line) {
    if (!common_.quiet) {
        say(line);
    }
}

bool session::is_waited_for(error_code ec, duration left) {
    const std::string words = redis_.last_server_error();
    if (ec != errc::not_connected || left <= duration::zero() || !is_answer(words) ||
        !common_.server.others.empty()) {
        return false;
    }
    if (redis_.stats().connects == 0) {  // else the library has told it
        tell_refusal(std::string{refusal} + server_label(common_.server) + ": " + printable(words));
    }
    return true;
}

void session::run(asio::awaitable<void> body) {
    start(watch_signals());
    start(std::move(body));
    io_.run();
}

void session::start(asio::awaitable<void> body) {
    asio::co_spawn(io_, std::move(body), [](std::exception_ptr error) {
        if (error) {
            std::rethrow_exception(error);
        }
    });
}

asio::awaitable<void> session::watch_signals() {
    for (;;) {
        const auto [ec] = co_await signal_stream_.async_wait(
            asio::posix::stream_descriptor::wait_read, as_result);
        if (ec) {
            co_return;
        }
        take_signals();
    }
}

void session::take_signals() {
    while (const auto signal = signals_.next()) {
        on_signal(*signal);
    }
}

void session::detail(std::string_view line) {
    if (common_.verbose) {
        say(line);
    }
}

void session::finish_messages() { messages_.finish(longest_farewell); }

std::string session::name_and_server() const {
    return in_quotes(common_.name) + " (" + server_label(common_.server) + ')';
}

}  // namespace conch::cli
