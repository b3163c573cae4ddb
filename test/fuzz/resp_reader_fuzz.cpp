// SPDX-License-Identifier: BSL-1.0
// The first byte chooses the limits and how many of the next bytes say where the rest is cut: a
// reader must make the same of the pieces as of the whole, and keep its limits.
#include "fuzz/byte_source.hpp"
#include "fuzz/fuzz_check.hpp"
#include "resp/reader.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace {

using conch::fuzz::byte_source;
using conch::resp::limits;
using conch::resp::reader;
using conch::resp::value;

// An input of test/run.sh may be longer than a message of the largest ones.
constexpr limits tight{.max_depth = 3, .max_bytes = 64, .max_nodes = 16};
constexpr limits wide{.max_depth = 8, .max_bytes = 3500, .max_nodes = 1u << 10};
constexpr limits few{.max_depth = 2, .max_bytes = 256, .max_nodes = 4};
constexpr limits least{.max_depth = 0, .max_bytes = 8, .max_nodes = 1};
constexpr std::array all_limits{wide, tight, few, least};
/// What a node can tell of its depth.
constexpr std::size_t deepest = 255;
constexpr limits deep{.max_depth = 1000, .max_bytes = 3500, .max_nodes = 1u << 10};
constexpr unsigned chooses_deep = 255;

/// What a reader made of a stream, in short.
struct transcript {
    std::uint64_t digest = 0xcbf29ce484222325u;  // FNV-1a
    std::size_t values = 0;
    std::size_t consumed = 0;
    reader::status end = reader::status::need_more;
    std::string_view reason{};

    bool operator==(const transcript&) const = default;
    void add(std::uint64_t x) noexcept { digest = (digest ^ x) * 0x100000001b3u; }
};

/// Adds all that can be asked of `v`. Its text lies within the message, and nothing is too deep.
void add_value(transcript& t, const value& v, std::string_view message, std::size_t room) {
    ++t.values;
    t.add(static_cast<std::uint64_t>(v.type()));
    t.add(static_cast<std::uint64_t>(v.integer()));
    const std::string_view text = v.text();
    t.add(text.size());
    for (const char c : text) {
        t.add(static_cast<unsigned char>(c));
    }
    FUZZ_CHECK(text.empty() || (text.data() >= message.data() &&
                                text.data() + text.size() <= message.data() + message.size()));
    FUZZ_CHECK(!v.is_aggregate() || room > 0);
    t.add(v.size());
    for (std::size_t i = 0; i < v.size(); ++i) {
        add_value(t, v.at(i), message, room - 1);
    }
}

void add_message(transcript& t, const reader& r, std::string_view data, const limits& l) {
    FUZZ_CHECK(r.size() > 0 && r.size() <= data.size() && r.size() <= l.max_bytes);
    const std::size_t before = t.values;
    add_value(t, r.get(data), data.substr(0, r.size()), std::min(l.max_depth, deepest));
    FUZZ_CHECK(t.values - before <= l.max_nodes);
    t.consumed += r.size();
}

/// Each piece of the stream moves to an allocation of its own, just as large, so that a sanitizer
/// sees any read beyond it or into an old one. No `steps`: all in one piece.
transcript read_all(std::string_view stream, std::span<const std::size_t> steps, const limits& l) {
    transcript t;
    reader r{l};
    std::size_t end = 0;
    for (std::size_t i = 0; end < stream.size(); ++i) {
        end =
            steps.empty() ? stream.size() : std::min(stream.size(), end + steps[i % steps.size()]);
        const std::string_view piece = stream.substr(t.consumed, end - t.consumed);
        const std::unique_ptr<char[]> copy{new char[piece.size()]};
        piece.copy(copy.get(), piece.size());
        std::string_view data{copy.get(), piece.size()};
        t.end = r.parse(data);
        for (; t.end == reader::status::message; t.end = r.parse(data)) {
            add_message(t, r, data, l);
            data.remove_prefix(r.size());
            r.next();
        }
        if (t.end == reader::status::error) {
            t.reason = r.reason();
            FUZZ_CHECK(!t.reason.empty());
            FUZZ_CHECK(r.parse(data) == reader::status::error);
            return t;
        }
        FUZZ_CHECK(data.size() < l.max_bytes);  // else it would wait for ever
    }
    return t;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    byte_source in{data, size};
    const unsigned first = in.byte();
    const limits& l = first == chooses_deep ? deep : all_limits[first % all_limits.size()];
    std::array<std::size_t, 4> steps{};
    const std::size_t count = first / all_limits.size() % (steps.size() + 1);
    for (std::size_t& step : std::span{steps}.first(count)) {
        step = 1 + in.byte();
    }
    const std::string_view stream = in.rest();
    const transcript whole = read_all(stream, {}, l);
    if (count > 0) {
        FUZZ_CHECK(read_all(stream, std::span{steps}.first(count), l) == whole);
    }
    return 0;
}
