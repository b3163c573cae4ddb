// SPDX-License-Identifier: BSL-1.0
#include <conch/metrics.hpp>

#include "api/age_counts.hpp"
#include "api/class_memo.hpp"

#include <conch/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace conch {
namespace {

constexpr std::string_view one_class = "all";
constexpr std::string_view other_classes = "other";
constexpr std::size_t longest_class = 64;

template <typename Enum>
constexpr std::size_t index(Enum e) noexcept {
    return static_cast<std::size_t>(e);
}

using counter = std::atomic<std::uint64_t>;

void add(counter& c, std::uint64_t n = 1) noexcept { c.fetch_add(n, std::memory_order_relaxed); }

std::uint64_t value(const counter& c) noexcept { return c.load(std::memory_order_relaxed); }

/// Durations whose count of nanoseconds has the same highest bit are in this bucket or, above its
/// bound, in the next: no two bounds have the same highest bit. 0 ns counts as 1 ns.
struct octave {
    std::size_t bucket = 0;
    std::uint64_t bound = std::numeric_limits<std::uint64_t>::max();
};

constexpr auto octaves = [] {
    constexpr auto& bounds = duration_histogram::bounds;
    std::array<octave, 64> all{};
    for (std::size_t highest = 0; highest < all.size(); ++highest) {
        octave& o = all[highest];
        for (const duration bound : bounds) {
            o.bucket += static_cast<std::uint64_t>(bound.count()) < std::uint64_t{1} << highest;
        }
        if (o.bucket < bounds.size()) {
            o.bound = static_cast<std::uint64_t>(bounds[o.bucket].count());
        }
    }
    return all;
}();

class histogram {
public:
    void add(duration d) noexcept {
        const auto ns = static_cast<std::uint64_t>(d.count());
        const octave& o = octaves[static_cast<std::size_t>(63 - std::countl_zero(ns | 1))];
        const std::size_t bucket = o.bucket + (ns > o.bound ? 1 : 0);
        conch::add(counts_[bucket]);
        conch::add(sum_, ns);
    }
    duration_histogram read() const {
        duration_histogram h;
        std::transform(counts_.begin(), counts_.end(), h.counts.begin(), &value);
        h.sum = duration{static_cast<duration::rep>(value(sum_))};
        return h;
    }

private:
    std::array<counter, duration_histogram::bounds.size() + 1> counts_{};
    counter sum_{};  // ns
};

/// A number that goes up and down.
class gauge {
public:
    void change(std::int64_t by) noexcept { now_.fetch_add(by, std::memory_order_relaxed); }
    std::uint64_t read() const noexcept {
        return static_cast<std::uint64_t>(
            std::max<std::int64_t>(now_.load(std::memory_order_relaxed), 0));
    }

private:
    std::atomic<std::int64_t> now_{};
};

bool is_class(std::string_view text) noexcept {
    return !text.empty() && text.size() <= longest_class &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

/// Few instructions: it is asked at each event, of some dozens of short texts.
std::size_t hash(std::string_view text) noexcept {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    if (text.size() >= sizeof first) {
        std::memcpy(&first, text.data(), sizeof first);
        std::memcpy(&last, text.data() + text.size() - sizeof last, sizeof last);
    } else {
        for (const char c : text) {
            first = first << 8 | static_cast<unsigned char>(c);
        }
    }
    const std::uint64_t mixed = (first ^ std::rotl(last, 29) ^ text.size()) * 0x9e3779b97f4a7c15;
    return static_cast<std::size_t>(mixed >> 40);
}

/// Of one class.
struct tally {
    tally(std::string_view n, duration unit, std::size_t i) : name{n}, class_index{i}, ages{unit} {}

    class_metrics read(time_point now) const {
        class_metrics m;
        m.name = name;
        const auto read_histogram = [](const histogram& h) { return h.read(); };
        std::transform(waits.begin(), waits.end(), m.waits.begin(), read_histogram);
        std::transform(holds.begin(), holds.end(), m.holds.begin(), read_histogram);
        std::transform(lost.begin(), lost.end(), m.lost.begin(), &value);
        std::transform(permits.begin(), permits.end(), m.rate_permits.begin(), &value);
        const std::uint64_t granted = m.waits[index(wait_outcome::granted)].count();
        m.acquired_contended = std::min(value(contended), granted);
        m.acquired_uncontended = granted - m.acquired_contended;
        m.waiting_now = waiting.read();
        // Twice: one that begins or ends meanwhile is in one of the two, and isn't taken for old.
        const std::int64_t before = ages.young(now);
        m.held_now = held.read();
        const auto young =
            static_cast<std::uint64_t>(std::max<std::int64_t>({before, ages.young(now), 0}));
        m.held_long_now = m.held_now - std::min(m.held_now, young);
        return m;
    }

    const std::string name;
    const std::size_t class_index;  ///< among all classes, "other" behind them
    std::array<histogram, std::tuple_size_v<decltype(class_metrics::waits)>> waits{};
    std::array<histogram, std::tuple_size_v<decltype(class_metrics::holds)>> holds{};
    std::array<counter, std::tuple_size_v<decltype(class_metrics::lost)>> lost{};
    std::array<counter, std::tuple_size_v<decltype(class_metrics::rate_permits)>> permits{};
    counter contended{};
    gauge waiting{};
    gauge held{};
    impl::age_counts ages;
};

}  // namespace

std::uint64_t duration_histogram::count() const noexcept {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

bool class_metrics::has_locks() const noexcept {
    const auto some = [](const duration_histogram& h) { return h.count() != 0; };
    return waiting_now != 0 || held_now != 0 || std::any_of(waits.begin(), waits.end(), some) ||
           std::any_of(holds.begin(), holds.end(), some);
}

/// The classes stand in a hash table with open addresses, which is read without a lock and never
/// more than half full. A class that is there stays there.
class metrics::counters {
public:
    explicit counters(metrics_options o)
        : options_{std::move(o)},
          unit_{options_.long_hold / impl::age_counts::units},
          other_{other_classes, unit_, options_.max_classes},
          table_(std::bit_ceil(2 * options_.max_classes)) {
        by_index_[other_.class_index] = &other_;
        if (!options_.class_of) {
            make(one_class, table_.front());
        }
    }

    /// Of a lock's wait or hold.
    template <typename Span>
    tally& of(const Span& s) noexcept {
        const std::size_t known = memo_.find(s.memo);
        return known < by_index_.size() ? *by_index_[known] : ask(s.name, s.memo);
    }

    /// The same, of what has no memo, or nothing in it.
    tally& ask(std::string_view lock, lock_memo* memo) noexcept {
        if (!options_.class_of) {
            memo_.keep(memo, 0);
            return *by_index_.front();
        }
        try {
            tally& t = find_or_make(options_.class_of(lock));
            memo_.keep(memo, t.class_index);
            return t;
        } catch (...) {  // of the user, or no memory
            return other();
        }
    }

    metrics_snapshot read() const {
        metrics_snapshot s;
        const time_point now = clock::now();
        const std::scoped_lock lock{making_};
        for (const auto& one : in_order_) {
            s.classes.push_back(one->read(now));
        }
        if (other_met_.load(std::memory_order_relaxed)) {
            s.classes.push_back(other_.read(now));
        }
        s.renewal_lateness = lateness.read();
        s.connections_up = connections[index(connection_state::up)].read();
        s.connections_down = connections[index(connection_state::down)].read();
        return s;
    }

    histogram lateness{};
    std::array<gauge, 3> connections{};  ///< by `connection_state`; of what is unused, no matter

private:
    using place = std::atomic<tally*>;

    // The place of this class, or the empty one where it would be. Null only where it is not.
    place& look_up(std::string_view text) noexcept {
        std::size_t i = hash(text);
        for (;; ++i) {
            place& p = table_[i & (table_.size() - 1)];
            const tally* const one = p.load(std::memory_order_acquire);
            if (!one || one->name == text) {
                return p;
            }
        }
    }
    tally& find_or_make(std::string_view text) {
        if (tally* const found = look_up(text).load(std::memory_order_acquire)) {
            return *found;
        }
        if (is_full_.load(std::memory_order_relaxed) || !is_class(text) || text == other_classes) {
            return other();
        }
        const std::scoped_lock lock{making_};
        place& p = look_up(text);  // another thread may have been faster
        if (tally* const found = p.load(std::memory_order_relaxed)) {
            return *found;
        }
        return in_order_.size() < options_.max_classes ? make(text, p) : other();
    }
    tally& other() noexcept {
        other_met_.store(true, std::memory_order_relaxed);
        return other_;
    }
    tally& make(std::string_view text, place& p) {
        const std::size_t index = in_order_.size();
        tally* const made =
            in_order_.emplace_back(std::make_unique<tally>(text, unit_, index)).get();
        by_index_[index] = made;
        p.store(made, std::memory_order_release);
        is_full_.store(in_order_.size() == options_.max_classes, std::memory_order_relaxed);
        return *made;
    }

    const metrics_options options_;
    const duration unit_;
    tally other_;
    std::atomic<bool> other_met_{false};
    const impl::class_memo memo_{};
    std::array<tally*, impl::class_memo::most_classes>
        by_index_{};  ///< who has an index from a memo may look here
    std::vector<place> table_;
    mutable std::mutex making_;
    std::vector<std::unique_ptr<tally>> in_order_{};
    std::atomic<bool> is_full_{false};
};

metrics::metrics(metrics_options options) {
    if (options.max_classes < 1 || options.max_classes > 1000) {
        throw std::invalid_argument{"conch::metrics_options: max_classes is not from 1 to 1,000"};
    }
    if (options.long_hold < std::chrono::seconds{1} ||
        options.long_hold > std::chrono::hours{24 * 365}) {
        throw std::invalid_argument{"conch::metrics_options: long_hold is not from 1 s to a year"};
    }
    counters_ = std::make_unique<counters>(std::move(options));
}

metrics::~metrics() = default;

std::string_view metrics::class_of(const wait_span& w) noexcept { return counters_->of(w).name; }

std::string_view metrics::class_of(const hold_span& h) noexcept { return counters_->of(h).name; }

metrics_snapshot metrics::snapshot() const { return counters_->read(); }

void metrics::wait_began(const wait_span& w) noexcept { counters_->of(w).waiting.change(1); }

void metrics::waited(const wait_span& w) noexcept {
    tally& t = counters_->of(w);
    t.waiting.change(-1);
    if (w.number == 0) {
        t.waits[index(outcome_of(w))].add(w.ended - w.began);
        return;
    }
    t.waits[index(wait_outcome::granted)].add(w.ended - w.began);
    if (w.contended) {
        add(t.contended);
    }
}

void metrics::hold_began(const hold_span& h) noexcept {
    tally& t = counters_->of(h);
    t.ages.began(h.began);
    t.held.change(1);
}

void metrics::held(const hold_span& h) noexcept {
    tally& t = counters_->of(h);
    t.held.change(-1);
    const duration lasted = h.ended - h.began;
    t.ages.ended(h.began, lasted);
    if (!h.reason) {
        t.holds[index(hold_end::released)].add(lasted);
        return;
    }
    const hold_end e = end_of(h);
    t.holds[index(e)].add(lasted);
    if (e == hold_end::lost) {
        add(t.lost[index(loss_of(h))]);
    }
}

void metrics::renewed(const renewal_span& r) noexcept { counters_->lateness.add(r.late); }

void metrics::rate_asked(const rate_span& r) noexcept {
    const rate_outcome o = r.granted                                  ? rate_outcome::granted
                           : !r.result || r.result == errc::timed_out ? rate_outcome::refused
                                                                      : rate_outcome::failed;
    add(counters_->ask(r.name, nullptr).permits[index(o)], r.permits);
}

void metrics::connection_changed(const connection_change& c) noexcept {
    counters_->connections[index(c.now)].change(1);
    counters_->connections[index(c.before)].change(-1);
}

}  // namespace conch
