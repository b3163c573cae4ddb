// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_OPENTELEMETRY_MEASURES_HPP
#define CONCH_SRC_OPENTELEMETRY_MEASURES_HPP

#include "opentelemetry/names.hpp"

#include <conch/metrics.hpp>
#include <conch/observer.hpp>

#include <opentelemetry/context/context.h>
#include <opentelemetry/metrics/async_instruments.h>
#include <opentelemetry/metrics/meter.h>
#include <opentelemetry/metrics/meter_provider.h>
#include <opentelemetry/metrics/sync_instruments.h>
#include <opentelemetry/nostd/shared_ptr.h>
#include <opentelemetry/nostd/unique_ptr.h>

#include <memory>
#include <string_view>
#include <vector>

namespace conch::otel {

/// Where the meter provider is the SDK's: histograms of conch are to have its buckets.
void add_view(api::metrics::MeterProvider& p);

/// What a `metrics` counts, as instruments that look at it. Durations are recorded one by one, as
/// no instrument takes a histogram.
class measures {
public:
    using provider_ptr = api::nostd::shared_ptr<api::metrics::MeterProvider>;

    measures(provider_ptr p, std::shared_ptr<const metrics> of);
    measures(const measures&) = delete;
    measures& operator=(const measures&) = delete;

    void waited(const wait_span& w, std::string_view lock_class) noexcept;
    void held(const hold_span& h, std::string_view lock_class) noexcept;
    void renewed(const renewal_span& r) noexcept;

private:
    using histogram = api::nostd::unique_ptr<api::metrics::Histogram<double>>;
    using observable = api::nostd::shared_ptr<api::metrics::ObservableInstrument>;

    void look(observable o, api::metrics::ObservableCallbackPtr at);

    const std::shared_ptr<const metrics> of_;
    const provider_ptr provider_;  ///< what the instruments need of the SDK's is gone with it
    const api::nostd::shared_ptr<api::metrics::Meter> meter_;
    /// What is active in the client's thread is no matter to them.
    const api::context::Context no_context_{};
    const histogram waits_;
    const histogram holds_;
    const histogram lateness_;
    /// The end of each waits for the thread that looks at `of_` through it.
    std::vector<observable> observables_{};
};

}  // namespace conch::otel

#endif
