// SPDX-License-Identifier: BSL-1.0
// What the callers of an engine do, and how their operations end.
#include "fuzz/engine_world.hpp"
#include "fuzz/fuzz_check.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>

namespace conch::fuzz {
namespace {

constexpr std::size_t most_requests = 200;
/// How long after its turn others may delay a contender, at most, and some room.
constexpr duration turn_room = std::chrono::milliseconds{500};

duration twice(duration d) noexcept { return d > duration::max() / 2 ? duration::max() : 2 * d; }

}  // namespace

void engine_world::begin_batch() {
    if (!in_batch_) {
        in_batch_ = true;
        engine_.begin_turn(now_);
    }
}

void engine_world::end_batch() {
    in_batch_ = false;
    engine_.end_turn();
    after_turn();
    settle();
}

request& engine_world::add(request::kind what, time_point due) {
    request& r = requests_.emplace_back();
    r.what = what;
    r.due = due;
    r.crowd = std::max(open_.size(), engine_.unsettled());
    open_.push_back(&r);
    return r;
}

void engine_world::acquire(std::size_t name, bool fenced, const lock_options& o, bool try_only,
                           std::uint64_t owner) {
    if (requests_.size() >= most_requests) {
        return;
    }
    const duration patience = settings_.operation_timeout;
    const duration wait = o.wait.value_or(try_only ? duration::zero() : forever);
    time_point due = core::never;
    if (wait >= duration::zero()) {
        due = core::after(core::after(core::after(now_, wait), twice(patience)), turn_room);
    }
    if (owner != 0) {
        due = core::after(due, patience);
    }
    request& r = add(request::kind::acquire, due);
    r.try_only = try_only;
    r.nests = owner != 0;
    r.fenced = fenced;
    r.name = name;
    longest_lease_ = std::max(longest_lease_, o.lease.value_or(settings_.default_lease));
    turn([&] {
        engine_.acquire(specs_[name][fenced ? 1 : 0], o, try_only, {&r, &r.running}, owner);
    });
}

void engine_world::unlock(std::size_t hold) {
    if (requests_.size() >= most_requests) {
        return;
    }
    const impl::view_ptr view = holds_.at(hold);
    const time_point valid{duration{view->valid_until.load()}};
    request& r =
        add(request::kind::unlock, std::max(valid, core::after(now_, settings_.operation_timeout)));
    r.view = view;
    turn([&] { engine_.unlock(view, {&r, &r.running}); });
}

void engine_world::release(std::size_t hold) {
    turn([&] { engine_.release(*holds_.at(hold)); });
}

void engine_world::detach(std::size_t hold) {
    turn([&] {
        if (const lock::level* l = lock::level_of(*holds_.at(hold))) {
            detached_[record_of(l->of->number).name] = true;
        }
        engine_.detach(*holds_.at(hold));
    });
}

void engine_world::extend(std::size_t hold, duration lease) {
    if (requests_.size() >= most_requests) {
        return;
    }
    request& r = add(request::kind::extend, core::after(now_, settings_.operation_timeout));
    longest_lease_ = std::max(longest_lease_, lease);
    turn([&] { engine_.extend(holds_.at(hold), lease, {&r, &r.running}); });
}

void engine_world::wait_lost(std::size_t hold, duration before) {
    if (requests_.size() >= most_requests) {
        return;
    }
    request& r = add(request::kind::watch, core::never);
    r.view = holds_.at(hold);
    r.before = before;
    turn([&] { engine_.wait_lost(r.view, before, {&r, &r.running}); });
}

void engine_world::status(std::size_t name) {
    if (requests_.size() >= most_requests) {
        return;
    }
    request& r = add(request::kind::query, core::after(now_, settings_.operation_timeout));
    const status_options options{.clients = (name & 1) != 0};
    turn([&] { engine_.status(specs_[name][0], options, {&r, &r.running}, &r.status); });
}

void engine_world::force_unlock(std::size_t name) {
    if (requests_.size() >= most_requests) {
        return;
    }
    request& r = add(request::kind::query, core::after(now_, settings_.operation_timeout));
    forced_[name] = true;
    turn([&] { engine_.force_unlock(specs_[name][0], {&r, &r.running}); });
}

void engine_world::permits(std::size_t limit, std::uint64_t n, duration wait, bool try_only) {
    if (requests_.size() >= most_requests) {
        return;
    }
    time_point due = core::never;
    if (wait >= duration::zero()) {
        due = core::after(core::after(now_, wait), twice(settings_.operation_timeout));
    }
    request& r = add(request::kind::permits, due);
    r.try_only = try_only;
    turn([&] { engine_.permits(rates_[limit], n, wait, try_only, {&r, &r.running}, &r.verdict); });
}

void engine_world::cancel(std::size_t request_) {
    request& r = *open_.at(request_);
    turn([&] {
        if (r.running) {
            engine_.cancel(*r.running, boost::system::errc::make_error_code(
                                           boost::system::errc::operation_canceled));
        }
    });
}

void engine_world::shutdown(duration drain) {
    turn([&] {
        engine_.shutdown(drain);
        closing_ = true;
    });
}

void engine_world::collect() {
    for (lock::completion& c : engine_.completions()) {
        finish(*static_cast<request*>(c.tag), c);
    }
    engine_.completions().clear();
    std::erase_if(open_, [](const request* r) { return r->completions > 0; });
}

void engine_world::finish(request& r, lock::completion& c) {
    FUZZ_CHECK(r.completions++ == 0);
    FUZZ_CHECK(r.running == nullptr);
    if (c.ec == errc::overloaded) {
        FUZZ_CHECK(r.crowd >= settings_.max_pending);
    }
    if (r.what == request::kind::permits && !c.ec) {
        FUZZ_CHECK(r.verdict.allowed || r.try_only);
        permits_granted_ += r.verdict.allowed ? 1 : 0;
        // What was counted may be told to nobody, but not to two.
        FUZZ_CHECK(!honest || permits_granted_ <= server_.requests_granted);
    }
    if (r.what != request::kind::acquire) {
        FUZZ_CHECK(!c.view);
        return;
    }
    FUZZ_CHECK(c.view ? !c.ec : c.ec || r.try_only);
    if (c.view) {
        r.view = std::move(c.view);
        granted(r);
    }
}

void engine_world::granted(request& r) {
    ++grants_;
    holds_.push_back(r.view);
    const lock::level* const level = lock::level_of(*r.view);
    if (!level) {
        return;  // over before it was told
    }
    FUZZ_CHECK(!gone_by_now(*r.view));
    FUZZ_CHECK(record_of(level->of->number).name == r.name);
    if (is_durable() && honest) {
        FUZZ_CHECK(server_.acknowledged.contains("c:" + std::to_string(level->of->number)));
    }
    if (r.fenced && honest && level->of->levels.size() == 1 && !r.nests) {
        FUZZ_CHECK(r.view->fence > last_fence_[r.name]);
        last_fence_[r.name] = r.view->fence;
    }
}

}  // namespace conch::fuzz
