// SPDX-License-Identifier: BSL-1.0
#include "wire/pipeline.hpp"

#include "core/check.hpp"

#include <algorithm>
#include <iterator>

namespace conch::wire {

void pipeline::begin(call& c) noexcept {
    CONCH_CHECK(c.where == call::state::idle && c.order <= c.type->order);
    c.where = call::state::waiting;
    c.how = call::manner::joint;
    c.ask = call::asking::no;
    c.redirects = 0;
    c.trouble = {};
    c.history = {};
    c.serial = 0;
}

void pipeline::submit(call& c) noexcept {
    begin(c);
    waiting(c).push_back(c);
}

void pipeline::submit_first(call& c) noexcept {
    begin(c);
    waiting(c).push_front(c);
}

// Before what was not written yet, and in the order in which such calls were written.
void pipeline::submit_again(call& c) noexcept {
    CONCH_CHECK(!c.is_linked() && !c.abandoned());
    c.where = call::state::waiting;
    call_list& others = waiting(c);
    others.insert(std::find_if(others.begin(), others.end(),
                               [&](const call& other) {
                                   return other.serial == 0 || other.serial > c.serial;
                               }),
                  c);
}

void pipeline::adopt(call& c) noexcept {
    CONCH_CHECK(!c.is_linked() && !c.abandoned());
    c.where = call::state::waiting;
    waiting(c).push_back(c);
}

void pipeline::calm(call& c) noexcept {
    c.order = c.type->order;
    call_list waits;
    take_waiting(waits, [&](const call& other) { return &other == &c; });
    if (!waits.empty()) {
        c.unlink();
        submit_again(c);
    }
}

void pipeline::withdraw(call& c) noexcept {
    CONCH_CHECK(c.where == call::state::waiting);
    c.unlink();
    c.where = call::state::idle;
}

bool pipeline::has_output(bool ready) const noexcept {
    const auto& [greeting, urgent, normal] = waiting_;
    return !greeting.empty() || (ready && (!urgent.empty() || !normal.empty()));
}

bool pipeline::hurries(bool ready) const noexcept {
    const auto& [greeting, urgent, normal] = waiting_;
    return !greeting.empty() ||
           (ready &&
            (!urgent.empty() || !std::all_of(normal.begin(), normal.end(),
                                             [](const call& c) { return c.type->unhurried; })));
}

std::size_t pipeline::stage(std::string& out, bool ready, time_point now, std::size_t limit) {
    std::size_t scripts = 0;
    for (call_list& list : waiting_) {
        if (!ready && &list != &waiting_.front()) {
            break;
        }
        std::array<call*, most_joined> room;
        while (!list.empty() && out.size() < limit) {
            const std::span<call*> calls{room.data(), take_joint(list, room)};
            call& first = *calls.front();
            for (call* c : calls) {
                written(*c, now);
            }
            first.joined = static_cast<std::uint16_t>(calls.size() - 1);
            resp::writer w{out};
            if (first.asks()) {
                first.ask = call::asking::awaited;
                w.command(1).arg("ASKING");
            }
            if (calls.size() == 1) {
                first.type->encode(first, w);
            } else {
                first.type->joint->write(calls, w);
            }
            scripts += first.type->kind == call_kind::script ? 1 : 0;
        }
    }
    return scripts;
}

void pipeline::written(call& c, time_point now) noexcept {
    c.where = call::state::written;
    c.history.written(now);
    c.serial = ++serial_;
    c.joined = 0;
    written_.push_back(c);
}

// The first call, and those behind it that leave as one script with it.
std::size_t pipeline::take_joint(call_list& from, std::span<call*> to) const noexcept {
    const auto script_of = [](const call& c) {
        return c.type->joint && c.may_join() && !c.asks() ? c.type->joint->script(c) : leaves_alone;
    };
    const call& first = from.front();
    const joint_script script = script_of(first);
    std::size_t count = 0;
    for (auto c = from.begin(); c != from.end() && count < to.size(); ++c) {
        if (count > 0 && (script == leaves_alone || script_of(*c) != script ||
                          c->how != first.how || c->hash_slot != first.hash_slot)) {
            break;
        }
        to[count++] = &*c;
    }
    count = count < fewest_joined_ ? 1 : count;
    for (std::size_t i = 0; i < count; ++i) {
        to[i]->unlink();
    }
    return count;
}

void pipeline::submit_again(std::span<call* const> calls) noexcept {
    for (std::size_t i = calls.size(); i-- > 0;) {
        submit_again(*calls[i]);
    }
}

call* pipeline::take_answered() noexcept {
    CONCH_CHECK(!written_.empty());
    call& c = written_.front();
    written_.pop_front();
    return &c;
}

std::size_t pipeline::connection_lost(time_point now) {
    std::size_t in_doubt = 0;
    call_list lost;
    while (!written_.empty()) {
        call& c = written_.back();
        written_.pop_back();
        c.history.lost_at = now;
        c.ask = call::asking::no;
        in_doubt += c.type->kind == call_kind::script ? 1 : 0;
        if (!c.abandoned() && c.type->after_loss == retry::replay) {
            submit_again(c);
        } else {
            lost.push_front(c);
        }
    }
    // Where the next connection leads, and when, nobody knows.
    for (call_list& list : waiting_) {
        for (call& c : list) {
            c.ask = call::asking::no;
        }
    }
    // What remains of a greeting belongs to the connection that broke.
    lost.splice(lost.end(), waiting_.front());
    end_as_lost(lost);
    return in_doubt;
}

void pipeline::drop_waiting() {
    for (call_list& list : waiting_) {
        call_list lost;
        lost.splice(lost.end(), list);
        end_as_lost(lost);
    }
}

void pipeline::end_as_lost(call_list& lost) {
    while (!lost.empty()) {
        call& c = lost.front();
        lost.pop_front();
        c.end({outcome::kind::lost, {}});
    }
}

}  // namespace conch::wire
