// SPDX-License-Identifier: BSL-1.0
#include <conch/opentelemetry.hpp>

#include "opentelemetry/measures.hpp"
#include "opentelemetry/spans.hpp"

#include <opentelemetry/metrics/provider.h>
#include <opentelemetry/trace/provider.h>

#include <stdexcept>
#include <utility>

namespace conch {
namespace {

namespace api = ::opentelemetry;
using meter_provider_ptr = api::nostd::shared_ptr<api::metrics::MeterProvider>;

// For what may find no memory: a span less is better than no program.
template <typename Function>
void if_possible(Function f) noexcept {
    try {
        f();
    } catch (...) {
    }
}

class telling_observer final : public observer {
public:
    telling_observer(std::shared_ptr<metrics> of, otel::spans::tracer_ptr tracer, bool names,
                     meter_provider_ptr meters)
        : metrics_{std::move(of)},
          spans_{std::move(tracer), names},
          measures_{std::move(meters), metrics_} {}

    std::shared_ptr<const void> caller_context() noexcept override {
        std::shared_ptr<const void> active;
        if_possible([&] { active = otel::spans::active(); });
        return active;
    }
    void wait_began(const wait_span& w) noexcept override {
        metrics_->wait_began(w);
        if_possible([&] { spans_.wait_began(w); });
    }
    void waited(const wait_span& w) noexcept override {
        metrics_->waited(w);
        const std::string_view lock_class = metrics_->class_of(w);
        measures_.waited(w, lock_class);
        if_possible([&] { spans_.waited(w, lock_class); });
    }
    void hold_began(const hold_span& h) noexcept override {
        metrics_->hold_began(h);
        if_possible([&] { spans_.hold_began(h, metrics_->class_of(h)); });
    }
    void held(const hold_span& h) noexcept override {
        metrics_->held(h);
        measures_.held(h, metrics_->class_of(h));
        if_possible([&] { spans_.held(h); });
    }
    void renewed(const renewal_span& r) noexcept override {
        metrics_->renewed(r);
        measures_.renewed(r);
    }
    void rate_asked(const rate_span& r) noexcept override { metrics_->rate_asked(r); }
    void connection_changed(const connection_change& c) noexcept override {
        metrics_->connection_changed(c);
    }

private:
    const std::shared_ptr<metrics> metrics_;
    otel::spans spans_;
    otel::measures measures_;
};

}  // namespace

std::shared_ptr<observer> opentelemetry_observer(std::shared_ptr<metrics> of,
                                                 const opentelemetry_options& options) {
    if (!of) {
        throw std::invalid_argument{"conch::opentelemetry_observer: there are no metrics"};
    }
    meter_provider_ptr meters = options.meter_provider;
    if (!meters) {
        meters = api::metrics::Provider::GetMeterProvider();
    }
    auto tracers = options.tracer_provider;
    if (!tracers) {
        tracers = api::trace::Provider::GetTracerProvider();
    }
    if (options.add_view) {
        otel::add_view(*meters);
    }
    return std::make_shared<telling_observer>(std::move(of), tracers->GetTracer(otel::scope),
                                              options.names, std::move(meters));
}

}  // namespace conch
