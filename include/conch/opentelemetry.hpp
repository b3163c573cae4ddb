// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_OPENTELEMETRY_HPP
#define CONCH_OPENTELEMETRY_HPP

#include <conch/metrics.hpp>

#include <opentelemetry/metrics/meter_provider.h>
#include <opentelemetry/nostd/shared_ptr.h>
#include <opentelemetry/trace/tracer_provider.h>

#include <memory>

namespace conch {

/// Where `opentelemetry_observer` tells what it hears.
struct opentelemetry_options {
    /// Gets the spans. Default: the global one at the time of the call.
    opentelemetry::nostd::shared_ptr<opentelemetry::trace::TracerProvider> tracer_provider{};
    /// Gets the metrics. Default: the global one at the time of the call.
    opentelemetry::nostd::shared_ptr<opentelemetry::metrics::MeterProvider> meter_provider{};
    /// Gives the meter provider a view, so that histograms have the buckets of
    /// `duration_histogram`: those that OpenTelemetry takes by itself begin at 5 s. Only a provider
    /// of OpenTelemetry's SDK can be given one. Default: true; false where you give it views for
    /// the meter "conch".
    bool add_view = true;
    /// Spans have the lock's name. Default: false, its class only.
    bool names = false;
};

/// An observer for `config::observer` that counts in `of`, shows OpenTelemetry what `of` counts,
/// and makes a span of each wait and of each hold: the page on metrics lists names and attributes.
/// The span that is active where an acquire is called becomes the parent of both. In the library
/// `conch::opentelemetry`, built only where opentelemetry-cpp is found:
/// `find_package(conch COMPONENTS opentelemetry)`.
///
/// Throws `std::invalid_argument` if `of` is null.
///
/// Thread safety: while it is made, no other thread may use the meter provider, if that is given a
/// view. What this gives is safe, also for several clients. Lifetime: keeps `of` and the meter
/// provider, and a client keeps its observer. Either provider may be shut down, and the tracer
/// provider may end, while the client works.
std::shared_ptr<observer> opentelemetry_observer(std::shared_ptr<metrics> of,
                                                 const opentelemetry_options& options = {});

}  // namespace conch

#endif
