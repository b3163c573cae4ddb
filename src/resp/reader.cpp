// SPDX-License-Identifier: BSL-1.0
#include "resp/reader.hpp"

#include "resp/number.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace conch::resp {

namespace {

/// What a type byte says about the bytes behind it.
enum class form : std::uint8_t {
    unknown,
    streamed,
    line,
    null,
    boolean,
    integer,
    number,
    big_number,
    blob,
    aggregate,
    attribute,
};

struct token {
    form shape;
    kind type;
};

constexpr token fence_in(char byte) noexcept {
    switch (byte) {
        case '+': return {form::line, kind::simple_string};
        case '-': return {form::line, kind::simple_error};
        case ':': return {form::integer, kind::integer};
        case '$': return {form::blob, kind::blob_string};
        case '_': return {form::null, kind::null};
        case '#': return {form::boolean, kind::boolean};
        case ',': return {form::number, kind::number};
        case '(': return {form::big_number, kind::big_number};
        case '!': return {form::blob, kind::blob_error};
        case '=': return {form::blob, kind::verbatim_string};
        case '*': return {form::aggregate, kind::array};
        case '%': return {form::aggregate, kind::map};
        case '~': return {form::aggregate, kind::set};
        case '>': return {form::aggregate, kind::push};
        case '|': return {form::attribute, kind::map};
        case ';':
        case '.': return {form::streamed, kind::null};
        default: return {form::unknown, kind::null};
    }
}

constexpr const char* too_large = "message too large";
constexpr const char* bad_number = "malformed number";
constexpr const char* bad_size = "malformed size";
constexpr const char* streamed = "streamed values are not supported";

constexpr std::size_t verbatim_prefix = 4;  // a three-letter format and a colon

}  // namespace

reader::reader(const limits& l) : limits_{l} {
    // What a node's fields can hold.
    constexpr std::size_t field = std::numeric_limits<std::uint32_t>::max();
    limits_.max_depth =
        std::min<std::size_t>(l.max_depth, std::numeric_limits<std::uint8_t>::max());
    limits_.max_bytes = std::min(l.max_bytes, field);
    limits_.max_nodes = std::clamp<std::size_t>(l.max_nodes, 1, field);
}

reader::status reader::parse(std::string_view data) {
    // Nothing beyond the limit is looked at, so that a message is judged alike however it is cut.
    const std::string_view window = data.substr(0, limits_.max_bytes);
    while (status_ == status::need_more) {
        if (in_blob_ ? read_blob(window) : read_line(window)) {
            continue;
        }
        if (status_ == status::need_more && data.size() >= limits_.max_bytes) {
            fail(too_large);
        }
        break;
    }
    return status_;
}

value reader::get(std::string_view data) const noexcept { return {nodes_, data.data()}; }

void reader::next() noexcept {
    nodes_.clear();
    levels_.clear();
    position_ = 0;
    scanned_ = 0;
    announced_ = 1;
    attributes_ = 0;
    in_blob_ = false;
    if (status_ == status::message) {
        status_ = status::need_more;
    }
}

void reader::reset() noexcept {
    status_ = status::need_more;
    reason_ = "";
    next();
}

bool reader::read_line(std::string_view window) {
    if (position_ == window.size()) {
        return false;
    }
    const token t = fence_in(window[position_]);
    if (t.shape == form::unknown) {
        return fail("unknown type");
    }
    if (t.shape == form::streamed) {
        return fail(streamed);
    }
    const std::size_t end = find_line_end(window);
    if (end == 0) {
        return false;
    }
    const std::size_t begin = position_ + 1;
    const std::string_view line{window.data() + begin, end - begin};
    position_ = end + 2;

    switch (t.shape) {
        case form::line:
            if (line.find('\n') != line.npos) {
                return fail("line feed without carriage return");
            }
            add_text(t.type, begin, line.size());
            return true;
        case form::integer: return read_integer(line);
        case form::blob: return open_blob(t.type, line);
        case form::aggregate: return open_aggregate(t.type, line);
        case form::attribute: return open_attribute(line);
        case form::null:
            if (!line.empty()) {
                return fail("malformed null");
            }
            add({.type = kind::null});
            return true;
        case form::boolean:
            if (line != "t" && line != "f") {
                return fail("malformed boolean");
            }
            add({.type = kind::boolean, .integer = line == "t"});
            return true;
        case form::number:
        case form::big_number:
            if (t.shape == form::number ? !is_number(line) : !is_big_number(line)) {
                return fail(bad_number);
            }
            add_text(t.type, begin, line.size());
            return true;
        case form::streamed:
        case form::unknown: break;
    }
    return false;
}

