// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_RESP_VALUE_HPP
#define CONCH_SRC_RESP_VALUE_HPP

#include "resp/node.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace conch::resp {

/// A view of one value and all below it. Valid until the reader goes on to the next message.
class value {
public:
    /// A null.
    value() = default;
    /// `nodes` begins with this value's node and may extend beyond its last descendant.
    value(std::span<const node> nodes, const char* message) noexcept
        : nodes_{nodes}, message_{message} {}

    kind type() const noexcept { return nodes_.front().type; }
    bool is_error() const noexcept;      ///< simple or blob error
    bool is_text() const noexcept;       ///< simple, blob or verbatim string
    bool is_aggregate() const noexcept;  ///< array, map, set or push
    bool is_null() const noexcept { return type() == kind::null; }
    bool is_integer() const noexcept { return type() == kind::integer; }

    /// The bytes of a string, error, number or big number; a verbatim string without its
    /// three-letter format. Empty for anything else.
    std::string_view text() const noexcept;
    /// The value of an integer or boolean; 0 for anything else.
    std::int64_t integer() const noexcept { return nodes_.front().integer; }

    /// Direct children; 0 for anything that is no aggregate.
    std::size_t size() const noexcept;
    /// The i-th direct child, a null value if there is none; walks over the ones before it.
    value at(std::size_t i) const noexcept;
    /// Calls `f(child)` for each direct child, in their order; of many, each `at()` would walk
    /// anew.
    template <typename F>
    void each(F f) const {
        std::span<const node> rest = nodes_.subspan(1);
        for (std::size_t left = size(); left > 0; --left) {
            const value child{rest, message_};
            f(child);
            rest = rest.subspan(child.extent());
        }
    }
    /// In a map with text keys: the value of `key`; a null value if there is none. Works on a flat
    /// array of keys and values too.
    value find(std::string_view key) const noexcept;

private:
    std::size_t extent() const noexcept;  // nodes of this value and its descendants

    static constexpr node none{.type = kind::null};

    std::span<const node> nodes_{&none, 1};
    const char* message_ = nullptr;
};

}  // namespace conch::resp

#endif
