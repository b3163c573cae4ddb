// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_WAIT_LIMITER_HPP
#define CONCH_SRC_WAIT_LIMITER_HPP

#include "core/timer_heap.hpp"
#include "hold/pending.hpp"
#include "protocol/rate_spec.hpp"
#include "wire/call.hpp"
#include "wire/link.hpp"

#include <conch/rate.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace conch::lock {

class limiter;
class limiters;

/// A caller that wants permits, in the queue of its limiter.
struct permit_request : pending {
    permit_request(caller c, limiter& l, std::uint64_t n, bool once, rate_verdict* out) noexcept;
    ~permit_request();

    static const pending_kind own_kind;

    limiter& home;
    std::uint64_t permits;
    bool try_only;
    rate_verdict* result;  ///< may be null
    time_point since;
    core::timer deadline;      ///< of its wait
    bool log_refusal = false;  ///< at level info
    bool in_call = false;      ///< in the call that is on its way
    bool tried = false;        ///< it was in a call that was answered
    bool in_doubt = false;     ///< a call with it was lost, and may have counted it
    bool overdue = false;      ///< its wait is over, and was prolonged
};

/// One rate limit in this client: a name, a limit, a window and a way to count. At most one call is
/// on its way: it asks for as many requests as there are, first come, first served, and the server
/// grants those that fit until the first that doesn't. Who waits after a refusal does so by one
/// timer, for as long as it said.
class limiter {
public:
    limiter(limiters& all, impl::rate_spec_ptr spec);
    limiter(const limiter&) = delete;
    limiter& operator=(const limiter&) = delete;
    ~limiter();

    /// Queues the request; `wait` is for those that do.
    void acquire(permit_request& r, duration wait);
    void give_up(permit_request& r, error_code why);
    void give_up_all(error_code why);
    bool idle() const noexcept;
    /// That of its key.
    std::uint16_t hash_slot() const noexcept { return hash_slot_; }

    limiters& all;
    const impl::rate_spec_ptr spec;

private:
    /// Not replayed: a repeated run would count twice.
    struct counting : wire::call {
        explicit counting(limiter& l) noexcept : wire::call{type_of_call}, of{l} {}
        limiter& of;
    };
    struct asked_for {
        permit_request* request;  ///< null once it gave up
        std::uint64_t permits;
    };

    static constexpr std::size_t largest_batch = 256;
    static const wire::call_type type_of_call;

    static void encode(wire::call& c, resp::writer& w);
    static void done(wire::call& c, const wire::outcome& o);
    static void on_again(void* self);
    static void on_patience_over(void* self);
    static void on_wait_over(void* request_);
    friend struct permit_request;

    void ask();
    void answered(const resp::value& reply);
    void refused();
    bool in_vain(const permit_request& r) const noexcept;
    rate_verdict known() const noexcept;
    void failed(error_code why);
    void lost();
    void end(permit_request& r, error_code why, const rate_verdict& verdict);
    void log_refusal(const permit_request& r, const rate_verdict& verdict) const;
    void end(permit_request& r, error_code why, bool granted = false);
    void left();
    bool awaits(const permit_request& r) const noexcept;
    permit_request& head() noexcept { return static_cast<permit_request&>(queue_.front()); }

    const std::uint16_t hash_slot_;
    pending_list queue_{};
    counting call_{*this};
    std::vector<asked_for> batch_{};
    rate_verdict last_{};             ///< the last refusal
    std::uint64_t last_permits_ = 0;  ///< that it refused
    time_point last_at_{};
    core::timer again_;  ///< the first in the queue may be granted then
    core::timer patience_;
    time_point asking_since_{};  ///< without an answer
    bool listed_idle_ = false;
    friend class limiters;
};

}  // namespace conch::lock

#endif
