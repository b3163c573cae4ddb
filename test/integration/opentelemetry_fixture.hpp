// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_INTEGRATION_OPENTELEMETRY_FIXTURE_HPP
#define CONCH_TEST_INTEGRATION_OPENTELEMETRY_FIXTURE_HPP

#include "support/redis_test.hpp"

#include <conch/opentelemetry.hpp>

#include <opentelemetry/exporters/memory/in_memory_span_data.h>
#include <opentelemetry/exporters/memory/in_memory_span_exporter_factory.h>
#include <opentelemetry/sdk/metrics/meter_provider.h>
#include <opentelemetry/sdk/metrics/metric_reader.h>
#include <opentelemetry/sdk/trace/simple_processor_factory.h>
#include <opentelemetry/sdk/trace/span_data.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conch::test {

namespace api = opentelemetry;
namespace metrics_sdk = opentelemetry::sdk::metrics;
namespace trace_sdk = opentelemetry::sdk::trace;

using span_ptr = api::nostd::shared_ptr<api::trace::Span>;
using metric_values = std::map<std::string, double>;
using exported_span = std::unique_ptr<trace_sdk::SpanData>;

/// Collects when it is asked.
class collecting_reader final : public metrics_sdk::MetricReader {
public:
    metrics_sdk::AggregationTemporality GetAggregationTemporality(
        metrics_sdk::InstrumentType) const noexcept override {
        return metrics_sdk::AggregationTemporality::kCumulative;
    }

private:
    bool OnForceFlush(std::chrono::microseconds) noexcept override { return true; }
    bool OnShutDown(std::chrono::microseconds) noexcept override { return true; }
};

inline std::string text_of(const api::sdk::common::OwnedAttributeValue& v) {
    if (const auto* const s = api::nostd::get_if<std::string>(&v)) {
        return *s;
    }
    if (const auto* const b = api::nostd::get_if<bool>(&v)) {
        return *b ? "true" : "false";
    }
    const auto* const n = api::nostd::get_if<std::int64_t>(&v);
    return n ? std::to_string(*n) : "another type";
}

inline std::string attribute(const exported_span& s, const std::string& key) {
    const auto& all = s->GetAttributes();
    const auto found = all.find(key);
    return found != all.end() ? text_of(found->second) : "none";
}

struct opentelemetry_test : redis_test {
    opentelemetry_test() { meters->AddMetricReader(collector); }

    config observed() {
        config c = push_only();
        c.observer = opentelemetry_observer(counted, options());
        return c;
    }
    opentelemetry_options options() const {
        return {.tracer_provider = api::nostd::shared_ptr<api::trace::TracerProvider>{tracers},
                .meter_provider = api::nostd::shared_ptr<api::metrics::MeterProvider>{meters}};
    }
    span_ptr request() const { return tracers->GetTracer("user")->StartSpan("request"); }

    /// Those of this name that ended, and were not asked for before.
    std::vector<exported_span> exported(const std::string& name) {
        for (exported_span& s : spans->GetSpans()) {
            ended.push_back(std::move(s));
        }
        std::vector<exported_span> found;
        for (exported_span& s : ended) {
            if (s && s->GetName() == api::nostd::string_view{name.data(), name.size()}) {
                found.push_back(std::move(s));
            }
        }
        return found;
    }
    exported_span one(const std::string& name) {
        std::vector<exported_span> all = exported(name);
        EXPECT_EQ(all.size(), 1U) << name;
        return all.empty() ? std::make_unique<trace_sdk::SpanData>() : std::move(all.front());
    }

    /// What is exported of this metric: "lock=orders outcome=granted" to its value, or count.
    metric_values collected(const std::string& name) {
        metric_values all;
        collect(name, [&](const std::string& labels, const metrics_sdk::PointType& p) {
            if (const auto* const sum = api::nostd::get_if<metrics_sdk::SumPointData>(&p)) {
                all[labels] = static_cast<double>(api::nostd::get<std::int64_t>(sum->value_));
            } else if (const auto* const h =
                           api::nostd::get_if<metrics_sdk::HistogramPointData>(&p)) {
                all[labels] = static_cast<double>(h->count_);
            }
        });
        return all;
    }
    template <typename Function>
    void collect(const std::string& name, Function f) {
        collector->Collect([&](metrics_sdk::ResourceMetrics& r) {
            for (const auto& scope : r.scope_metric_data_) {
                for (const auto& m : scope.metric_data_) {
                    for (const auto& p : m.point_data_attr_) {
                        if (m.instrument_descriptor.name_ == name) {
                            f(labels_of(p.attributes), p.point_data);
                        }
                    }
                }
            }
            return true;
        });
    }
    template <typename Attributes>
    static std::string labels_of(const Attributes& all) {
        std::map<std::string, std::string> sorted;
        for (const auto& [key, value] : all) {
            sorted[key] = text_of(value);
        }
        std::string text;
        for (const auto& [key, value] : sorted) {
            text += (text.empty() ? "" : " ") + key + "=" + value;
        }
        return text;
    }

    std::shared_ptr<metrics> counted = std::make_shared<metrics>(metrics_options{
        .class_of = [](std::string_view name) { return name.substr(0, name.find(':')); },
        .max_classes = 2});
    std::shared_ptr<api::exporter::memory::InMemorySpanData> spans;
    std::shared_ptr<trace_sdk::TracerProvider> tracers =
        std::make_shared<trace_sdk::TracerProvider>(trace_sdk::SimpleSpanProcessorFactory::Create(
            api::exporter::memory::InMemorySpanExporterFactory::Create(spans)));
    std::shared_ptr<metrics_sdk::MeterProvider> meters =
        std::make_shared<metrics_sdk::MeterProvider>();
    std::shared_ptr<collecting_reader> collector = std::make_shared<collecting_reader>();
    std::vector<exported_span> ended{};
};

}  // namespace conch::test

#endif
