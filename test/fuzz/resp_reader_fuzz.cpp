// SPDX-License-Identifier: BSL-1.0
// The first byte chooses the limits and how many of the next bytes say where the rest is cut: a
// reader must make the same of the pieces as of the whole, and keep its limits.
#include "fuzz/byte_source.hpp"
#include "fuzz/fuzz_check.hpp"
#include "unit/resp_describe.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace {

using conch::fuzz::byte_source;
using conch::resp::reader;
using conch::resp::value;

constexpr conch::resp::limits tight{.max_depth = 3, .max_bytes = 64, .max_nodes = 16};
constexpr conch::resp::limits wide{.max_depth = 8, .max_bytes = 1u << 16, .max_nodes = 1u << 10};
constexpr conch::resp::limits none{.max_depth = 0, .max_bytes = 8, .max_nodes = 1};
constexpr std::array all_limits{wide, tight, wide, none};

/// Counts the values of `v`; each lies within the message, and none too deep.
std::size_t count_values(const value& v, std::string_view message, std::size_t room) {
    if (const std::string_view text = v.text(); !text.empty()) {
        FUZZ_CHECK(text.data() >= message.data() &&
                   text.data() + text.size() <= message.data() + message.size());
    }
    std::size_t n = 1;
    FUZZ_CHECK(v.size() == 0 || room > 0);
    for (std::size_t i = 0; i < v.size(); ++i) {
        n += count_values(v.at(i), message, room - 1);
    }
    return n;
}

// The bytes lie in an allocation of just their size, for a sanitizer to see a read beyond them.
void check_limits(std::string_view stream, const conch::resp::limits& l) {
    const auto copy = std::make_unique<char[]>(stream.size());
    stream.copy(copy.get(), stream.size());
    std::string_view rest{copy.get(), stream.size()};
    reader r{l};
    reader::status s = r.parse(rest);
    for (; s == reader::status::message; s = r.parse(rest)) {
        FUZZ_CHECK(r.size() > 0 && r.size() <= rest.size() && r.size() <= l.max_bytes);
        const std::size_t n = count_values(r.get(rest), rest.substr(0, r.size()), l.max_depth);
        FUZZ_CHECK(n <= l.max_nodes);
        rest.remove_prefix(r.size());
        r.next();
    }
    if (s == reader::status::error) {
        FUZZ_CHECK(std::strlen(r.reason()) > 0);
        FUZZ_CHECK(r.parse(rest) == reader::status::error);
    } else {
        FUZZ_CHECK(rest.size() < l.max_bytes);  // else it would wait for ever
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    byte_source in{data, size};
    const unsigned first = in.byte();
    const conch::resp::limits& l = all_limits[first % all_limits.size()];
    std::vector<std::size_t> steps;
    for (std::size_t n = first / all_limits.size() % 8; n > 0; --n) {
        steps.push_back(1 + in.byte());
    }
    const std::string_view stream = in.rest();
    std::vector<std::size_t> cuts;
    std::size_t cut = 0;
    for (std::size_t i = 0; !steps.empty() && cut + steps[i] < stream.size();) {
        cut += steps[i];
        cuts.push_back(cut);
        i = (i + 1) % steps.size();
    }
    check_limits(stream, l);
    if (!cuts.empty()) {
        FUZZ_CHECK(conch::test::read_all(stream, cuts, l) ==
                   conch::test::read_all(stream, {}, l));
    }
    return 0;
}
