// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_PROTOCOL_COUNT_SPEC_HPP
#define CONCH_SRC_PROTOCOL_COUNT_SPEC_HPP

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace conch::impl {

/// What a counter is on the server: a key with a number, as Redisson has it (the permits of a
/// semaphore, the count of a latch), and the channel that tells of its changes. Immutable and
/// shared by handles and requests.
class count_spec {
public:
    enum class kind : std::uint8_t {
        semaphore,
        permits,  ///< each that is out has a lease
        latch,
    };

    /// Throws `std::invalid_argument` for a bad name; `clustered`: also for one whose channel or
    /// request keys a cluster would keep elsewhere.
    count_spec(kind what, std::string_view name, bool clustered);

    kind what() const noexcept { return what_; }
    const std::string& name() const noexcept { return name_; }
    std::string channel() const;
    /// A key begins with it that keeps what one request did; what follows is never used again.
    std::string request_prefix() const;
    /// That of its keys.
    std::uint16_t hash_slot() const noexcept { return hash_slot_; }

    friend bool operator==(const count_spec& a, const count_spec& b) noexcept {
        return a.what_ == b.what_ && a.name_ == b.name_;
    }

private:
    friend void intrusive_ptr_add_ref(const count_spec*) noexcept;
    friend void intrusive_ptr_release(const count_spec*) noexcept;

    kind what_;
    std::uint16_t hash_slot_;
    mutable std::atomic<std::uint32_t> references_{0};
    std::string name_;
};

void intrusive_ptr_add_ref(const count_spec* s) noexcept;
void intrusive_ptr_release(const count_spec* s) noexcept;

using count_spec_ptr = boost::intrusive_ptr<const count_spec>;

}  // namespace conch::impl

#endif
