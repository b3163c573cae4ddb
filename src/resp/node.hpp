// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_RESP_NODE_HPP
#define CONCH_SRC_RESP_NODE_HPP

#include <cstddef>
#include <cstdint>

namespace conch::resp {

/// The RESP3 types that a server may send. A streamed string or aggregate is not among them:
/// Redis never sends one.
enum class kind : std::uint8_t {
    simple_string,
    simple_error,
    integer,
    blob_string,
    null,
    boolean,
    number,
    big_number,
    blob_error,
    verbatim_string,
    array,
    map,
    set,
    push,
};

/// One value of a message, in the order of the wire; the children of an aggregate follow it.
/// Refers into the message's bytes, so that a node needs no memory of its own.
struct node {
    kind type{};
    std::uint8_t depth = 0;
    /// Text: where it begins, from the beginning of the message.
    std::uint32_t offset = 0;
    /// Text: its length in bytes. Aggregates: the number of direct children (a map's keys and
    /// values each count).
    std::uint32_t size = 0;
    /// The value of an integer or boolean.
    std::int64_t integer = 0;

    bool operator==(const node&) const = default;
};

/// What a message may be at most; beyond it the connection is given up.
struct limits {
    std::size_t max_depth = 8;
    std::size_t max_bytes = 16u << 20;
    std::size_t max_nodes = 1u << 17;
};

}  // namespace conch::resp

#endif
