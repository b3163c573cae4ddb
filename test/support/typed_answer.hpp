// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SUPPORT_TYPED_ANSWER_HPP
#define CONCH_TEST_SUPPORT_TYPED_ANSWER_HPP

#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

namespace conch::test {

/// Any value of RESP3, well-formed, made of what servers say. `in.below(n)` chooses a number less
/// than `n`.
template <typename Source>
std::string typed_answer(Source& in, std::size_t depth = 0) {
    constexpr std::array<std::string_view, 12> integers{
        "0", "1",    "-1",    "-2",    "-3",                  "5",
        "7", "6379", "16383", "16384", "9223372036854775807", "-9223372036854775808"};
    constexpr std::array<std::string_view, 14> texts{
        "",     "17",   "x",          "master", "slave", "6379", "inf",
        "-1",   "nan",  "\x1b]0;\a",  "role",   "proto", "m1",   "99999999999999999999"};
    constexpr std::array<std::string_view, 14> errors{
        "ERR no",        "NOSCRIPT No matching script", "WRONGTYPE no",     "NOPERM no",
        "NOAUTH needed", "WRONGPASS bad",               "READONLY replica", "OOM no memory",
        "LOADING data",  "BUSY in a script",            "MOVED 7 m1:7000",  "ASK 7 :7005",
        "CROSSSLOT no",  "CLUSTERDOWN no"};
    const auto one_of = [&](const auto& all) { return std::string{all[in.below(std::size(all))]}; };
    const auto sized = [](char mark, std::size_t n) { return mark + std::to_string(n) + "\r\n"; };
    const auto several = [&](char mark, std::size_t each) {
        const std::size_t n = in.below(5);
        std::string out = sized(mark, n);
        for (std::size_t i = 0; i < n * each; ++i) {
            out += typed_answer(in, depth + 1);
        }
        return out;
    };
    constexpr std::size_t kinds_of_one = 13;
    switch (in.below(depth < 4 ? kinds_of_one + 5 : kinds_of_one)) {
        case 0:
        case 1: return ':' + one_of(integers) + "\r\n";
        case 2:
        case 3: {
            const std::string text = one_of(texts);
            return sized('$', text.size()) + text + "\r\n";
        }
        case 4: return "+OK\r\n";
        case 5: return '-' + one_of(errors) + "\r\n";
        case 6: return "_\r\n";
        case 7: return in.below(2) == 0 ? "$-1\r\n" : "*-1\r\n";
        case 8: return in.below(2) == 0 ? "#t\r\n" : "#f\r\n";
        case 9: return in.below(2) == 0 ? ",1.5\r\n" : ",inf\r\n";
        case 10: return "(12345678901234567890\r\n";
        case 11: return "=7\r\ntxt:abc\r\n";
        case 12: return "!3\r\nbad\r\n";
        case 13: return several('*', 1);
        case 14: return several('~', 1);
        case 15: return several('%', 2);
        case 16: return "|1\r\n+key\r\n+value\r\n" + typed_answer(in, depth + 1);
        default: return several('*', 1);
    }
}

}  // namespace conch::test

#endif
