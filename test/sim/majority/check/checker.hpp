// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_MAJORITY_CHECK_CHECKER_HPP
#define CONCH_TEST_SIM_MAJORITY_CHECK_CHECKER_HPP

#include <conch/clock.hpp>

#include <chrono>
#include <memory>
#include <string_view>

namespace conch::sim::majority {

class process;
class simulation;
struct call;
struct held;

/// For what is on its way from one strand to another.
inline constexpr duration between_strands = std::chrono::milliseconds{10};

/// Watches a run for one property.
class checker {
public:
    explicit checker(simulation& s) noexcept : all_{s} {}
    checker(const checker&) = delete;
    checker& operator=(const checker&) = delete;
    virtual ~checker() = default;

    virtual std::string_view name() const noexcept = 0;
    /// A user calls, and what it asks for is filled in later.
    virtual void asked(const call&) {}
    /// A user got a hold.
    virtual void granted(const held&) {}
    /// A turn of an engine or a group of this process is over.
    virtual void turned(process&) {}
    /// A call has ended.
    virtual void completed(const call&) {}
    /// Now and then, whatever happens.
    virtual void inspected() {}
    /// Nobody wants or holds anything any more, and there was time for what is on its way then.
    virtual void left() {}
    /// The same, and the time for all to be over has passed.
    virtual void rested() {}

protected:
    void violate(std::string_view what);

    simulation& all_;
};

std::unique_ptr<checker> make_exclusion(simulation& s);
std::unique_ptr<checker> make_ownership(simulation& s);
std::unique_ptr<checker> make_loss_in_time(simulation& s);
std::unique_ptr<checker> make_no_needless_loss(simulation& s);
std::unique_ptr<checker> make_bounds(simulation& s);
std::unique_ptr<checker> make_healing(simulation& s);
std::unique_ptr<checker> make_liveness(simulation& s);
std::unique_ptr<checker> make_contention(simulation& s);
std::unique_ptr<checker> make_answers(simulation& s);
std::unique_ptr<checker> make_terms(simulation& s);
std::unique_ptr<checker> make_releases(simulation& s);
std::unique_ptr<checker> make_rest(simulation& s);
std::unique_ptr<checker> make_all_or_none(simulation& s);
std::unique_ptr<checker> make_noticed(simulation& s);

}  // namespace conch::sim::majority

#endif
