// SPDX-License-Identifier: BSL-1.0
#include "cli/top_session.hpp"

#include "cli/lock_text.hpp"
#include "cli/survey_options.hpp"
#include "cli/text.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace conch::cli {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr auto when_done = asio::as_tuple(asio::use_awaitable);
constexpr duration between_looks = 250ms;

/// All that could end the program with the terminal as it is now. SIGTTIN and SIGTTOU are to stop
/// it in the background; SIGCHLD and SIGURG do nothing.
std::vector<int> signals_of_top() {
    std::vector<int> all = signals_without_faults();
    std::erase_if(all, [](int number) {
        return number == SIGTTIN || number == SIGTTOU || number == SIGCHLD || number == SIGURG;
    });
    return all;
}

std::string top_title(const top_plan& plan) {
    std::string text = "conch top, " + server_label(plan.server);
    if (plan.terms.pattern != "*") {
        text += ", " + in_quotes(plan.terms.pattern);
    }
    return text + (plan.terms.plain ? ", plain locks" : "");
}

}  // namespace

top_session::top_session(const top_plan& plan)
    : plan_{plan},
      signals_{signals_of_top()},
      the_{plan.server},
      redis_{the_.redis},
      signal_stream_{the_.io, signals_.duplicate()},
      key_stream_{the_.io, screen_.duplicate()},
      survey_timer_{the_.io},
      one_timer_{the_.io},
      clock_timer_{the_.io},
      over_timer_{the_.io, asio::steady_timer::time_point::max()},
      view_{top_title(plan), plan.by} {}

int top_session::go() {
    the_.run(conduct());
    return signal_ != 0 ? exit_code::by_signal + signal_ : exit_code::ok;
}

void top_session::start(asio::awaitable<void> body) {
    asio::co_spawn(the_.io, std::move(body), [](std::exception_ptr error) {
        if (error) {
            std::rethrow_exception(error);
        }
    });
}

asio::awaitable<void> top_session::conduct() {
    start(watch_signals());
    const error_code ec = co_await the_.contact.reach();
    if (ec && !over_) {
        end();
        throw the_.failure(ec);
    }
    if (over_) {
        co_return;
    }
    screen_.enter();
    start(watch_keys());
    start(watch_clock());
    start(survey_all());
    start(survey_one());
    co_await over_timer_.async_wait(when_done);
}

// The terminal is given back at once, whatever the server still has to answer.
void top_session::end() {
    over_ = true;
    screen_.leave();
    the_.contact.cancel();
    signal_stream_.close();
    key_stream_.close();
    for (asio::steady_timer* const t : {&survey_timer_, &one_timer_, &clock_timer_, &over_timer_}) {
        t->cancel();
    }
}

asio::awaitable<void> top_session::watch_signals() {
    while (!over_) {
        const auto [ec] = co_await signal_stream_.async_wait(descriptor::wait_read, when_done);
        if (ec) {
            co_return;
        }
        while (const auto signal = signals_.next()) {
            on_signal(static_cast<int>(signal->ssi_signo));
        }
    }
}

void top_session::on_signal(int signal) {
    if (over_) {
        return;
    }
    switch (signal) {
        case SIGWINCH: screen_.forget(); break;
        case SIGCONT: screen_.enter_again(); break;
        case SIGTSTP: {
            const bool was_inside = screen_.leave();
            stop_here();
            if (was_inside) {
                screen_.enter();
            }
            break;
        }
        default:
            signal_ = signal;
            end();
            return;
    }
    draw();
}

asio::awaitable<void> top_session::watch_keys() {
    while (!over_) {
        const auto [ec] = co_await key_stream_.async_wait(descriptor::wait_read, when_done);
        if (ec || over_) {
            co_return;
        }
        const std::optional<std::string> bytes = screen_.read();
        if (!bytes) {
            signal_ = SIGHUP;
            end();
            co_return;
        }
        on_keys(*bytes);
    }
}

void top_session::on_keys(std::string_view bytes) {
    const auto before = view_.one();
    const bool was_paused = view_.paused();
    for (const key& k : keys_.read(bytes)) {
        view_.press(k);
        if (view_.ended()) {
            end();
            return;
        }
    }
    if (view_.one() != before) {
        next_one_ = one_allowed_;
        one_timer_.cancel();
        survey_timer_.cancel();
    }
    if (view_.paused() != was_paused) {
        one_timer_.cancel();
        survey_timer_.cancel();
    }
    draw();
}

asio::awaitable<void> top_session::watch_clock() {
    while (!over_) {
        draw();
        clock_timer_.expires_after(1s);
        co_await clock_timer_.async_wait(when_done);
    }
}

void top_session::draw() {
    if (over_ || writing_) {
        return;
    }
    const screen_size size = screen_.size();
    screen_.draw(view_.lines(size, clock::now()), size);
    if (!screen_.flush()) {
        writing_ = true;
        start(write_rest());
    }
}

asio::awaitable<void> top_session::write_rest() {
    while (writing_ && !over_) {
        co_await key_stream_.async_wait(descriptor::wait_write, when_done);
        writing_ = !over_ && !screen_.flush();
    }
    draw();
}

asio::awaitable<void> top_session::survey_all() {
    while (!over_) {
        const bool wanted = view_.wants_list();
        const duration left = next_survey_ - clock::now();
        if (wanted && left <= 0ns) {
            co_await survey_once();
            next_survey_ = clock::now() + plan_.interval;
            draw();
        } else {
            survey_timer_.expires_after(wanted ? left : 24h);
            co_await survey_timer_.async_wait(when_done);
        }
    }
}

asio::awaitable<void> top_session::survey_once() {
    const time_point began = clock::now();
    lock_survey survey{redis_, plan_.server.settings.cluster.has_value()};
    try {
        std::vector<lock_entry> found = co_await survey.list(plan_.terms);
        view_.show(std::move(found), notes_of(survey), began);
    } catch (const system_error& e) {
        view_.show_trouble(the_.failure(e.code()).what());
    }
}

asio::awaitable<void> top_session::survey_one() {
    while (!over_) {
        const bool wanted = view_.wants_one();
        const duration left = next_one_ - clock::now();
        if (wanted && left <= 0ns) {
            co_await survey_one_once();
            draw();
        } else {
            one_timer_.expires_after(wanted ? left : 24h);
            co_await one_timer_.async_wait(when_done);
        }
    }
}

asio::awaitable<void> top_session::survey_one_once() {
    const std::string name = *view_.one();
    const time_point began = clock::now();
    next_one_ = began;
    lock_survey survey{redis_, plan_.server.settings.cluster.has_value()};
    try {
        const std::optional<lock_entry> found = co_await survey.look_at(name);
        const std::string none =
            printable(name) + ": " + (survey.stranger() ? "no lock any more\n" : "free\n");
        const std::string& url = plan_.server.given_url;
        view_.show_one(name, found ? whole_text(*found, survey.knows_clients(), url) : none, began);
    } catch (const system_error& e) {
        view_.show_trouble(the_.failure(e.code()).what());
    }
    const time_point now = clock::now();
    one_allowed_ = now + between_looks;
    next_one_ = view_.one() == name ? now + plan_.interval : one_allowed_;
}

}  // namespace conch::cli
