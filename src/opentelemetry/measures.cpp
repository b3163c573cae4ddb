// SPDX-License-Identifier: BSL-1.0
#include "opentelemetry/measures.hpp"

#include <opentelemetry/metrics/observer_result.h>
#include <opentelemetry/nostd/variant.h>
#include <opentelemetry/sdk/metrics/aggregation/aggregation_config.h>
#include <opentelemetry/sdk/metrics/instruments.h>
#include <opentelemetry/sdk/metrics/meter_provider.h>
#include <opentelemetry/sdk/metrics/view/instrument_selector_factory.h>
#include <opentelemetry/sdk/metrics/view/meter_selector_factory.h>
#include <opentelemetry/sdk/metrics/view/view.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace conch::otel {
namespace {

using result = api::metrics::ObserverResultT<std::int64_t>;

std::int64_t number(std::uint64_t n) noexcept { return static_cast<std::int64_t>(n); }

// How an instrument looks at each class, or at each that has locks: `Tell` observes what it shows
// of one.
template <auto Tell, bool OfLocks = true>
void look_at_classes(api::metrics::ObserverResult r, void* of) {
    result& to = *api::nostd::get<api::nostd::shared_ptr<result>>(r);
    for (const class_metrics& c : static_cast<const metrics*>(of)->snapshot().classes) {
        if (!OfLocks || c.has_locks()) {
            Tell(to, c);
        }
    }
}

template <std::uint64_t metrics_snapshot::* Number>
void look_at_all(api::metrics::ObserverResult r, void* of) {
    api::nostd::get<api::nostd::shared_ptr<result>>(r)->Observe(
        number(static_cast<const metrics*>(of)->snapshot().*Number));
}

template <std::uint64_t class_metrics::* Number>
void tell(result& to, const class_metrics& c) {
    to.Observe(number(c.*Number), {{"lock", text(c.name)}});
}

void tell_acquired(result& to, const class_metrics& c) {
    to.Observe(number(c.acquired_uncontended), {{"lock", text(c.name)}, {"contended", false}});
    to.Observe(number(c.acquired_contended), {{"lock", text(c.name)}, {"contended", true}});
}

void tell_lost(result& to, const class_metrics& c) {
    for (std::size_t i = 0; i < c.lost.size(); ++i) {
        to.Observe(number(c.lost[i]), {{"lock", text(c.name)},
                                       {"reason", text(to_string(static_cast<loss_reason>(i)))}});
    }
}

void tell_permits(result& to, const class_metrics& c) {
    for (std::size_t i = 0; i < c.rate_permits.size(); ++i) {
        if (c.rate_permits[i] > 0) {
            to.Observe(number(c.rate_permits[i]),
                       {{"limit", text(c.name)},
                        {"outcome", text(to_string(static_cast<rate_outcome>(i)))}});
        }
    }
}

namespace sdk = api::sdk::metrics;

// Until 1.19 a view has a unit, too.
template <typename View>
std::unique_ptr<View> histograms_with(std::shared_ptr<sdk::AggregationConfig> buckets) {
    constexpr auto type = sdk::AggregationType::kHistogram;
    if constexpr (std::is_constructible_v<View, const char*, const char*, decltype(type),
                                          decltype(buckets)>) {
        return std::make_unique<View>("", "", type, std::move(buckets));
    } else {
        return std::make_unique<View>("", "", "", type, std::move(buckets));
    }
}

}  // namespace

void add_view(api::metrics::MeterProvider& p) {
    auto* const provider = dynamic_cast<sdk::MeterProvider*>(&p);
    if (!provider) {
        return;
    }
    const auto buckets = std::make_shared<sdk::HistogramAggregationConfig>();
    std::transform(duration_histogram::bounds.begin(), duration_histogram::bounds.end(),
                   std::back_inserter(buckets->boundaries_), &seconds);
    provider->AddView(
        sdk::InstrumentSelectorFactory::Create(sdk::InstrumentType::kHistogram, "*", ""),
        sdk::MeterSelectorFactory::Create(scope, "", ""), histograms_with<sdk::View>(buckets));
}

measures::measures(provider_ptr p, std::shared_ptr<const metrics> of)
    : of_{std::move(of)},
      provider_{std::move(p)},
      meter_{provider_->GetMeter(scope)},
      waits_{meter_->CreateDoubleHistogram("conch.lock.wait",
                                           "From the call of an acquire to its answer.", "s")},
      holds_{meter_->CreateDoubleHistogram("conch.lock.hold",
                                           "From a grant to the release or loss.", "s")},
      lateness_{meter_->CreateDoubleHistogram("conch.renewal.lateness",
                                              "How late renewals were sent.", "s")} {
    look(meter_->CreateInt64ObservableUpDownCounter("conch.locks.held",
                                                    "Holds now, nested ones too.", "{hold}"),
         &look_at_classes<&tell<&class_metrics::held_now>>);
    look(
        meter_->CreateInt64ObservableUpDownCounter(
            "conch.locks.held_long", "Holds now that are older than long_hold, an hour.", "{hold}"),
        &look_at_classes<&tell<&class_metrics::held_long_now>>);
    look(meter_->CreateInt64ObservableUpDownCounter(
             "conch.lock.waiters", "Acquires now that have no answer yet.", "{acquire}"),
         &look_at_classes<&tell<&class_metrics::waiting_now>>);
    look(meter_->CreateInt64ObservableCounter("conch.lock.acquired", "Acquires that were granted.",
                                              "{acquire}"),
         &look_at_classes<&tell_acquired>);
    look(meter_->CreateInt64ObservableCounter(
             "conch.lock.lost", "Holds that were lost before they were released.", "{hold}"),
         &look_at_classes<&tell_lost>);
    look(meter_->CreateInt64ObservableCounter(
             "conch.rate.permits", "Permits that rate limits were asked for.", "{permit}"),
         &look_at_classes<&tell_permits, false>);
    look(meter_->CreateInt64ObservableUpDownCounter(
             "conch.connection.up", "Connections now to servers of locks.", "{connection}"),
         &look_at_all<&metrics_snapshot::connections_up>);
    look(
        meter_->CreateInt64ObservableUpDownCounter(
            "conch.connection.down", "Connections now that are wanted and not up.", "{connection}"),
        &look_at_all<&metrics_snapshot::connections_down>);
}

void measures::look(observable o, api::metrics::ObservableCallbackPtr at) {
    o->AddCallback(at, const_cast<metrics*>(of_.get()));
    observables_.push_back(std::move(o));
}

void measures::waited(const wait_span& w, std::string_view lock_class) noexcept {
    waits_->Record(seconds(w.ended - w.began),
                   {{"lock", text(lock_class)}, {"outcome", text(to_string(outcome_of(w)))}},
                   no_context_);
}

void measures::held(const hold_span& h, std::string_view lock_class) noexcept {
    holds_->Record(seconds(h.ended - h.began),
                   {{"lock", text(lock_class)}, {"end", text(to_string(end_of(h)))}}, no_context_);
}

void measures::renewed(const renewal_span& r) noexcept {
    lateness_->Record(seconds(r.late), no_context_);
}

}  // namespace conch::otel
