// SPDX-License-Identifier: BSL-1.0
// Locks in traces and metrics: `opentelemetry [REDIS_URL]`. Writes spans and metrics to its output,
// as any exporter would send them, until SIGINT or SIGTERM.
#include <opentelemetry/exporters/ostream/metric_exporter_factory.h>
#include <opentelemetry/exporters/ostream/span_exporter_factory.h>
#include <opentelemetry/metrics/provider.h>
#include <opentelemetry/sdk/metrics/export/periodic_exporting_metric_reader_factory.h>
#include <opentelemetry/sdk/metrics/export/periodic_exporting_metric_reader_options.h>
#include <opentelemetry/sdk/metrics/meter_provider.h>
#include <opentelemetry/sdk/trace/batch_span_processor_factory.h>
#include <opentelemetry/sdk/trace/batch_span_processor_options.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>
#include <opentelemetry/trace/provider.h>
#include <opentelemetry/trace/scope.h>
#include <boost/asio.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <conch/conch.hpp>
#include <conch/opentelemetry.hpp>

namespace asio = boost::asio;
namespace metrics_sdk = opentelemetry::sdk::metrics;
namespace trace_sdk = opentelemetry::sdk::trace;
using namespace std::chrono_literals;
using span = opentelemetry::nostd::shared_ptr<opentelemetry::trace::Span>;
using meter_provider = opentelemetry::nostd::shared_ptr<opentelemetry::metrics::MeterProvider>;
using tracer_provider = opentelemetry::nostd::shared_ptr<opentelemetry::trace::TracerProvider>;

meter_provider make_meters() {
    metrics_sdk::PeriodicExportingMetricReaderOptions options;
    options.export_interval_millis = 1000ms;
    options.export_timeout_millis = 500ms;
    auto meters = std::make_unique<metrics_sdk::MeterProvider>();
    meters->AddMetricReader(metrics_sdk::PeriodicExportingMetricReaderFactory::Create(
        opentelemetry::exporter::metrics::OStreamMetricExporterFactory::Create(), options));
    return meter_provider{meters.release()};
}

tracer_provider make_tracers() {
    trace_sdk::BatchSpanProcessorOptions options;
    options.schedule_delay_millis = 500ms;
    return tracer_provider{
        new trace_sdk::TracerProvider{trace_sdk::BatchSpanProcessorFactory::Create(
            opentelemetry::exporter::trace::OStreamSpanExporterFactory::Create(), options)}};
}

// Starts the operation with this span active, and no longer: what is active belongs to a thread,
// and a coroutine that waits shares its thread with others.
template <typename Operation>
auto within(span parent, Operation op) {
    return asio::async_initiate<const asio::use_awaitable_t<>,
                                void(boost::system::error_code, conch::hold)>(
        [parent](auto handler, Operation started) {
            const opentelemetry::trace::Scope active{parent};
            std::move(started)(std::move(handler));
        },
        asio::use_awaitable, std::move(op));
}

asio::awaitable<void> work(conch::client& redis, int worker) {
    const auto tracer = opentelemetry::trace::Provider::GetTracerProvider()->GetTracer("orders");
    asio::steady_timer pause{co_await asio::this_coro::executor};
    for (int order = 0;; ++order) {
        conch::mutex m{redis, "orders:" + std::to_string((order + worker) % 3)};
        const span settling = tracer->StartSpan("settle");
        conch::hold h = co_await within(settling, m.async_lock({.wait = 10s}));
        pause.expires_after(100ms);  // what the lock is for
        co_await pause.async_wait(asio::use_awaitable);
        co_await h.async_unlock();
        settling->End();
    }
}

int main(int argc, char* argv[]) {
    try {
        // First: the observer takes the global ones.
        opentelemetry::metrics::Provider::SetMeterProvider(make_meters());
        opentelemetry::trace::Provider::SetTracerProvider(make_tracers());

        asio::io_context io;
        conch::config settings =
            conch::config::from_url(argc > 1 ? argv[1] : "redis://127.0.0.1:6379");
        const auto metrics = std::make_shared<conch::metrics>(conch::metrics_options{
            .class_of = [](std::string_view name) { return name.substr(0, name.find(':')); }});
        settings.observer = conch::opentelemetry_observer(metrics);
        conch::client redis{io, settings};

        asio::signal_set signals{io, SIGINT, SIGTERM};
        signals.async_wait([&](boost::system::error_code, int) { io.stop(); });
        for (int worker = 0; worker < 4; ++worker) {
            asio::co_spawn(io, work(redis, worker), [](std::exception_ptr e) {
                if (e) {
                    std::rethrow_exception(e);
                }
            });
        }
        io.run();
        return EXIT_SUCCESS;
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return EXIT_FAILURE;
    }
}
