// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_LOCK_NAME_HPP
#define CONCH_SRC_HOLD_LOCK_NAME_HPP

#include "hold/acquisitions.hpp"
#include "wire/hash_slot.hpp"
#include "wire/link.hpp"

#include <cstdint>
#include <string_view>
#include <utility>

namespace conch::lock {

struct holds;

/// One lock name in this client (one more, if some of its mutexes wait for replicas and others do
/// not): which server has it, and its acquisitions.
class lock_name {
public:
    lock_name(holds& h, impl::spec_ptr s) noexcept : client{h}, spec{std::move(s)} {}
    lock_name(const lock_name&) = delete;
    lock_name& operator=(const lock_name&) = delete;

    std::string_view name() const noexcept { return spec->name(); }
    wire::link& link() const noexcept;
    /// Sends a call to the server that has the lock.
    void submit(wire::call& c);
    /// That of the name, where the servers want to know.
    std::uint16_t hash_slot() const noexcept;
    /// The hold of this owner that one more of it may be nested in.
    acquisition* held_by(std::uint64_t owner, bool shared) noexcept;
    /// What this client holds may have been taken away: asks the server.
    void check_holders();
    /// The acquisition is gone from the server.
    void forget(acquisition& a);
    template <typename Function>
    void for_each_acquisition(Function f) {
        acquisitions_.for_each(f);
    }

    holds& client;
    const impl::spec_ptr spec;

protected:
    acquisitions acquisitions_{};

private:
    mutable std::uint16_t hash_slot_ = wire::no_hash_slot;  ///< until somebody wants to know
};

}  // namespace conch::lock

#endif
