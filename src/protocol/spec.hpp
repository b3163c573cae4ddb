// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_PROTOCOL_SPEC_HPP
#define CONCH_SRC_PROTOCOL_SPEC_HPP

#include "wire/hash_slot.hpp"

#include <conch/observer.hpp>
#include <conch/options.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace conch::protocol {
struct lock_protocol;
}

namespace conch::impl {

/// A name that is derived from that of a lock, in the pieces that make it.
struct derived_name {
    std::string_view before{};
    std::string_view name{};
    std::string_view after{};

    std::string text() const { return std::string{before}.append(name).append(after); }
};

/// How many replicas must have an acquisition, and how long they have to say so.
struct replication {
    std::uint16_t at_least = 0;  ///< 0: none
    std::uint16_t within_ms = 0;

    explicit operator bool() const noexcept { return at_least != 0; }
    friend bool operator==(const replication&, const replication&) = default;
};

class lock_spec;

void intrusive_ptr_add_ref(const lock_spec* s) noexcept;
void intrusive_ptr_release(const lock_spec* s) noexcept;

using spec_ptr = boost::intrusive_ptr<const lock_spec>;

/// What a lock is on the server: its keys and its channel. Immutable (but for the memo) and shared
/// by mutexes, operations and slots. The name lies behind the object, in the same memory.
class lock_spec {
public:
    static constexpr std::size_t longest_name = 64u << 10;
    static constexpr unsigned most_replicas = 1000;
    static constexpr std::uint32_t most_permits = 1000;

    /// `permits`: that an acquisition takes of a semaphore; 0: no number that it can take. Throws
    /// `std::invalid_argument` for a bad name or option.
    static spec_ptr make(const protocol::lock_protocol& p, std::string_view name,
                         const mutex_options& options, std::uint32_t permits = 1);
    lock_spec(const lock_spec&) = delete;
    lock_spec& operator=(const lock_spec&) = delete;

    const protocol::lock_protocol& protocol() const noexcept { return protocol_; }
    std::string_view name() const noexcept {
        return {reinterpret_cast<const char*>(this + 1), name_size_};
    }
    std::uint32_t name_hash() const noexcept { return name_hash_; }
    /// No other protocol has it; other names of this one may.
    derived_name channel() const noexcept;
    bool fenced() const noexcept { return fenced_; }
    /// That of its key.
    std::uint16_t hash_slot() const noexcept { return wire::hash_slot_of(name()); }
    /// All keys that are derived from it have the same hash slot. Else a cluster can't keep this
    /// lock.
    bool in_one_hash_slot() const;
    /// Empty if not fenced.
    derived_name fence_key() const noexcept;
    /// The name of a key, or a channel, of the lock; `prefix` ends with what opens a hash tag.
    derived_name derived(std::string_view prefix) const noexcept;
    /// 0: the fence key never expires.
    std::int64_t fence_key_ttl_ms() const noexcept {
        return static_cast<std::int64_t>(fence_key_ttl_ms_);
    }
    replication replicas() const noexcept {
        if (at_least_ == 0) {
            return {};
        }
        return {static_cast<std::uint16_t>(at_least_),
                static_cast<std::uint16_t>(within_ms_or_permits_)};
    }
    std::uint32_t permits() const noexcept {
        return at_least_ == 0 ? static_cast<std::uint32_t>(within_ms_or_permits_) : 1;
    }
    /// For the observer, of this lock: see `wait_span::memo`.
    lock_memo& memo() const noexcept { return memo_; }
    /// Of two specs of one name: an acquisition by one is as good for the other.
    bool takes_as(const lock_spec& other) const noexcept {
        return &protocol_ == &other.protocol_ && fenced_ == other.fenced_ &&
               fence_key_ttl_ms_ == other.fence_key_ttl_ms_ && replicas() == other.replicas() &&
               permits() == other.permits();
    }

private:
    friend void intrusive_ptr_add_ref(const lock_spec*) noexcept;
    friend void intrusive_ptr_release(const lock_spec*) noexcept;

    lock_spec(const protocol::lock_protocol& p, std::string_view name, const mutex_options& options,
              std::uint32_t permits) noexcept;

    const protocol::lock_protocol& protocol_;
    // Of any `duration` there are fewer than 2^44 ms.
    std::uint64_t fence_key_ttl_ms_ : 48;
    std::uint64_t within_ms_or_permits_ : 16;  ///< no replicas confirm permits
    mutable std::atomic<std::uint32_t> references_{0};
    std::uint32_t name_size_ : 17;
    std::uint32_t fenced_ : 1;
    std::uint32_t has_brace_ : 1;
    std::uint32_t at_least_ : 10;
    mutable lock_memo memo_{0};
    std::uint32_t name_hash_;
};

}  // namespace conch::impl

#endif
