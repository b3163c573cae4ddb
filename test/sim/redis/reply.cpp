// SPDX-License-Identifier: BSL-1.0
#include "sim/redis/reply.hpp"

#include <charconv>

namespace conch::sim {
namespace {

void head(std::string& out, char mark, std::int64_t n) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, n).ptr;
    out.push_back(mark);
    out.append(digits, end);
    out.append("\r\n");
}

void line(std::string& out, char mark, std::string_view words) {
    out.push_back(mark);
    out.append(words);
    out.append("\r\n");
}

}  // namespace

void reply::write(std::string& out, bool resp3) const {
    switch (what) {
        case kind::status: line(out, '+', text); return;
        case kind::error: line(out, '-', text); return;
        case kind::integer: head(out, ':', integer); return;
        case kind::bulk:
            head(out, '$', static_cast<std::int64_t>(text.size()));
            out.append(text).append("\r\n");
            return;
        case kind::floating:
            if (resp3) {
                line(out, ',', text);
            } else {
                head(out, '$', static_cast<std::int64_t>(text.size()));
                out.append(text).append("\r\n");
            }
            return;
        case kind::verbatim:
            if (resp3) {
                head(out, '=', static_cast<std::int64_t>(text.size()) + 4);
                out.append("txt:");
            } else {
                head(out, '$', static_cast<std::int64_t>(text.size()));
            }
            out.append(text).append("\r\n");
            return;
        case kind::nil: out.append(resp3 ? "_\r\n" : "$-1\r\n"); return;
        case kind::nil_array: out.append(resp3 ? "_\r\n" : "*-1\r\n"); return;
        case kind::array: head(out, '*', static_cast<std::int64_t>(items.size())); break;
        case kind::map:
            head(out, resp3 ? '%' : '*',
                 static_cast<std::int64_t>(resp3 ? items.size() / 2 : items.size()));
            break;
        case kind::push:
            head(out, resp3 ? '>' : '*', static_cast<std::int64_t>(items.size()));
            break;
    }
    for (const reply& item : items) {
        item.write(out, resp3);
    }
}

}  // namespace conch::sim
