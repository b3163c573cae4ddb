// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_OPENTELEMETRY_SPANS_HPP
#define CONCH_SRC_OPENTELEMETRY_SPANS_HPP

#include "opentelemetry/names.hpp"

#include <conch/clock.hpp>
#include <conch/observer.hpp>

#include <opentelemetry/common/timestamp.h>
#include <opentelemetry/nostd/shared_ptr.h>
#include <opentelemetry/trace/span.h>
#include <opentelemetry/trace/span_context.h>
#include <opentelemetry/trace/tracer.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace conch::otel {

/// A span of each wait and of each hold.
class spans {
public:
    using tracer_ptr = api::nostd::shared_ptr<api::trace::Tracer>;

    /// `names`: they have the lock's name.
    spans(tracer_ptr tracer, bool names) noexcept;

    /// The context of this thread's active span, for `wait_span::caller`. Not the span itself,
    /// which might end later than its user wants.
    static std::shared_ptr<const void> active();

    void wait_began(const wait_span& w);
    void waited(const wait_span& w, std::string_view lock_class);
    void hold_began(const hold_span& h, std::string_view lock_class);
    void held(const hold_span& h);

private:
    using span_ptr = api::nostd::shared_ptr<api::trace::Span>;
    using span_context = api::trace::SpanContext;

    /// Of an acquisition, among those of all clients that share the observer.
    struct acquisition {
        std::string client;
        std::uint64_t number;

        template <typename Span>
        explicit acquisition(const Span& s) : client{s.client}, number{s.number} {}
        bool is_of(const hold_span& h) const noexcept {
            return number == h.number && client == h.client;
        }
    };
    /// Two of one acquisition that began at the same time may be taken for each other.
    struct open_hold {
        acquisition of;
        time_point began;
        span_ptr span;
        api::common::SteadyTimestamp started;
    };
    struct ended_hold {
        span_context context = span_context::GetInvalid();
        time_point at{};
    };
    /// A wait whose hold is about to begin.
    struct grant {
        acquisition of;
        span_context caller;
    };
    /// Of one name, for as long as anybody waits for it or holds it.
    struct known_lock {
        std::size_t waiting = 0;
        std::vector<open_hold> holds{};  ///< in the order of their beginning
        std::vector<grant> grants{};
        ended_hold last{};
    };
    struct hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view s) const noexcept {
            return std::hash<std::string_view>{}(s);
        }
    };
    using lock_map = std::unordered_map<std::string, known_lock, hash, std::equal_to<>>;

    known_lock& of(std::string_view name);
    void forget_idle(lock_map::iterator l);
    /// The hold that this wait was behind; invalid where none is known.
    static span_context before(const known_lock& l, const wait_span& w);
    span_context note_wait_end(const wait_span& w);
    span_context parent_of(const hold_span& h);
    void keep(const hold_span& h, span_ptr span, api::common::SteadyTimestamp started);
    /// Null where there was no memory to keep it.
    std::optional<open_hold> take(const hold_span& h);
    attributes describe(std::string_view name, std::string_view lock_class) const;

    const tracer_ptr tracer_;
    const bool names_;
    std::mutex mutex_{};
    lock_map locks_{};
};

}  // namespace conch::otel

#endif
