// SPDX-License-Identifier: BSL-1.0
#include "unit/resp/describe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using conch::resp::limits;
using conch::test::join;
using conch::test::read_all;
using conch::test::transcript;
using status = conch::resp::reader::status;
using randomness = std::mt19937_64;

/// At most `max`, the same on every platform.
std::size_t pick(randomness& r, std::size_t max) {
    return static_cast<std::size_t>(r() % (max + 1));
}

std::string random_bytes(randomness& r, std::string_view alphabet) {
    std::string out(pick(r, 3) == 0 ? pick(r, 300) : pick(r, 12), ' ');
    for (char& c : out) {
        c = alphabet[pick(r, alphabet.size() - 1)];
    }
    return out;
}

/// Writes random messages, and beside them what a reader should make of each.
class generator {
public:
    explicit generator(std::uint64_t seed) : random_{seed} {}

    void message() {
        attributes(3);
        if (pick(random_, 4) == 0) {
            aggregate('>', 3);
        } else {
            value(3);
        }
    }

    std::string take_bytes() { return std::exchange(bytes_, {}); }
    std::string take_description() { return std::exchange(description_, {}); }

private:
    void value(std::size_t depth) {
        constexpr std::string_view types = "+-:$_#,(!=*%~";
        const char type = types[pick(random_, types.size() - (depth > 0 ? 1 : 4))];
        switch (type) {
            case '*':
            case '%':
            case '~': return aggregate(type, depth);
            case ':': return integer();
            case '#': return boolean();
            case '_': return null();
            case '$':
            case '!':
            case '=': return blob(type);
            default: return line(type);
        }
    }

    void attributes(std::size_t depth) {
        if (depth == 0 || pick(random_, 7) != 0) {
            return;
        }
        const std::size_t pairs = pick(random_, 2);
        bytes_ += join("|", pairs, "\r\n");
        const std::string before = description_;
        for (std::size_t i = 0; i < 2 * pairs; ++i) {
            attributes(depth - 1);
            value(depth - 1);
        }
        description_ = before;
        attributes(depth - 1);
    }

    void aggregate(char type, std::size_t depth) {
        const std::size_t count = pick(random_, 5);
        bytes_ += join(type, count, "\r\n");
        description_ += join(type, "[");
        for (std::size_t i = 0; i < (type == '%' ? 2 * count : count); ++i) {
            description_ += i > 0 ? " " : "";
            attributes(depth - 1);
            value(depth - 1);
        }
        description_ += ']';
    }

    void integer() {
        const auto number = static_cast<std::int64_t>(random_() >> pick(random_, 63));
        bytes_ += join(":", number, "\r\n");
        description_ += join(":", number);
    }

    void boolean() {
        const bool yes = pick(random_, 1) == 1;
        bytes_ += yes ? "#t\r\n" : "#f\r\n";
        description_ += yes ? "#1" : "#0";
    }

    void null() {
        constexpr const char* forms[] = {"_\r\n", "$-1\r\n", "*-1\r\n"};
        bytes_ += forms[pick(random_, 2)];
        description_ += '_';
    }

    void blob(char type) {
        const std::string text = random_bytes(random_, "\r\n$:*0a\xff");
        const std::string body = join(type == '=' ? "txt:" : "", text);
        bytes_ += join(type, body.size(), "\r\n", body, "\r\n");
        describe_text(type, text);
    }

    void line(char type) {
        std::string text;
        if (type == '(' || type == ',') {
            text = join(pick(random_, 1) == 0 ? "-1" : "2", random_bytes(random_, "0123456789"));
        } else {
            text = random_bytes(random_, "$:*0a \xff");
        }
        bytes_ += join(type, text, "\r\n");
        describe_text(type, text);
    }

    void describe_text(char type, const std::string& text) {
        description_ += join(type, text.size(), '<', text, '>');
    }

    randomness random_;
    std::string bytes_;
    std::string description_;
};

std::vector<std::size_t> random_cuts(randomness& r, std::size_t size) {
    std::vector<std::size_t> cuts(pick(r, std::min<std::size_t>(size, 20)));
    for (std::size_t& cut : cuts) {
        cut = pick(r, size);
    }
    std::sort(cuts.begin(), cuts.end());
    return cuts;
}

std::vector<std::size_t> every_byte(std::size_t size) {
    std::vector<std::size_t> cuts(size);
    for (std::size_t i = 0; i < size; ++i) {
        cuts[i] = i;
    }
    return cuts;
}

/// Bytes for which it does not matter how they are cut, an error or not.
void expect_same_however_cut(std::string_view stream, const limits& l) {
    const transcript whole = read_all(stream, {}, l);
    EXPECT_EQ(read_all(stream, every_byte(stream.size()), l), whole);
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
        EXPECT_EQ(read_all(stream, std::vector{cut}, l), whole) << "cut at " << cut;
    }
}

