// SPDX-License-Identifier: BSL-1.0
// Time, the driver, the network and the server's moods.
#include "fuzz/engine_world.hpp"

#include "fuzz/fuzz_check.hpp"

#include <algorithm>
#include <utility>

namespace conch::fuzz {
namespace {

/// Turns at one moment, by themselves. More is a loop.
constexpr int most_turns_at_once = 500;
/// Turns that are played while time goes on.
constexpr int most_turns_of_advance = 64;
constexpr std::size_t most_old_connections = 4;
constexpr std::size_t most_output = 512u << 10;

}  // namespace

engine_world::engine_world(config settings, std::uint64_t seed, bool durable)
    : place_{durable ? std::size_t{1} : std::size_t{0}},
      settings_{[&] {
          settings.observer = {std::shared_ptr<void>{}, &observer_};
          return std::move(settings);
      }()},
      engine_{settings_, "c", seed} {
    engine_.join_from(2);
    for (std::size_t i = 0; i < names.size(); ++i) {
        for (const bool fenced : {false, true}) {
            specs_[i][fenced ? 1 : 0] = impl::lock_spec::make(
                i == 2 ? conch::protocol::value_lock_protocol : conch::protocol::mutex_protocol,
                names[i],
                {.fenced = fenced,
                 .replicas = {.at_least = durable ? 1u : 0u,
                              .within = std::chrono::milliseconds{2}}});
        }
    }
    rates_[0] = impl::rate_spec_ptr{
        new impl::rate_spec{"log", {5, std::chrono::seconds{1}}, rate_algorithm::sliding_log}};
    rates_[1] = impl::rate_spec_ptr{new impl::rate_spec{
        "window", {3, std::chrono::milliseconds{300}}, rate_algorithm::fixed_window}};
}

engine_world::~engine_world() {
    if (!closed_) {
        close();
    }
}

void engine_world::after_turn() {
    FUZZ_CHECK(++turns_at_once_ < most_turns_at_once);
    collect();
    if (connected_ != 0 && wanted() != connected_) {
        drop_connection(fate::later);
    }
    write();
    check();
}

// Plays those who act by themselves until nothing more comes of it.
void engine_world::settle() {
    if (in_batch_) {
        return;
    }
    if (connects && connected_ == 0 && wanted() != 0) {
        connect();
        return;
    }
    if (serves && connected_ != 0 && !session_.unread.empty()) {
        serve(session_.unread.size());
        return;
    }
    if (serves && connected_ != 0 && !(session_.answers.empty() && arriving_.empty())) {
        deliver(std::string::npos);
    }
}

void engine_world::advance(duration d) {
    const time_point until = core::after(now_, d);
    for (int i = 0; engine_.next_deadline() <= until && i < most_turns_of_advance; ++i) {
        advance_to_deadline();
    }
    if (engine_.next_deadline() > until) {
        skip(until - now_);
    }
}

void engine_world::advance_to_deadline() {
    const time_point next = engine_.next_deadline();
    if (next == core::never) {
        return;
    }
    skip(std::max(next - now_, duration::zero()));
}

void engine_world::skip(duration d) {
    if (in_batch_) {
        return;
    }
    if (d > duration::zero()) {
        turns_at_once_ = 0;
    }
    // What was due while the machine slept begins only now.
    const duration late = std::max(now_ + d - engine_.next_deadline(), duration::zero());
    now_ += d;
    for (request* r : open_) {
        r->due = core::after(r->due, late);
    }
    turn([] {});
}

void engine_world::write() {
    if (blocked_ || connected_ == 0) {
        return;
    }
    while (engine_.has_output(place_)) {
        std::string out;
        engine_.stage(out, place_);
        FUZZ_CHECK(!out.empty() && out.size() < most_output);
        for (words& command : cut_commands(out)) {
            note(command);
            session_.unread.push_back(std::move(command));
        }
    }
}

void engine_world::block_writes(bool blocked) {
    blocked_ = blocked;
    if (!blocked) {
        turn([] {});
    }
}

void engine_world::connect() {
    if (connected_ != 0 || wanted() == 0) {
        return;
    }
    connected_ = wanted();
    session_ = {};
    arriving_.clear();
    connects_before_ = engine_.counters().connects;
    server_.subscriber = &session_;
    turn([&] { engine_.connected(place_); });
}

void engine_world::break_connection(fate of_unread) {
    turns_at_once_ = 0;
    if (connected_ != 0) {
        drop_connection(of_unread);
    }
    if (place_ < engine_.links()) {
        turn([&] { engine_.connection_broken("reset by peer", {}, place_); });
    }
}

void engine_world::drop_connection(fate of_unread) {
    connected_ = 0;
    server_.subscriber = nullptr;
    arriving_.clear();
    if (of_unread == fate::run) {
        while (!session_.unread.empty()) {
            run(session_, take_command());
        }
    } else if (of_unread == fate::later && !session_.unread.empty()) {
        had_old_ = true;
        if (old_.size() == most_old_connections) {
            old_.pop_front();
        }
        old_.push_back(std::move(session_));
    }
    session_ = {};
    missed_.clear();
}

void engine_world::run_old_connection() {
    if (!old_.empty()) {
        session& s = old_.front();
        const words command = std::move(s.unread.front());
        s.unread.pop_front();
        run(s, command);
        old_.remove_if([](const session& one) { return one.unread.empty(); });
    }
}

words engine_world::take_command() {
    words command = std::move(session_.unread.front());
    session_.unread.pop_front();
    return command;
}

void engine_world::run(session& s, const words& command) {
    const auto script = script_of(command);
    if (script == wire::script_id::release || script == wire::script_id::value_release) {
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (forced_[i] && command.at(3) == names[i]) {
                exempt(i);
            }
        }
    }
    std::string answer = server_.run(command, s, now_);
    s.answers.push_back(std::move(answer));
    if (&s == &session_) {
        missed_.insert(server_.missed.begin(), server_.missed.end());
    }
    server_.missed.clear();
}