/// Where the CR of the line at `position_` is; 0 if it is not there yet, or malformed.
std::size_t reader::find_line_end(std::string_view window) {
    const std::size_t from = std::max(scanned_, position_ + 1);
    const void* hit = std::memchr(window.data() + from, '\r', window.size() - from);
    if (hit == nullptr) {
        scanned_ = window.size();
        return 0;
    }
    const auto end = static_cast<std::size_t>(static_cast<const char*>(hit) - window.data());
    if (end + 1 == window.size()) {
        scanned_ = end;
        return 0;
    }
    if (window[end + 1] != '\n') {
        fail("carriage return without line feed");
        return 0;
    }
    return end;
}

bool reader::read_integer(std::string_view line) {
    constexpr auto max = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const bool negative = !line.empty() && line.front() == '-';
    std::uint64_t magnitude = 0;
    if (!read_digits(without_sign(line), magnitude) || magnitude > max + (negative ? 1 : 0)) {
        return fail(bad_number);
    }
    add({.type = kind::integer,
         .integer = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude)});
    return true;
}

bool reader::open_blob(kind type, std::string_view line) {
    if (type == kind::blob_string && line == "-1") {  // RESP2's null
        add({.type = kind::null});
        return true;
    }
    std::uint64_t size = 0;
    if (!read_digits(line, size)) {
        return fail(line == "?" ? streamed : bad_size);
    }
    if (type == kind::verbatim_string && size < verbatim_prefix) {
        return fail("verbatim string without a format");
    }
    const std::size_t room = limits_.max_bytes - position_;
    if (size > room || room - size < 2) {
        return fail(too_large);
    }
    blob_type_ = type;
    blob_size_ = static_cast<std::size_t>(size);
    in_blob_ = true;
    return true;
}

bool reader::read_blob(std::string_view window) {
    if (window.size() - position_ < blob_size_ + 2) {
        return false;
    }
    const std::size_t end = position_ + blob_size_;
    if (window[end] != '\r' || window[end + 1] != '\n') {
        return fail("blob without a line end behind it");
    }
    std::size_t begin = position_;
    if (blob_type_ == kind::verbatim_string) {
        begin += verbatim_prefix;
        if (window[begin - 1] != ':') {
            return fail("verbatim string without a format");
        }
    }
    in_blob_ = false;
    position_ = end + 2;
    add_text(blob_type_, begin, end - begin);
    return true;
}

bool reader::open_aggregate(kind type, std::string_view line) {
    if (type == kind::array && line == "-1") {  // RESP2's null
        add({.type = kind::null});
        return true;
    }
    // Counting it as a child would shift the replies behind it. (Redis before 7.2 sends one in the
    // middle of a transaction's reply: redis/redis#12326.)
    if (type == kind::push && !levels_.empty()) {
        return fail("push inside another value");
    }
    std::uint32_t children = 0;
    if (!read_count(type, line, children)) {
        return false;
    }
    keep({.type = type, .size = children});
    if (children == 0) {
        end_value();
    } else {
        levels_.push_back({.remaining = children});
    }
    return true;
}

bool reader::open_attribute(std::string_view line) {
    std::uint32_t children = 0;
    if (!read_count(kind::map, line, children)) {
        return false;
    }
    if (children > 0) {
        levels_.push_back({.remaining = children, .attribute = true});
        ++attributes_;
    }
    return true;
}

bool reader::read_count(kind type, std::string_view line, std::uint32_t& children) {
    std::uint64_t count = 0;
    if (!read_digits(line, count)) {
        return fail(line == "?" ? streamed : bad_size);
    }
    if (levels_.size() >= limits_.max_depth) {
        return fail("message too deep");
    }
    const std::size_t each = type == kind::map ? 2 : 1;
    if (count > (limits_.max_nodes - announced_) / each) {
        return fail("too many values in a message");
    }
    children = static_cast<std::uint32_t>(count * each);
    announced_ += children;
    return true;
}

void reader::add_text(kind type, std::size_t offset, std::size_t size) {
    add({.type = type,
         .offset = static_cast<std::uint32_t>(offset),
         .size = static_cast<std::uint32_t>(size)});
}

void reader::add(const node& n) {
    keep(n);
    end_value();
}

void reader::keep(const node& n) {
    if (attributes_ == 0) {
        nodes_.push_back(n);
        nodes_.back().depth = static_cast<std::uint8_t>(levels_.size());
    }
}

/// A value is complete; so are the aggregates whose last one it was.
void reader::end_value() noexcept {
    while (!levels_.empty()) {
        if (--levels_.back().remaining > 0) {
            return;
        }
        const bool attribute = levels_.back().attribute;
        levels_.pop_back();
        if (attribute) {  // it is no value itself: the one it belongs to is yet to come
            --attributes_;
            return;
        }
    }
    status_ = status::message;
}

bool reader::fail(const char* reason) noexcept {
    status_ = status::error;
    reason_ = reason;
    return false;
}

}  // namespace conch::resp
