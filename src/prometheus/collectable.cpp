// SPDX-License-Identifier: BSL-1.0
#include <conch/prometheus.hpp>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conch {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

using label = std::pair<const char*, std::string_view>;

double seconds(duration d) { return std::chrono::duration<double>{d}.count(); }

ClientMetric labelled(std::initializer_list<label> labels) {
    ClientMetric m;
    for (const auto& [name, value] : labels) {
        m.label.push_back({name, std::string{value}});
    }
    return m;
}

class family {
public:
    family(const char* name, const char* help, MetricType type) {
        all_.name = name;
        all_.help = help;
        all_.type = type;
    }

    void counter(std::uint64_t value, std::initializer_list<label> labels) {
        add(labels).counter.value = static_cast<double>(value);
    }
    void gauge(std::uint64_t value, std::initializer_list<label> labels) {
        add(labels).gauge.value = static_cast<double>(value);
    }
    void histogram(const duration_histogram& h, std::initializer_list<label> labels) {
        ClientMetric::Histogram& out = add(labels).histogram;
        for (std::size_t i = 0; i < h.bounds.size(); ++i) {
            out.sample_count += h.counts[i];
            out.bucket.push_back({out.sample_count, seconds(h.bounds[i])});
        }
        out.sample_count = h.count();
        out.sample_sum = seconds(h.sum);
    }
    MetricFamily take() { return std::move(all_); }

private:
    ClientMetric& add(std::initializer_list<label> labels) {
        return all_.metric.emplace_back(labelled(labels));
    }
    MetricFamily all_;
};

/// f(element, label's value), for each enumerator.
template <typename Enum, typename Array, typename F>
void each_of(const Array& all, F f) {
    for (std::size_t i = 0; i < all.size(); ++i) {
        f(all[i], to_string(static_cast<Enum>(i)));
    }
}

/// What happened once is there from the start where alerts look for its first time. Outcomes of
/// waits and ends of holds are only there once they were met: each is two dozen series.
class families {
public:
    void add(const class_metrics& c) {
        if (c.has_locks()) {
            add_locks(c);
        }
        each_of<rate_outcome>(c.rate_permits, [&](std::uint64_t n, std::string_view o) {
            if (n > 0) {
                permits_.counter(n, {{"limit", c.name}, {"outcome", o}});
            }
        });
    }
    void add(const metrics_snapshot& s) {
        for (const class_metrics& c : s.classes) {
            add(c);
        }
        lateness_.histogram(s.renewal_lateness, {});
        up_.gauge(s.connections_up, {});
        down_.gauge(s.connections_down, {});
    }
    std::vector<MetricFamily> take() {
        std::vector<MetricFamily> all;
        for (family* f : {&waits_, &holds_, &held_, &held_long_, &waiters_, &acquired_, &lost_,
                          &lateness_, &permits_, &up_, &down_}) {
            all.push_back(f->take());
        }
        return all;
    }

private:
    void add_locks(const class_metrics& c) {
        const label lock{"lock", c.name};
        each_of<wait_outcome>(c.waits, [&](const duration_histogram& h, std::string_view o) {
            if (h.count() > 0) {
                waits_.histogram(h, {lock, {"outcome", o}});
            }
        });
        each_of<hold_end>(c.holds, [&](const duration_histogram& h, std::string_view e) {
            if (h.count() > 0) {
                holds_.histogram(h, {lock, {"end", e}});
            }
        });
        held_.gauge(c.held_now, {lock});
        held_long_.gauge(c.held_long_now, {lock});
        waiters_.gauge(c.waiting_now, {lock});
        acquired_.counter(c.acquired_uncontended, {lock, {"contended", "false"}});
        acquired_.counter(c.acquired_contended, {lock, {"contended", "true"}});
        each_of<loss_reason>(c.lost, [&](std::uint64_t n, std::string_view r) {
            lost_.counter(n, {lock, {"reason", r}});
        });
    }

    family waits_{"conch_lock_wait_seconds", "From the call of an acquire to its answer.",
                  MetricType::Histogram};
    family holds_{"conch_lock_hold_seconds", "From a grant to the release or loss.",
                  MetricType::Histogram};
    family held_{"conch_locks_held", "Holds now, nested ones too.", MetricType::Gauge};
    family held_long_{"conch_locks_held_long", "Holds now that are older than long_hold, an hour.",
                      MetricType::Gauge};
    family waiters_{"conch_lock_waiters", "Acquires now that have no answer yet.",
                    MetricType::Gauge};
    family acquired_{"conch_lock_acquired_total", "Acquires that were granted.",
                     MetricType::Counter};
    family lost_{"conch_lock_lost_total", "Holds that were lost before they were released.",
                 MetricType::Counter};
    family lateness_{"conch_renewal_lateness_seconds", "How late renewals were sent.",
                     MetricType::Histogram};
    family permits_{"conch_rate_permits_total", "Permits that rate limits were asked for.",
                    MetricType::Counter};
    family up_{"conch_connection_up", "Connections now to servers of locks.", MetricType::Gauge};
    family down_{"conch_connection_down", "Connections now that are wanted and not up.",
                 MetricType::Gauge};
};

class collectable final : public prometheus::Collectable {
public:
    explicit collectable(std::shared_ptr<const metrics> of) : of_{std::move(of)} {}

    std::vector<MetricFamily> Collect() const override {
        families all;
        all.add(of_->snapshot());
        return all.take();
    }

private:
    const std::shared_ptr<const metrics> of_;
};

}  // namespace

std::shared_ptr<prometheus::Collectable> prometheus_collectable(std::shared_ptr<const metrics> of) {
    if (!of) {
        throw std::invalid_argument{"conch::prometheus_collectable: there are no metrics"};
    }
    return std::make_shared<collectable>(std::move(of));
}

}  // namespace conch