void engine_world::kill_old() {
    for (const std::int64_t id : std::exchange(server_.killed, {})) {
        old_.remove_if([&](const session& one) { return one.id == id; });
    }
}

void engine_world::serve(std::size_t commands) {
    for (; commands > 0 && connected_ != 0 && !session_.unread.empty(); --commands) {
        if (!refusal.empty() && script_of(session_.unread.front())) {
            answer_with_error(refusal);
        } else {
            run(session_, take_command());
        }
    }
    kill_old();
    settle();
}

void engine_world::answer_with_error(std::string_view text) {
    take_command();
    session_.answers.push_back("-" + std::string{text} + "\r\n");
}

void engine_world::refuse(std::string_view text) {
    if (connected_ != 0 && !session_.unread.empty()) {
        answer_with_error(text);
        settle();
    }
}

void engine_world::answer_wrongly(fault how, std::string_view answer) {
    if (connected_ == 0 || session_.unread.empty()) {
        return;
    }
    honest = false;
    const words command = take_command();
    switch (how) {
        case fault::wrong: session_.answers.emplace_back(answer); break;
        case fault::twice:
            run(session_, command);
            session_.answers.push_back(session_.answers.back());
            break;
        case fault::none: server_.run(command, session_, now_); break;
        case fault::refused_but_run:
            server_.run(command, session_, now_);
            session_.answers.emplace_back("-ERR no such luck\r\n");
            break;
    }
    kill_old();
    settle();
}

void engine_world::deliver(std::size_t most) {
    if (connected_ == 0) {
        return;
    }
    while (!session_.answers.empty() && arriving_.size() < most) {
        arriving_ += session_.answers.front();
        session_.answers.pop_front();
    }
    const std::string bytes = arriving_.substr(0, most);
    arriving_.erase(0, bytes.size());
    if (!bytes.empty()) {
        feed(bytes);
        check_missed();
    }
}

void engine_world::feed_raw(std::string_view bytes) {
    if (connected_ != 0) {
        honest = false;
        feed(bytes);
    }
}

void engine_world::feed(std::string_view bytes) {
    turn([&] {
        const auto room = engine_.input(place_).prepare(bytes.size());
        std::copy(bytes.begin(), bytes.end(), room.begin());
        engine_.input(place_).commit(bytes.size());
        engine_.received(place_);
    });
}

void engine_world::other_takes(std::size_t name, duration lease) {
    if (!server_.find(names[name], now_)) {
        server_.take(names[name], "other:1", now_ + lease);
    }
}

void engine_world::other_releases(std::size_t name) {
    const server_model::key* const k = server_.find(names[name], now_);
    if (k && k->field == "other:1") {
        server_.erase(names[name]);
        server_.publish(specs_[name][0]->channel().text());
        settle();
    }
}

void engine_world::delete_key(std::size_t name) {
    exempt(name);
    server_.erase(names[name]);
}

void engine_world::send_push(std::size_t name, std::string_view what) {
    if (connected_ != 0) {
        // It may be taken for the answer to a command that was refused.
        honest = honest && what != "subscribe" && what != "unsubscribe";
        session_.answers.push_back(push(what, specs_[name][0]->channel().text(), bulk("0")));
        settle();
    }
}

void engine_world::restart_server(bool with_data) {
    if (!with_data) {
        for (std::size_t i = 0; i < names.size(); ++i) {
            delete_key(i);
        }
        last_fence_ = {};
    }
    server_.restart(with_data);
    old_.clear();
    break_connection(fate::lost);
}

}  // namespace conch::fuzz
