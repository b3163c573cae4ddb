// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_REDIS_KEYSPACE_HPP
#define CONCH_TEST_SIM_REDIS_KEYSPACE_HPP

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace conch::sim {

/// For maps of strings that are asked with a view.
struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept {
        return std::hash<std::string_view>{}(s);
    }
};
template <typename Value>
using text_map = boost::unordered_flat_map<std::string, Value, text_hash, std::equal_to<>>;

/// In the order in which the fields came, as a small hash of Redis.
using hash_value = std::vector<std::pair<std::string, std::string>>;
using list_value = std::deque<std::string>;
/// By score, then by member.
using zset_value = std::vector<std::pair<double, std::string>>;
using any_value = std::variant<std::string, hash_value, list_value, zset_value>;

/// "string", "hash", "list", "zset"
std::string_view type_name(const any_value& v) noexcept;

struct entry {
    any_value value{};
    std::int64_t expires_ms = -1;  ///< -1: never
};

/// The keys of a server, and what the last commands that wrote did to them.
class keyspace {
public:
    static constexpr std::size_t remembered = 64;

    /// The time by which keys expire, until it is set again. Redis keeps a key in the very
    /// millisecond of its deadline.
    void set_now(std::int64_t ms) noexcept { now_ms_ = ms; }
    std::int64_t now_ms() const noexcept { return now_ms_; }

    /// Null if there is none, or not any more.
    entry* find(std::string_view key);
    /// The same, and what happens to it next can be undone.
    entry* find_to_write(std::string_view key);
    /// An empty one of this type, if there is none.
    template <typename T>
    T* find_or_make(std::string_view key, bool* wrong) {
        entry* e = find_to_write(key);
        if (!e) {
            e = &map_[std::string{key}];
            e->value = T{};
        }
        T* v = std::get_if<T>(&e->value);
        *wrong = !v;
        return v;
    }
    void set(std::string_view key, any_value v, std::int64_t expires_ms);
    bool erase(std::string_view key);
    /// Removes a collection that became empty.
    void erase_if_empty(std::string_view key);
    void clear();
    std::size_t size();
    /// It forgets nothing: its clock may be set back.
    bool any_expires(std::int64_t now_ms) const;
    std::vector<std::string> keys();

    /// Between these, writes belong together and are undone together.
    void begin_command() noexcept { fresh_ = true; }
    /// None of what was done until now can be undone.
    void forget_changes() noexcept {
        log_.clear();
        fresh_ = true;
    }
    /// The last `k` commands that wrote never happened. The keys that they wrote to.
    std::set<std::string> undo(std::size_t k);

    /// Every key with its type, its value and its deadline; the same for the same content.
    std::string dump();

private:
    using change = std::pair<std::string, std::optional<entry>>;

    void remember(std::string_view key, const entry* before);

    text_map<entry> map_{};
    std::deque<std::vector<change>> log_{};
    bool fresh_ = true;
    std::int64_t now_ms_ = 0;
};

}  // namespace conch::sim

#endif
