// SPDX-License-Identifier: BSL-1.0
#include "resp/value.hpp"

namespace conch::resp {

namespace {

bool holds_children(kind k) noexcept {
    return k == kind::array || k == kind::map || k == kind::set || k == kind::push;
}

}  // namespace

bool value::is_error() const noexcept {
    return type() == kind::simple_error || type() == kind::blob_error;
}

bool value::is_text() const noexcept {
    return type() == kind::simple_string || type() == kind::blob_string ||
           type() == kind::verbatim_string;
}

bool value::is_aggregate() const noexcept { return holds_children(type()); }

std::string_view value::text() const noexcept {
    const node& n = nodes_.front();
    switch (n.type) {
        case kind::simple_string:
        case kind::simple_error:
        case kind::blob_string:
        case kind::number:
        case kind::big_number:
        case kind::blob_error:
        case kind::verbatim_string: return {message_ + n.offset, n.size};
        case kind::integer:
        case kind::null:
        case kind::boolean:
        case kind::array:
        case kind::map:
        case kind::set:
        case kind::push: break;
    }
    return {};
}

std::size_t value::size() const noexcept { return is_aggregate() ? nodes_.front().size : 0; }

value value::at(std::size_t i) const noexcept {
    if (i >= size()) {
        return {};
    }
    std::span<const node> rest = nodes_.subspan(1);
    // As many nodes as children: each child is a single node, so there is no need to walk.
    if (rest.size() == nodes_.front().size) {
        return {rest.subspan(i), message_};
    }
    for (; i > 0; --i) {
        rest = rest.subspan(value{rest, message_}.extent());
    }
    return {rest, message_};
}

value value::find(std::string_view key) const noexcept {
    if (type() != kind::map && type() != kind::array) {
        return {};
    }
    std::span<const node> rest = nodes_.subspan(1);
    for (std::size_t pairs = size() / 2; pairs > 0; --pairs) {
        const value k{rest, message_};
        rest = rest.subspan(k.extent());
        const value v{rest, message_};
        if (k.is_text() && k.text() == key) {
            return v;
        }
        rest = rest.subspan(v.extent());
    }
    return {};
}

std::size_t value::extent() const noexcept {
    std::size_t nodes = 0;
    for (std::size_t open = 1; open > 0; --open, ++nodes) {
        if (const node& n = nodes_[nodes]; holds_children(n.type)) {
            open += n.size;
        }
    }
    return nodes;
}

}  // namespace conch::resp