constexpr std::string_view one_of_each =
    "|1\r\n+ttl\r\n:3600\r\n"
    "*14\r\n+OK\r\n-ERR x\r\n:-12\r\n$4\r\n\r\n\r\n\r\n_\r\n#t\r\n,1.5\r\n(123\r\n!3\r\nERR\r\n"
    "=6\r\ntxt:ab\r\n*2\r\n$-1\r\n*-1\r\n%1\r\n+k\r\n|1\r\n+a\r\n*1\r\n:1\r\n:1\r\n~1\r\n#f\r\n*"
    "0\r\n"
    ">2\r\n+message\r\n$0\r\n\r\n"
    ":1\r\n";

TEST(resp_segmentation, a_message_cut_at_every_byte_gives_the_same_nodes) {
    const transcript whole = read_all(one_of_each);
    ASSERT_EQ(whole.messages.size(), 3u);
    EXPECT_EQ(whole.messages[0],
              "*[+2<OK> -5<ERR x> :-12 $4<\r\n\r\n> _ #1 ,3<1.5> (3<123> !3<ERR> =2<ab> *[_ _] "
              "%[+1<k> :1] ~[#0] *[]]");
    EXPECT_EQ(whole.messages[1], ">[+7<message> $0<>]");
    EXPECT_EQ(whole.messages[2], ":1");
    expect_same_however_cut(one_of_each, {});
}

TEST(resp_segmentation, two_messages_cut_twice_anywhere_are_the_same_messages) {
    constexpr std::string_view stream = "*2\r\n$2\r\n\r\n\r\n:1\r\n>1\r\n+x\r\n";
    const transcript whole = read_all(stream);
    ASSERT_EQ(whole.messages.size(), 2u);
    for (std::size_t first = 0; first <= stream.size(); ++first) {
        for (std::size_t second = first; second <= stream.size(); ++second) {
            EXPECT_EQ(read_all(stream, std::vector{first, second}), whole);
        }
    }
}

TEST(resp_segmentation, an_error_is_the_same_however_it_is_cut) {
    for (const std::string_view stream :
         {":1\r\n:x\r\n", "$3\r\nabcd\r\n", "*2\r\n:1\r\nz", "+a\rb\r\n", "+a\nb\r\n",
          "=4\r\nabcd\r\n", "*1\r\n>1\r\n:1\r\n", "$?\r\n", ";1\r\n", "*99999999999\r\n"}) {
        SCOPED_TRACE(stream);
        ASSERT_EQ(read_all(stream).end, status::error);
        expect_same_however_cut(stream, {});
    }
}

TEST(resp_segmentation, a_limit_is_the_same_however_it_is_cut) {
    const limits tight{.max_depth = 2, .max_bytes = 24, .max_nodes = 4};
    for (const std::string_view stream :
         {"*1\r\n*1\r\n*1\r\n:1\r\n", "*3\r\n+a\r\n+b\r\n+c\r\n", "+0123456789012345678901234\r\n",
          "+01234567890123456789012\r\r\n", "+0123456789012345678901\r\r",
          "$18\r\n012345678901234567\r\n", "*1\r\n$13\r\n0123456789012\r\n+", "*4\r\n", "|2\r\n"}) {
        SCOPED_TRACE(stream);
        expect_same_however_cut(stream, tight);
    }
}

TEST(resp_segmentation, random_messages_cut_at_random_are_what_was_written) {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        SCOPED_TRACE(seed);
        generator g{seed};
        std::string stream;
        transcript expected;
        for (int i = 0; i < 5; ++i) {
            g.message();
            stream += g.take_bytes();
            expected.messages.push_back(g.take_description());
        }
        expected.consumed = stream.size();
        randomness r{~seed};
        ASSERT_EQ(read_all(stream), expected);
        for (int i = 0; i < 5; ++i) {
            ASSERT_EQ(read_all(stream, random_cuts(r, stream.size())), expected);
        }
    }
}

TEST(resp_segmentation, mutated_messages_are_judged_alike_however_they_are_cut) {
    constexpr std::string_view likely = "+-:$_#,(!=*%~>|;.?0123456789\r\n";
    const limits tight{.max_depth = 4, .max_bytes = 2000, .max_nodes = 60};
    std::size_t errors = 0;
    for (std::uint64_t seed = 0; seed < 1500; ++seed) {
        SCOPED_TRACE(seed);
        generator g{seed};
        g.message();
        g.message();
        std::string stream = g.take_bytes();
        randomness r{~seed};
        for (std::size_t i = pick(r, 3) + 1; i > 0; --i) {
            char& byte = stream[pick(r, stream.size() - 1)];
            byte = pick(r, 3) == 0 ? static_cast<char>(pick(r, 255))
                                   : likely[pick(r, likely.size() - 1)];
        }
        const limits l = pick(r, 1) == 0 ? limits{} : tight;
        const transcript whole = read_all(stream, {}, l);
        errors += whole.end == status::error;
        ASSERT_EQ(read_all(stream, random_cuts(r, stream.size()), l), whole);
    }
    EXPECT_GT(errors, 400u);
    EXPECT_LT(errors, 1400u);
}

}  // namespace
