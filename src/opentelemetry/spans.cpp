// SPDX-License-Identifier: BSL-1.0
#include "opentelemetry/spans.hpp"

#include <conch/metrics.hpp>

#include <opentelemetry/context/context.h>
#include <opentelemetry/trace/span_metadata.h>
#include <opentelemetry/trace/span_startoptions.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace conch::otel {
namespace {

namespace trace = api::trace;

// A moment of the client's clock, on this one.
template <typename Clock>
typename Clock::time_point moment(time_point t) noexcept {
    return Clock::now() - (clock::now() - t);
}

trace::StartSpanOptions starting(time_point at, const trace::SpanContext& parent) {
    trace::StartSpanOptions o;
    o.start_system_time = moment<std::chrono::system_clock>(at);
    o.start_steady_time = moment<std::chrono::steady_clock>(at);
    if (parent.IsValid()) {
        o.parent = parent;
    } else {  // else it would be the child of a span that is active in the client's thread
        o.parent = api::context::Context{trace::kIsRootSpanKey, true};
    }
    return o;
}

void finish(trace::Span& s, api::common::SteadyTimestamp started, duration length) {
    trace::EndSpanOptions o;
    o.end_steady_time = std::chrono::steady_clock::time_point{started} + length;
    s.End(o);
}

void fail(trace::Span& s, std::string_view type, const error_code& why) {
    s.SetAttribute("error.type", text(type));
    s.SetStatus(trace::StatusCode::kError, why.message());
}

// What its caller asked for is no error.
bool is_error(wait_outcome o) noexcept {
    return o != wait_outcome::granted && o != wait_outcome::busy && o != wait_outcome::cancelled;
}

}  // namespace

spans::spans(tracer_ptr tracer, bool names) noexcept : tracer_{std::move(tracer)}, names_{names} {}

std::shared_ptr<const void> spans::active() {
    const span_context c = trace::Tracer::GetCurrentSpan()->GetContext();
    return c.IsValid() ? std::make_shared<const span_context>(c) : nullptr;
}

void spans::wait_began(const wait_span& w) {
    const std::scoped_lock guard{mutex_};
    ++of(w.name).waiting;
}

void spans::waited(const wait_span& w, std::string_view lock_class) {
    const span_context link = note_wait_end(w);
    const auto* const caller = static_cast<const span_context*>(w.caller);
    const wait_outcome o = outcome_of(w);
    attributes all = describe(w.name, lock_class);
    all.emplace_back("conch.wait.outcome", text(to_string(o)));
    all.emplace_back("conch.wait.contended", w.contended);
    std::vector<std::pair<span_context, attributes>> links;
    if (link.IsValid()) {
        links.emplace_back(link, attributes{});
    }
    const trace::StartSpanOptions start =
        starting(w.began, caller ? *caller : span_context::GetInvalid());
    const span_ptr span = tracer_->StartSpan("conch.wait", all, links, start);
    if (is_error(o) && w.result != errc::client_closed) {
        fail(*span, to_string(o), w.result);
    }
    finish(*span, start.start_steady_time, w.ended - w.began);
}

void spans::hold_began(const hold_span& h, std::string_view lock_class) {
    attributes all = describe(h.name, lock_class);
    if (h.fence != 0) {
        all.emplace_back("conch.hold.fence", static_cast<std::int64_t>(h.fence));
    }
    const trace::StartSpanOptions start = starting(h.began, parent_of(h));
    keep(h, tracer_->StartSpan("conch.hold", all, start), start.start_steady_time);
}

void spans::held(const hold_span& h) {
    const std::optional<open_hold> open = take(h);
    if (!open) {
        return;
    }
    trace::Span& span = *open->span;
    const hold_end e = end_of(h);
    span.SetAttribute("conch.hold.end", text(to_string(e)));
    span.SetAttribute("conch.hold.renewals", static_cast<std::int64_t>(h.renewals));
    if (e == hold_end::lost) {
        fail(span, to_string(loss_of(h)), h.reason);
    }
    finish(span, open->started, h.ended - h.began);
}

attributes spans::describe(std::string_view name, std::string_view lock_class) const {
    attributes all;
    all.emplace_back("conch.lock.class", text(lock_class));
    if (names_) {
        all.emplace_back("conch.lock.name", text(name));
    }
    return all;
}

spans::known_lock& spans::of(std::string_view name) {
    const auto l = locks_.find(name);
    return l != locks_.end() ? l->second : locks_[std::string{name}];
}

void spans::forget_idle(lock_map::iterator l) {
    if (l->second.waiting == 0 && l->second.holds.empty() && l->second.grants.empty()) {
        locks_.erase(l);
    }
}

spans::span_context spans::before(const known_lock& l, const wait_span& w) {
    if (w.number != 0) {
        return w.contended && l.last.at >= w.began ? l.last.context : span_context::GetInvalid();
    }
    const bool is_behind = w.contended || !w.result || w.result == errc::timed_out;
    return is_behind && !l.holds.empty() ? l.holds.back().span->GetContext()
                                         : span_context::GetInvalid();
}

spans::span_context spans::note_wait_end(const wait_span& w) {
    const std::scoped_lock guard{mutex_};
    const auto l = locks_.find(w.name);
    if (l == locks_.end()) {  // there was no memory
        return span_context::GetInvalid();
    }
    known_lock& one = l->second;
    one.waiting -= one.waiting > 0 ? 1 : 0;
    if (w.number != 0) {
        const auto* const caller = static_cast<const span_context*>(w.caller);
        one.grants.push_back({acquisition{w}, caller ? *caller : span_context::GetInvalid()});
    }
    const span_context link = before(one, w);
    forget_idle(l);
    return link;
}

// That of the wait that has just ended. A hold without a wait is nested in another.
spans::span_context spans::parent_of(const hold_span& h) {
    const std::scoped_lock guard{mutex_};
    known_lock& l = of(h.name);
    const auto is_of = [&](const auto& each) { return each.of.is_of(h); };
    const auto granted = std::find_if(l.grants.begin(), l.grants.end(), is_of);
    if (granted != l.grants.end()) {
        const span_context caller = granted->caller;
        l.grants.erase(granted);
        return caller;
    }
    const auto outer = std::find_if(l.holds.rbegin(), l.holds.rend(), is_of);
    return outer != l.holds.rend() ? outer->span->GetContext() : span_context::GetInvalid();
}

void spans::keep(const hold_span& h, span_ptr span, api::common::SteadyTimestamp started) {
    const std::scoped_lock guard{mutex_};
    of(h.name).holds.push_back({acquisition{h}, h.began, std::move(span), started});
}

std::optional<spans::open_hold> spans::take(const hold_span& h) {
    const std::scoped_lock guard{mutex_};
    const auto l = locks_.find(h.name);
    if (l == locks_.end()) {
        return std::nullopt;
    }
    known_lock& one = l->second;
    const auto is_of = [&](const auto& each) { return each.of.is_of(h); };
    const auto found = std::find_if(one.holds.begin(), one.holds.end(), [&](const open_hold& o) {
        return is_of(o) && o.began == h.began;
    });
    if (found == one.holds.end()) {
        return std::nullopt;
    }
    std::optional<open_hold> ended{std::move(*found)};
    one.holds.erase(found);
    one.last = {ended->span->GetContext(), h.ended};
    if (std::none_of(one.holds.begin(), one.holds.end(), is_of)) {
        std::erase_if(one.grants, is_of);  // it was to nest in that hold, and could not
    }
    forget_idle(l);
    return ended;
}

}  // namespace conch::otel
