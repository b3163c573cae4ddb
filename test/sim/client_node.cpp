// SPDX-License-Identifier: BSL-1.0
#include "sim/client_node.hpp"

#include "hold/acquisition.hpp"

#include <algorithm>
#include <utility>

namespace conch::sim {
namespace {

/// As the real driver: suspend must be noticed.
constexpr duration longest_sleep = std::chrono::seconds{1};
constexpr std::int64_t million = 1'000'000;

// The network knows a connection by its link's place and by the number that this gave it.
constexpr unsigned place_shift = 56;

std::uint64_t tag_of(std::size_t place, std::uint64_t number) noexcept {
    return number | static_cast<std::uint64_t>(place) << place_shift;
}

std::size_t place_of(std::uint64_t tag) noexcept { return tag >> place_shift; }

}  // namespace

client_node::client_node(world& w, network& n, client_events& e, const config& settings,
                         const clock_settings& clock, std::string id, std::uint64_t seed)
    : world_{w},
      network_{n},
      events_{e},
      clock_{clock},
      id_{std::move(id)},
      settings_{settings},
      index_{n.add(*this)},
      engine_{settings_, id_, seed} {
    if (seed % 4 != 0) {
        engine_.join_from(2);  // it has few at a time
    }
}

time_point client_node::local(instant t) const noexcept {
    return time_point{clock_.ahead + duration{t + t * clock_.drift_ppm / million}};
}

instant client_node::true_time(time_point t) const noexcept {
    const std::int64_t shown = (t.time_since_epoch() - clock_.ahead).count();
    instant at = shown * million / (million + clock_.drift_ppm);
    // Rounding, either way.
    while (local(at) < t) {
        ++at;
    }
    while (local(at - 1) >= t) {
        --at;
    }
    return at;
}

void client_node::begin() { engine_.begin_turn(local_now()); }

void client_node::end() {
    engine_.end_turn();
    close_in_time();
    tend_connections();
    write();
    arm_timer();
    events_.turned(index_);
    hand_out();
}

void client_node::shut_down(duration drain) {
    turn([&] {
        closing_since_ = closing() ? closing_since_ : world_.now();
        drain_end_ = std::min(drain_end_, core::after(local_now(), drain));
        engine_.shutdown(drain);
    });
}

void client_node::close_in_time() {
    if (closing() && !closed_ &&
        (engine_.drained() || local_now() >= core::after(drain_end_, settings_.response_timeout))) {
        world_.note("closed", index_);
        drained_ = engine_.drained();
        closed_ = true;
        engine_.close();
    }
}

bool client_node::connected() const noexcept {
    return std::any_of(connections_.begin(), connections_.end(),
                       [](const connection& c) { return c.connected; });
}

bool client_node::wants_connection() const noexcept {
    for (std::size_t i = 0; i < engine_.links(); ++i) {
        if (engine_.wanted_connection(i) != 0) {
            return true;
        }
    }
    return false;
}

bool client_node::is_current(std::uint64_t tag) const noexcept {
    const std::size_t place = place_of(tag);
    return place < connections_.size() && connections_[place].number != 0 &&
           tag_of(place, connections_[place].number) == tag;
}

void client_node::tend_connections() {
    connections_.resize(engine_.links());
    for (std::size_t i = 0; i < connections_.size(); ++i) {
        connection& c = connections_[i];
        const std::uint64_t wanted = engine_.wanted_connection(i);
        if (c.number != 0 && c.number != wanted) {
            network_.close(index_, tag_of(i, c.number));
            c = {};
        }
        if (c.number == 0 && wanted != 0) {
            c.number = wanted;
            network_.connect(index_, tag_of(i, wanted), engine_.target(i).port);
        }
    }
}

void client_node::write() {
    for (std::size_t i = 0; i < connections_.size(); ++i) {
        connection& c = connections_[i];
        if (!c.connected || c.writing || !engine_.has_output(i)) {
            continue;
        }
        std::string out;
        engine_.stage(out, i);
        c.writing = true;
        network_.send(index_, tag_of(i, c.number), out);
        world_.plan<&client_node::written>(world_.now() + world_.chance.between(0, 20 * micros),
                                           this, tag_of(i, c.number));
    }
}

void client_node::written(std::uint64_t tag, std::uint64_t) {
    if (dead_ || !is_current(tag)) {
        return;
    }
    const std::size_t place = place_of(tag);
    if (!running()) {
        feel(engine_.has_output(place) ? paused_.by : nullptr);
        world_.plan<&client_node::written>(paused_.until, this, tag);
        return;
    }
    connections_[place].writing = false;
    if (engine_.has_output(place)) {
        turn([] {});
    }
}

time_point client_node::next_look() const noexcept {
    const time_point wanted = closed_ ? core::never : engine_.next_deadline();
    return closing() && !closed_
               ? std::min(wanted, core::after(drain_end_, settings_.response_timeout))
               : wanted;
}

void client_node::arm_timer() {
    const time_point wanted = next_look();
    if (wanted == core::never) {
        return;  // it looks again when it fires, if it is armed
    }
    const time_point now = local_now();
    const instant at = true_time(std::min(std::max(wanted, now), now + longest_sleep));
    if (timer_at_ >= 0 && timer_at_ <= at) {
        return;
    }
    timer_at_ = at;
    world_.plan<&client_node::on_timer>(at, this, ++timer_generation_);
}

void client_node::on_timer(std::uint64_t generation, std::uint64_t) {
    if (dead_ || generation != timer_generation_) {
        return;
    }
    if (!running()) {
        timer_at_ = paused_.until;
        world_.plan<&client_node::on_timer>(paused_.until, this, generation);
        return;
    }
    timer_at_ = -1;
    turn([] {});
}

void client_node::hand_out() {
    for (lock::completion& c : engine_.completions()) {
        call& of = *static_cast<call*>(c.tag);
        ++of.completions;
        of.ec = c.ec;
        of.view = std::move(c.view);
        of.said = c.said;
        of.ended_at = world_.now();
        of.connects = engine_.counters().connects;
        of.number = of.view && lock::level_of(*of.view) ? lock::level_of(*of.view)->of->number : 0;
        of.was_expired = of.view && local_now().time_since_epoch().count() >= of.view->valid_until;
        ended_.push_back(&of);
        // The user's executor is busy now and then.
        const instant later =
            world_.chance.once_in(8) ? world_.chance.between(0, 5 * millis) : instant{0};
        world_.plan<&client_node::run_handler>(world_.now() + later, this);
    }
    engine_.completions().clear();
}

void client_node::run_handler(std::uint64_t, std::uint64_t) {
    if (dead_ || ended_.empty()) {
        return;
    }
    if (!running()) {
        world_.plan<&client_node::run_handler>(put_off(), this);
        return;
    }
    call& c = *ended_.front();
    ended_.pop_front();
    events_.ended(index_, c);
}

void client_node::pause(instant until, effect* e) {
    if (late()) {
        put_off();
    }
    paused_.prolong(until, e);
    world_.plan<&client_node::go_on>(paused_.until, this);
}

bool client_node::late() const noexcept {
    const bool unread = std::any_of(waiting_.begin(), waiting_.end(),
                                    [&](const arrival& a) { return is_current(a.number); });
    return !dead_ && (unread || next_look() < local_now());
}

void client_node::go_on(std::uint64_t, std::uint64_t) {
    if (late()) {
        put_off();
    }
    if (dead_ || !running()) {
        return;
    }
    paused_.by = nullptr;
    const bool reads_first = world_.chance.once_in(2);
    timer_at_ = -1;
    ++timer_generation_;
    for (connection& c : connections_) {
        c.writing = false;
    }
    if (!reads_first) {
        turn([] {});
    }
    catching_up_ = true;
    for (const arrival& a : std::exchange(waiting_, {})) {
        take(a);
    }
    catching_up_ = false;
    turn([] {});
    for (std::size_t i = 0; i < ended_.size(); ++i) {
        world_.plan<&client_node::run_handler>(world_.now(), this);
    }
}

void client_node::heal() {
    if (!dead_ && !running()) {
        paused_.until = world_.now();
        go_on(0, 0);
    }
}

void client_node::die(bool heard) {
    dead_ = true;
    if (!heard) {
        network_.cut_silently(index_);
    }
    for (std::size_t i = 0; i < connections_.size(); ++i) {
        if (connections_[i].number != 0) {
            network_.close(index_, tag_of(i, connections_[i].number));
        }
    }
    ended_.clear();
    waiting_.clear();
}

void client_node::take(const arrival& a) {
    if (!is_current(a.number)) {
        return;
    }
    const std::size_t place = place_of(a.number);
    const auto if_wanted = [&](auto&& input) {
        turn([&] {
            if (connections_[place].number == engine_.wanted_connection(place)) {
                input();
            }
        });
    };
    switch (a.what) {
        case arrival::kind::opened:
            connections_[place].connected = true;
            if_wanted([&] { engine_.connected(place); });
            return;
        case arrival::kind::bytes:
            if_wanted([&] {
                const auto room = engine_.input(place).prepare(a.bytes.size());
                std::copy(a.bytes.begin(), a.bytes.end(), room.begin());
                engine_.input(place).commit(a.bytes.size());
                engine_.received(place);
            });
            return;
        case arrival::kind::broken:
            if_wanted([&] { engine_.connection_broken("reset by peer", {}, place); });
            return;
    }
}

void client_node::came(arrival a) {
    if (dead_) {
        return;
    }
    if (running() && waiting_.empty()) {
        take(a);
    } else {
        waiting_.push_back(std::move(a));
    }
}

void client_node::opened(std::uint64_t number) { came({arrival::kind::opened, number}); }

void client_node::bytes_came(std::uint64_t number, std::string_view bytes) {
    world_.show("to client", index_, bytes);
    came({arrival::kind::bytes, number, std::string{bytes}});
}

void client_node::broken(std::uint64_t number) { came({arrival::kind::broken, number}); }

}  // namespace conch::sim
