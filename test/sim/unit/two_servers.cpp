// SPDX-License-Identifier: BSL-1.0
#include "sim/unit/two_servers.hpp"

#include "resp/reader.hpp"

#include <gtest/gtest.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <regex>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace conch::sim::test {
namespace {

namespace asio = boost::asio;

std::int64_t wall_clock_us() {
    using namespace std::chrono;
    return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

/// Cuts one message off; empty if there is none that is whole.
std::string take_message(std::string& bytes) {
    resp::reader r;
    if (bytes.empty() || r.parse(bytes) != resp::reader::status::message) {
        return {};
    }
    std::string message = bytes.substr(0, r.size());
    bytes.erase(0, r.size());
    return message;
}

/// Hides what differs between two servers that behave alike: the token that a moment gave, the end
/// of a place in line.
std::string without_moments(std::string text) {
    static const std::regex token{"\\b1[0-9]{15}\\b"};
    static const std::regex end_of_place{":1[0-9]{12,13}\\b"};
    static const std::regex token_in_hex{"\\b31(3[0-9]){15}"};
    text = std::regex_replace(text, token_in_hex, "<micros>");
    return std::regex_replace(std::regex_replace(text, token, "<micros>"), end_of_place,
                              ":<millis>");
}

/// The integers at the ends of two lines, if both are remaining times of some length.
bool same_time_left(std::string_view a, std::string_view b) {
    const long long x = std::strtoll(std::string{a}.c_str(), nullptr, 10);
    const long long y = std::strtoll(std::string{b}.c_str(), nullptr, 10);
    return x > 2'000 && y > 2'000 && std::llabs(x - y) < 20'000;
}

/// An answer to PTTL: the key ends soon.
bool is_short(std::string_view answer) {
    const long long left = std::strtoll(std::string{answer.substr(1)}.c_str(), nullptr, 10);
    return left >= 0 && left < 10'000;
}

/// Equal but for integers that are remaining times.
bool alike(std::string_view a, std::string_view b) {
    while (!a.empty() && !b.empty()) {
        const std::string_view x = a.substr(0, a.find('\n'));
        const std::string_view y = b.substr(0, b.find('\n'));
        const bool times =
            x.starts_with(":") && y.starts_with(":") && same_time_left(x.substr(1), y.substr(1));
        if (x != y && !times) {
            return false;
        }
        a.remove_prefix(std::min(a.size(), x.size() + 1));
        b.remove_prefix(std::min(b.size(), y.size() + 1));
    }
    return a.empty() && b.empty();
}

}  // namespace

std::string encoded(const words& command) {
    std::string out = "*" + std::to_string(command.size()) + "\r\n";
    for (const std::string& w : command) {
        out += "$" + std::to_string(w.size()) + "\r\n" + w + "\r\n";
    }
    return out;
}

two_servers::two_servers(std::size_t connections, const std::string& password)
    : fake_{{.password = password}} {
    if (!password.empty()) {
        lines_.push_back(std::make_unique<line>(io_));
        lines_[0]->socket.connect(real_.socket_path());
        only_real({"CONFIG", "SET", "requirepass", password});
        lines_.clear();
    }
    for (std::size_t i = 0; i < connections; ++i) {
        auto l = std::make_unique<line>(io_);
        l->socket.connect(real_.socket_path());
        l->fake = fake_.connect();
        lines_.push_back(std::move(l));
    }
}

std::string two_servers::read_message(line& l) {
    for (;;) {
        std::string message = take_message(l.unread);
        if (!message.empty()) {
            return message;
        }
        char buffer[4096];
        l.unread.append(buffer, l.socket.read_some(asio::buffer(buffer)));
    }
}

std::string two_servers::ask_each(std::size_t connection, const words& real, const words& fake) {
    std::string shown;
    for (const std::string& w : fake) {
        shown += w.substr(0, 60) + " ";
    }
    history_.push_back(shown);
    asio::write(lines_[connection]->socket, asio::buffer(encoded(real)));
    fake_.receive(lines_[connection]->fake, encoded(fake), wall_clock_us());
    std::string answer;
    for (const fake_redis::connection c : fake_.take_ready()) {
        for (std::size_t i = 0; i < lines_.size(); ++i) {
            if (lines_[i]->fake == c) {
                std::string out = fake_.take_output(c);
                if (i == connection) {
                    answer = out;
                }
                compare(i, fake, std::move(out));
            }
        }
    }
    return answer;
}

void two_servers::compare(std::size_t connection, const words& command, std::string fakes) {
    while (!fakes.empty()) {
        const std::string whole = take_message(fakes);
        ASSERT_FALSE(whole.empty()) << "the fake answered no RESP: " << fakes;
        const std::string mine = without_moments(whole);
        const std::string theirs = without_moments(read_message(*lines_[connection]));
        if (!alike(mine, theirs)) {
            ASSERT_EQ(mine, theirs) << "to " << history_.back() << "(" << command.size()
                                    << " words), number " << history_.size() << ", after "
                                    << (history_.size() > 1 ? history_[history_.size() - 2] : "");
        }
    }
}

std::string two_servers::only_real(const words& command, std::size_t connection) {
    asio::write(lines_[connection]->socket, asio::buffer(encoded(command)));
    return read_message(*lines_[connection]);
}

std::string two_servers::only_fake(const words& command, std::int64_t now_us,
                                   std::size_t connection) {
    const fake_redis::connection c = lines_[connection]->fake;
    fake_.receive(c, encoded(command), now_us);
    fake_.take_ready();
    return fake_.take_output(c);
}

void two_servers::expect_end(std::size_t connection) {
    line& l = *lines_[connection];
    EXPECT_TRUE(fake_.closed(l.fake));
    boost::system::error_code ec;
    char buffer[1];
    EXPECT_EQ(l.socket.read_some(asio::buffer(buffer), ec), 0u);
    EXPECT_EQ(ec, asio::error::eof);
}

void two_servers::greet(std::size_t connection) {
    line& l = *lines_[connection];
    const std::string bytes = encoded({"HELLO", "3"});
    asio::write(l.socket, asio::buffer(bytes));
    fake_.receive(l.fake, bytes, wall_clock_us());
    std::string fakes = fake_.take_output(l.fake);
    fake_.take_ready();
    const std::string mine = take_message(fakes);
    const std::string theirs = read_message(l);
    const auto word_after = [](const std::string& text, const std::string& word) {
        const std::size_t at = text.find("\r\n", text.find("\r\n", text.find(word)) + 2) + 2;
        return text.substr(at, text.find("\r\n", at) - at);
    };
    version_ = word_after(theirs, "version");
    EXPECT_EQ(mine.substr(0, 4), theirs.substr(0, 4)) << "a map of so many";
    for (const std::string word : {"server", "mode", "role"}) {
        EXPECT_EQ(word_after(mine, word), word_after(theirs, word)) << word;
    }
}

std::string two_servers::why_not_comparable() const {
    if (version_.starts_with("7.0.")) {
        return {};
    }
    const std::string why = "the fake speaks the words of Redis 7.0, this is " + version_;
    std::cout << "SKIPPED: the fake server against a real one: " << why << std::endl;
    return why;
}

void two_servers::compare_keys(const words& keys) {
    for (const std::string& key : keys) {
        const std::string type = ask(0, {"TYPE", key});
        if (type == "+string\r\n") {
            ask(0, {"GET", key});
        } else if (type == "+hash\r\n") {
            ask(0, {"HGETALL", key});
        } else if (type == "+list\r\n") {
            ask(0, {"LRANGE", key, "0", "-1"});
        } else if (type == "+zset\r\n") {
            ask(0, {"ZRANGE", key, "0", "-1"});
        }
        ask(0, {"PTTL", key});
    }
    ask(0, {"DBSIZE"});
}

void two_servers::expect_silence() {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        ask(i, {"PING", "the end"});
        EXPECT_EQ(lines_[i]->unread, "") << "only the real one said this";
    }
}

void two_servers::wait_until_gone(const std::string& key) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    const words question{"EXISTS", key};
    std::string answer;
    do {
        if (std::chrono::steady_clock::now() > end) {
            throw std::runtime_error{key + " doesn't expire"};
        }
        answer = only_real(question) + only_fake(question, wall_clock_us());
    } while (answer != ":0\r\n:0\r\n");
}

void two_servers::wait_for_short_lives(const words& keys) {
    for (const std::string& key : keys) {
        const words question{"PTTL", key};
        if (is_short(only_real(question)) || is_short(only_fake(question, wall_clock_us()))) {
            wait_until_gone(key);
        }
    }
}

}  // namespace conch::sim::test
