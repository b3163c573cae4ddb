// SPDX-License-Identifier: BSL-1.0
// What must hold of an engine after each turn, and at its end.
#include "fuzz/engine_world.hpp"
#include "fuzz/fuzz_check.hpp"

#include <algorithm>
#include <charconv>

namespace conch::fuzz {
namespace {

std::uint64_t unsigned_in(std::string_view text) {
    std::uint64_t n = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
    FUZZ_CHECK(bad == std::errc{} && end == text.data() + text.size());
    return n;
}

time_point valid_until(const impl::hold_view& v) noexcept {
    return time_point{duration{v.valid_until.load()}};
}

std::size_t name_index(std::string_view name) {
    const auto it = std::find(engine_world::names.begin(), engine_world::names.end(), name);
    FUZZ_CHECK(it != engine_world::names.end());
    return static_cast<std::size_t>(it - engine_world::names.begin());
}

}  // namespace

void counting_observer::waited(const wait_span& s) noexcept {
    ++waits;
    FUZZ_CHECK(s.began <= s.ended);
    FUZZ_CHECK(s.number == 0 || !s.result);
}

void counting_observer::held(const hold_span& s) noexcept {
    ++holds;
    FUZZ_CHECK(s.began <= s.ended && s.number != 0);
}

void counting_observer::connection_changed(const connection_change& c) noexcept {
    FUZZ_CHECK(c.before != c.now);
    connections_up += (c.now == connection_state::up) - (c.before == connection_state::up);
    connections_down += (c.now == connection_state::down) - (c.before == connection_state::down);
    FUZZ_CHECK(connections_up >= 0 && connections_down >= 0);
}

bool engine_world::gone_by_now(const impl::hold_view& v) const { return now_ >= valid_until(v); }

engine_world::record& engine_world::record_of(std::uint64_t number) {
    FUZZ_CHECK(number < 1'000'000);
    const auto i = static_cast<std::size_t>(number);
    if (records_.size() <= i) {
        records_.resize(i + 1);
    }
    return records_[i];
}

// The key of this lock is taken away: whoever holds it can't know.
void engine_world::exempt(std::size_t name) {
    if (const server_model::key* k = server_.find(names[name], now_)) {
        taken_away_.insert(k->field);
    }
}

/// Looks at a command in the moment in which it is written.
void engine_world::note(const words& w) {
    const auto script = script_of(w);
    const bool greeted = engine_.counters().connects != connects_before_;
    if (w[0] == "SET") {
        FUZZ_CHECK(greeted);
        note_lease(w.at(2), w.at(5), true, name_index(w.at(1)));
        return;
    }
    if (!script) {
        const bool greets =
            w[0] == "HELLO" || w[0] == "SELECT" || w[0] == "INFO" || w[0] == "SCRIPT";
        FUZZ_CHECK(greets != greeted);
        return;
    }
    FUZZ_CHECK(greeted);
    const std::size_t keys = unsigned_in(w.at(2));
    const auto arg = [&](std::size_t i) -> const std::string& { return w.at(3 + keys + i); };
    switch (*script) {
        case wire::script_id::value_acquire_many:
        case wire::script_id::acquire_many:
        case wire::script_id::value_release_many:
        case wire::script_id::release_many:
            for (const words& run : runs_of(w)) {
                note(run);
            }
            return;
        case wire::script_id::value_acquire:
        case wire::script_id::acquire:
            note_lease(arg(0), arg(1), true, name_index(w.at(3)));
            return;
        case wire::script_id::value_nest:
        case wire::script_id::nest: note_lease(arg(0), arg(2), false, name_index(w.at(3))); return;
        case wire::script_id::value_renew:
        case wire::script_id::renew:
            for (std::size_t i = 0; i < keys; ++i) {
                note_lease(arg(2 * i), arg(2 * i + 1), false, name_index(w.at(3 + i)));
            }
            return;
        case wire::script_id::value_release:
        case wire::script_id::release: note_release(arg(0), name_index(w.at(3))); return;
        case wire::script_id::value_status:
        case wire::script_id::status: return;
        case wire::script_id::rate_window:
        case wire::script_id::rate_log:
        case wire::script_id::rate_gcra:
            FUZZ_CHECK(std::any_of(open_.begin(), open_.end(), [](const request* r) {
                return r->what == request::kind::permits;
            }));
            return;
        case wire::script_id::shared_read:
        case wire::script_id::shared_write:
        case wire::script_id::shared_release:
        case wire::script_id::shared_downgrade:
        case wire::script_id::shared_renew:
        case wire::script_id::shared_status: FUZZ_CHECK(!"nobody reads here");
        case wire::script_id::semaphore_acquire:
        case wire::script_id::semaphore_change: FUZZ_CHECK(!"nobody counts here");
        case wire::script_id::fair_acquire:
        case wire::script_id::fair_release: FUZZ_CHECK(!"nobody stands in line here");
        case wire::script_id::permits_acquire:
        case wire::script_id::permits_release:
        case wire::script_id::permits_renew:
        case wire::script_id::permits_status: FUZZ_CHECK(!"nobody takes permits here");
        case wire::script_id::once: FUZZ_CHECK(!"nobody plans here");
    }
}

// Nothing is asked for a field whose release is on its way. (A forced release names the field of a
// hold, too.)
void engine_world::note_lease(const std::string& field, const std::string& lease_ms,
                              bool is_acquire, std::size_t name) {
    FUZZ_CHECK(field.starts_with("c:"));
    record& r = record_of(unsigned_in(field.substr(2)));
    FUZZ_CHECK(!r.release_sent);
    if (is_acquire) {
        // Not for anybody who gave up, and whose acquire may run a second time.
        FUZZ_CHECK(std::any_of(open_.begin(), open_.end(), [&](const request* one) {
            return one->what == request::kind::acquire && one->name == name;
        }));
        FUZZ_CHECK(r.bound == time_point{} || r.name == name);
        r.name = name;
    }
    FUZZ_CHECK(r.name == name);
    if (lease_ms.starts_with('-')) {
        return;  // what lowers a TTL promises nothing
    }
    const auto ms = static_cast<std::int64_t>(unsigned_in(lease_ms));
    const duration lease = std::chrono::milliseconds{ms};
    if (ms > 0) {
        const duration margin = std::chrono::milliseconds{ms} / 40 + std::chrono::milliseconds{1};
        r.bound = std::max(r.bound, now_ + lease - margin);
    }
}

void engine_world::note_release(const std::string& field, std::size_t name) {
    if (field.starts_with("c:") && !forced_[name]) {
        record_of(unsigned_in(field.substr(2))).release_sent = true;
    }
}

void engine_world::check() {
    check_holds();
    check_requests();
    const stats s = engine_.counters();
    FUZZ_CHECK(s.holds_now <= grants_);
    FUZZ_CHECK(s.slots_now <= names.size());
    FUZZ_CHECK(observer_.waits == s.waits);
    if (closing_ && honest && engine_.drained()) {
        check_released();
    }
}

void engine_world::check_holds() {
    std::array<const lock::acquisition*, names.size()> holder{};
    std::uint64_t live = 0;
    for (const impl::view_ptr& v : holds_) {
        const lock::level* const l = lock::level_of(*v);
        if (!l) {
            continue;
        }
        ++live;
        const lock::acquisition& a = *l->of;
        const record& r = record_of(a.number);
        FUZZ_CHECK(v->lost == 0);
        FUZZ_CHECK(!gone_by_now(*v));  // a loss is told in time
        FUZZ_CHECK(valid_until(*v) <= r.bound);
        FUZZ_CHECK(!holder[r.name] || holder[r.name] == &a);
        holder[r.name] = &a;
    }
    FUZZ_CHECK(engine_.counters().holds_now == live);
    for (const lock::acquisition* a : holder) {
        if (a && honest) {
            check_truth(*a);
        }
    }
}

// Whoever believes that they hold the lock do hold it.
void engine_world::check_truth(const lock::acquisition& a) {
    const std::string field = "c:" + std::to_string(a.number);
    if (taken_away_.contains(field)) {
        return;
    }
    const server_model::key* const k = server_.find(names[record_of(a.number).name], now_);
    FUZZ_CHECK(k && k->field == field);
}

// Whoever was told that the lock is gone does not go on believing. All answers must have arrived.
void engine_world::check_missed() {
    if (!honest || connected_ == 0 || !session_.answers.empty() || !arriving_.empty()) {
        return;
    }
    for (const impl::view_ptr& v : holds_) {
        if (const lock::level* const l = lock::level_of(*v)) {
            FUZZ_CHECK(!missed_.contains("c:" + std::to_string(l->of->number)));
        }
    }
}

void engine_world::check_requests() {
    std::size_t admitted = 0;
    for (const request* r : open_) {
        FUZZ_CHECK(now_ <= r->due);
        switch (r->what) {
            case request::kind::acquire:
                ++admitted;
                FUZZ_CHECK(!closing_ || r->nests);
                break;
            case request::kind::query:
            case request::kind::permits:
                ++admitted;
                FUZZ_CHECK(!closing_);
                break;
            case request::kind::watch:
                FUZZ_CHECK((!closing_ || r->before > duration::zero()) && lock::level_of(*r->view));
                break;
            case request::kind::unlock:
            case request::kind::extend: break;
        }
        FUZZ_CHECK(r->running);
    }
    FUZZ_CHECK(admitted <= settings_.max_pending);
}

// An acquisition ends owned or released: no key of this client remains, but what was given away.
void engine_world::check_released() {
    if (had_old_) {
        return;
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        const server_model::key* const k = server_.find(names[i], now_);
        FUZZ_CHECK(!k || detached_[i] || !k->field.starts_with("c:"));
    }
}

void engine_world::wind_down(duration drain) {
    connects = serves = true;
    refusal = {};
    block_writes(false);
    shutdown(drain);
    const duration enough = 3 * longest_lease_ + drain + std::chrono::seconds{30};
    const time_point until = core::after(now_, enough);
    for (int i = 0; i < 2000 && !engine_.drained() && now_ < until; ++i) {
        advance_to_deadline();
    }
    // With patience without end a client waits for ever for an answer that was swallowed.
    const bool patient = settings_.response_timeout == forever && !honest;
    if (longest_lease_ <= std::chrono::seconds{30} && !patient) {
        FUZZ_CHECK(engine_.drained());
    }
}

void engine_world::close() {
    engine_.close();
    closing_ = closed_ = true;
    connected_ = 0;
    collect();
    FUZZ_CHECK(open_.empty());
    FUZZ_CHECK(engine_.next_deadline() == core::never);
    FUZZ_CHECK(place_ >= engine_.links() || !engine_.has_output(place_));
    FUZZ_CHECK(wanted() == 0);
    const stats s = engine_.counters();
    FUZZ_CHECK(s.slots_now == 0 && s.subscriptions_now == 0);
    FUZZ_CHECK(s.holds_now == 0 && s.waiting_now == 0);
    FUZZ_CHECK(observer_.waits == s.waits && observer_.holds == grants_);
    FUZZ_CHECK(observer_.connections_up == 0 && observer_.connections_down == 0);
    for (const impl::view_ptr& v : holds_) {
        FUZZ_CHECK(!lock::level_of(*v));
    }
}

}  // namespace conch::fuzz
