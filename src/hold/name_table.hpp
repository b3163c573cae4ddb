// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_HOLD_NAME_TABLE_HPP
#define CONCH_SRC_HOLD_NAME_TABLE_HPP

#include "hold/lock_name.hpp"

#include <boost/unordered/unordered_flat_set.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace conch::lock {

/// The names of one client.
class name_table {
public:
    /// That of this lock; null if there is none.
    lock_name* find(const impl::lock_spec& spec) const noexcept {
        return find(spec, static_cast<bool>(spec.replicas()));
    }
    void add(lock_name& n) { all_.insert(&n); }
    void remove(lock_name& n) noexcept { all_.erase(&n); }
    bool empty() const noexcept { return all_.empty(); }
    /// For who changes the table.
    std::vector<lock_name*> list() const { return {all_.begin(), all_.end()}; }

    /// The hold of this owner, by whichever mutex of this lock; null if there is none.
    acquisition* held_by(const impl::lock_spec& spec, std::uint64_t owner) const noexcept;
    /// This client's holds of this lock may be gone: asks the server.
    void check_holds(const impl::lock_spec& spec) const;
    template <typename Function>
    void for_each(Function f) const {
        for (lock_name* const n : all_) {
            f(*n);
        }
    }
    /// From their first try until the server is known not to have them. Each may be forgotten when
    /// its turn comes.
    template <typename Function>
    void for_each_acquisition(Function f) const {
        for (lock_name* const n : all_) {
            n->for_each_acquisition(f);
        }
    }

private:
    /// What tells locks apart.
    struct key {
        const protocol::lock_protocol* protocol;
        std::string_view name;
        bool durable;  ///< on a connection of its own

        key(const impl::lock_spec& spec, bool d) noexcept
            : protocol{&protocol::family_of(spec)}, name{spec.name()}, durable{d} {}
        explicit key(const lock_name& n) noexcept
            : key{*n.spec, static_cast<bool>(n.spec->replicas())} {}
        friend bool operator==(const key&, const key&) = default;
    };
    struct hash {
        using is_transparent = void;
        std::size_t operator()(const key& k) const noexcept {
            return std::hash<std::string_view>{}(k.name) ^
                   static_cast<std::size_t>(k.protocol->status);
        }
        std::size_t operator()(const lock_name* n) const noexcept { return (*this)(key{*n}); }
    };
    struct equal {
        using is_transparent = void;
        bool operator()(const lock_name* a, const lock_name* b) const noexcept { return a == b; }
        bool operator()(const key& k, const lock_name* n) const noexcept { return k == key{*n}; }
        bool operator()(const lock_name* n, const key& k) const noexcept { return k == key{*n}; }
    };

    lock_name* find(const impl::lock_spec& spec, bool durable) const noexcept;

    boost::unordered_flat_set<lock_name*, hash, equal> all_{};
};

}  // namespace conch::lock

#endif
