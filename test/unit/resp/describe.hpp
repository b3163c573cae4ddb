// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_UNIT_RESP_DESCRIBE_HPP
#define CONCH_TEST_UNIT_RESP_DESCRIBE_HPP

#include "resp/reader.hpp"

#include <cstddef>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace conch::test {

/// The parts in a row: numbers in decimal, all else as text. (A chain of `+` that begins with a
/// literal draws a false warning from g++ 12.)
template <class... Parts>
std::string join(const Parts&... parts) {
    std::string out;
    const auto append = [&out](const auto& part) {
        if constexpr (std::is_convertible_v<decltype(part), std::string_view>) {
            out.append(std::string_view{part});
        } else if constexpr (std::is_same_v<decltype(part), const char&>) {
            out.push_back(part);
        } else {
            out.append(std::to_string(part));
        }
    };
    (append(parts), ...);
    return out;
}

/// A letter for each type: the one it has on the wire.
inline char letter(resp::kind k) { return "+-:$_#,(!=*%~>"[static_cast<std::size_t>(k)]; }

/// Everything that can be asked of a value, as text: `*[:1 $3<abc> _]`.
inline std::string describe(const resp::value& v) {
    std::string out{letter(v.type())};
    if (v.is_aggregate()) {
        out += '[';
        for (std::size_t i = 0; i < v.size(); ++i) {
            out += join(i > 0 ? " " : "", describe(v.at(i)));
        }
        return out + ']';
    }
    if (v.is_integer() || v.type() == resp::kind::boolean) {
        return join(out, v.integer());
    }
    if (v.is_null()) {
        return out;
    }
    return join(out, v.text().size(), '<', v.text(), '>');
}

/// What a reader made of a stream.
struct transcript {
    std::vector<std::string> messages;
    std::size_t consumed = 0;
    resp::reader::status end = resp::reader::status::need_more;
    std::string reason;

    bool operator==(const transcript&) const = default;
};

inline void PrintTo(const transcript& t, std::ostream* out) {
    for (const std::string& m : t.messages) {
        *out << m << '\n';
    }
    *out << "after " << t.consumed << " bytes: "
         << (t.end == resp::reader::status::error ? join("error: ", t.reason) : "needs more");
}

/// Gives `stream` to a reader in pieces that end at `cuts` (ascending) and at its end. Each piece
/// moves to an allocation of its own, exactly as large, so that a sanitizer sees any read beyond
/// it or into an old one.
inline transcript read_all(std::string_view stream, std::span<const std::size_t> cuts = {},
                           const resp::limits& l = {}) {
    transcript out;
    resp::reader r{l};
    for (std::size_t i = 0; i <= cuts.size(); ++i) {
        const std::size_t end = i < cuts.size() ? cuts[i] : stream.size();
        do {
            const std::string_view piece = stream.substr(out.consumed, end - out.consumed);
            const auto copy = std::make_unique<char[]>(piece.size());
            piece.copy(copy.get(), piece.size());
            const std::string_view data{copy.get(), piece.size()};
            out.end = r.parse(data);
            if (out.end == resp::reader::status::error) {
                out.reason = r.reason();
                return out;
            }
            if (out.end == resp::reader::status::message) {
                out.messages.push_back(describe(r.get(data)));
                out.consumed += r.size();
                r.next();
            }
        } while (out.end == resp::reader::status::message);
    }
    return out;
}

}  // namespace conch::test

#endif
