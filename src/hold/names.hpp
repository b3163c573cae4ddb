// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_NAMES_HPP
#define CONCH_SRC_HOLD_NAMES_HPP

#include "hold/acquisitions.hpp"
#include "wire/hash_slot.hpp"
#include "wire/link.hpp"

#include <conch/error.hpp>

#include <boost/unordered/unordered_flat_set.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace conch::lock {

struct holds;

/// One lock name in this client (one more, if some of its mutexes wait for replicas and others do
/// not; and one for each waiter and holder where they have places at the server): which server has
/// it, and its acquisitions.
class lock_name {
public:
    lock_name(holds& h, impl::spec_ptr s) noexcept : client{h}, spec{std::move(s)} {}
    lock_name(const lock_name&) = delete;
    lock_name& operator=(const lock_name&) = delete;

    std::string_view name() const noexcept { return spec->name(); }
    inline wire::link& link() const noexcept;  // in hold/holds.hpp
    /// Sends a call to the server that has the lock.
    void submit(wire::call& c);
    /// That of the name, where the servers want to know.
    inline std::uint16_t hash_slot() const noexcept;  // in hold/holds.hpp
    /// The hold of this owner that one more of it may be nested in.
    acquisition* held_by(std::uint64_t owner, bool shared) noexcept;
    bool held() const noexcept { return acquisitions_.held(); }
    /// What this client holds may have been taken away: asks the server.
    void check_holders();
    /// The same, though the last answer may be on its way.
    void check_holders_again();
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

/// The names of one client.
class name_table {
public:
    /// That of this lock; null if there is none.
    lock_name* find(const impl::lock_spec& spec) const noexcept {
        return find(spec, static_cast<bool>(spec.replicas()));
    }
    void add(lock_name& n);
    void remove(lock_name& n) noexcept;
    bool empty() const noexcept { return all_.empty() && in_line_.empty(); }
    /// For who changes the table.
    std::vector<lock_name*> list() const;

    /// The hold of this owner, by whichever mutex of this lock; null if there is none.
    acquisition* held_by(const impl::lock_spec& spec, std::uint64_t owner) const noexcept;
    /// This client's holds of this lock may be gone: asks the server.
    void check_holds(const impl::lock_spec& spec) const;
    /// The name is held from now on. Another hold of its lock, in another place of the line or on
    /// another connection, may have been taken away without a word: asks the server about both.
    void hold_began(lock_name& n);
    void hold_ended(lock_name& n) noexcept;
    template <typename Function>
    void for_each(Function f) const {
        for (lock_name* const n : all_) {
            f(*n);
        }
        for (lock_name* const n : in_line_) {
            f(*n);
        }
    }
    /// All of this lock.
    template <typename Function>
    void for_each_of(const impl::lock_spec& spec, Function f) const {
        for (const bool durable : {false, true}) {
            if (lock_name* const n = find(spec, durable)) {
                f(*n);
            }
            const auto [begin, end] = in_line_.equal_range(key{spec, durable});
            for (auto it = begin; it != end; ++it) {
                f(**it);
            }
        }
    }
    /// From their first try until the server is known not to have them. Each may be forgotten when
    /// its turn comes.
    template <typename Function>
    void for_each_acquisition(Function f) const {
        for_each([&](lock_name& n) { n.for_each_acquisition(f); });
    }

private:
    /// What tells locks apart.
    struct key {
        const protocol::lock_protocol* protocol;
        std::string_view name;
        bool durable;  ///< on a connection of its own
        std::uint32_t name_hash;

        key(const impl::lock_spec& spec, bool d) noexcept
            : protocol{&protocol::family_of(spec)},
              name{spec.name()},
              durable{d},
              name_hash{spec.name_hash()} {}
        explicit key(const lock_name& n) noexcept
            : key{*n.spec, static_cast<bool>(n.spec->replicas())} {}
        friend auto operator<=>(const key&, const key&) = default;
        friend bool operator==(const key&, const key&) = default;
    };
    struct hash {
        using is_transparent = void;
        std::size_t operator()(const key& k) const noexcept {
            return k.name_hash ^ static_cast<std::size_t>(k.protocol->status);
        }
        std::size_t operator()(const lock_name* n) const noexcept { return (*this)(key{*n}); }
    };
    struct equal {
        using is_transparent = void;
        bool operator()(const lock_name* a, const lock_name* b) const noexcept { return a == b; }
        bool operator()(const key& k, const lock_name* n) const noexcept { return k == key{*n}; }
        bool operator()(const lock_name* n, const key& k) const noexcept { return k == key{*n}; }
    };
    struct less {
        using is_transparent = void;
        bool operator()(const lock_name* a, const lock_name* b) const noexcept {
            return key{*a} < key{*b};
        }
        bool operator()(const key& k, const lock_name* n) const noexcept { return k < key{*n}; }
        bool operator()(const lock_name* n, const key& k) const noexcept { return key{*n} < k; }
    };

    lock_name* find(const impl::lock_spec& spec, bool durable) const noexcept {
        const auto it = all_.find(key{spec, durable});
        return it != all_.end() ? *it : nullptr;
    }

    template <typename Function>
    void for_each_held(const impl::lock_spec& spec, Function f) const {
        for (const bool durable : {false, true}) {
            lock_name* const n = find(spec, durable);
            if (n && n->held()) {
                f(*n);
            }
            const auto [begin, end] = holders_.equal_range(key{spec, durable});
            std::for_each(begin, end, [&](lock_name* h) { f(*h); });
        }
    }

    boost::unordered_flat_set<lock_name*, hash, equal> all_{};
    std::multiset<lock_name*, less> in_line_{};  ///< any number of one lock, in their order
    std::multiset<lock_name*, less> holders_{};  ///< those of them that are held
    std::size_t durable_ = 0;                    ///< of those that stand in no line
};

}  // namespace conch::lock

#endif
