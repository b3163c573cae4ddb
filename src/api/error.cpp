// SPDX-License-Identifier: BSL-1.0
#include <conch/error.hpp>

#include <string>

namespace conch {
namespace {

const char* text(errc e) noexcept {
    switch (e) {
        case errc::timed_out: return "not granted in time";
        case errc::not_owner: return "the hold is empty";
        case errc::already_released: return "the hold was released before";
        case errc::lease_expired: return "the lease ended before it was renewed or released";
        case errc::renewal_refused: return "the server refused to renew the lease until it ended";
        case errc::lock_lost:
            return "the lock was taken away: forced release, deleted key or lost data";
        case errc::max_hold_reached: return "the longest hold time was reached";
        case errc::not_connected: return "no connection to the Redis server";
        case errc::client_closed: return "the client is closed";
        case errc::outcome_unknown: return "the command was sent, but its answer was lost";
        case errc::rate_limited: return "the rate limit is reached";
        case errc::overloaded: return "too many operations are pending";
        case errc::invalid_wait:
            return "invalid option: a time to wait must not be negative; without limit it is "
                   "conch::forever (milliseconds::max() overflows)";
        case errc::invalid_lease:
            return "invalid option: lease must be from 10 ms (with renewal: 100 ms; with replicas: "
                   "four times `within`) to one year";
        case errc::invalid_max_hold:
            return "invalid option: max_hold must be at least 10 ms (with replicas: four times "
                   "`within`)";
        case errc::invalid_stop_before:
            return "invalid option: stop_before must be from zero to half the lease (or max_hold)";
        case errc::invalid_permits:
            return "invalid option: bad number of permits, or more than there are in all";
        case errc::invalid_owner:
            return "invalid option: acquisitions of a quorum do not nest, so none has an owner";
        case errc::server_error: return "the server refused the command";
        case errc::authentication_failed: return "the server refused user name or password";
        case errc::server_too_old:
            return "the server doesn't speak RESP3 (Redis 6.0 or newer is needed)";
        case errc::permission_denied:
            return "the server's ACL or protected mode forbids what is needed";
        case errc::read_only: return "the server is a read-only replica";
        case errc::out_of_memory: return "the server is out of memory";
        case errc::server_unavailable:
            return "the server is loading, busy, full, can't save or lacks its master or replicas";
        case errc::wrong_type: return "the key of this name holds something else";
        case errc::protocol_error:
            return "the server's answer is not RESP3, too large, or no answer to what was asked";
        case errc::unknown_master: return "no sentinel knows a master of this name";
        case errc::lost_in_failover:
            return "the server that took over, or was started again, doesn't have the lock";
        case errc::tls_failed: return "TLS failed";
        case errc::not_replicated: return "too few replicas acknowledged the lock in time";
        case errc::forked:
            return "the client belongs to the process that made it, not to a forked child";
        case errc::not_a_writer:
            return "only a shared_mutex that is held for writing can be downgraded";
        case errc::nested_hold:
            return "a hold can't be downgraded while another of its owner is nested with it";
        case errc::invalid_planned_time:
            return "the planned time is before 1970, or more than a period from now";
        case errc::not_noted:
            return "the job has run, but that could not be noted: it may be run again";
        case errc::no_progress: return "the holder reported no progress until the lease ended";
        case errc::invalid_progress_within:
            return "invalid option: progress_within must be from 100 ms to 30 days, with renewal "
                   "on";
        case errc::deadlock:
            return "the wait would never end: this owner and the holder of the lock are in a "
                   "cycle of owners that wait for each other";
    }
    return "unknown error";
}

class category final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "conch"; }
    std::string message(int value) const override { return text(static_cast<errc>(value)); }
};

}  // namespace

const boost::system::error_category& conch_category() noexcept {
    static const category instance;
    return instance;
}

error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), conch_category()}; }

}  // namespace conch
