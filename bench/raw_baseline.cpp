// SPDX-License-Identifier: BSL-1.0
#include "raw_baseline.hpp"

#include "wire/script.hpp"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string_view>

namespace conch::bench {
namespace {

using wire::get_script;
using wire::script_id;

constexpr std::size_t buffer_size = 64 * 1024;

void append_command(std::string& out, std::initializer_list<std::string_view> words) {
    out += '*' + std::to_string(words.size()) + "\r\n";
    for (const std::string_view word : words) {
        out += '$' + std::to_string(word.size()) + "\r\n";
        out += word;
        out += "\r\n";
    }
}

/// Of the shape and length that conch writes.
std::string field_of(std::size_t slot) {
    return "00000000-0000-4000-8000-000000000000:" + std::to_string(1'000'000 + slot);
}

std::string name_of(std::size_t slot) { return "conch-bench:raw:" + std::to_string(slot); }

}  // namespace

raw_baseline::raw_baseline(const config& server, std::size_t depth)
    : socket_{server}, depth_{depth}, buffer_(buffer_size) {
    greet(server);
    encode(depth);
}

void raw_baseline::greet(const config& server) {
    std::string request;
    if (server.password.empty()) {
        append_command(request, {"HELLO", "3"});
    } else {
        const std::string user = server.username.empty() ? "default" : server.username;
        append_command(request, {"HELLO", "3", "AUTH", user, server.password});
    }
    if (server.database != 0) {
        append_command(request, {"SELECT", std::to_string(server.database)});
    }
    append_command(request, {"SCRIPT", "LOAD", get_script(script_id::acquire).body});
    append_command(request, {"SCRIPT", "LOAD", get_script(script_id::release).body});
    append_command(request, {"ECHO", "conch-bench-ready"});
    socket_.send(request);

    constexpr std::string_view last = "conch-bench-ready\r\n";
    std::string answer = "\n";
    while (!answer.ends_with(last)) {
        answer.append(buffer_.data(), socket_.receive(buffer_));
    }
    if (const auto error = answer.find("\n-"); error != std::string::npos) {
        throw std::runtime_error{"the server refused: " +
                                 answer.substr(error + 2, answer.find('\r', error) - error - 2)};
    }
}

void raw_baseline::encode(std::size_t depth) {
    for (std::size_t i = 0; i < depth; ++i) {
        starts_.push_back(commands_.size());
        append_command(commands_, {"EVALSHA", get_script(script_id::acquire).sha1, "1", name_of(i),
                                   field_of(i), "30000", "", "0"});
    }
    for (std::size_t i = 0; i < depth; ++i) {
        starts_.push_back(commands_.size());
        append_command(commands_, {"EVALSHA", get_script(script_id::release).sha1, "1", name_of(i),
                                   field_of(i), "redisson_lock__channel:{" + name_of(i) + '}'});
    }
    starts_.push_back(commands_.size());
}

double raw_baseline::run(std::chrono::duration<double> time) {
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    const auto end = begin + time;
    std::size_t answered = 0;
    std::size_t under_way = depth_;
    bool stopping = false;
    allow(depth_);
    while (under_way > 0) {
        flush();
        const std::size_t replies = read_replies();
        stopping = stopping || clock::now() >= end;
        // The commands go round: at the start of a round, all locks are released or about to be.
        const std::size_t rest_of_round = next_ == 0 ? 0 : 2 * depth_ - next_;
        const std::size_t more = stopping ? std::min(replies, rest_of_round) : replies;
        allow(more);
        answered += replies;
        under_way = under_way - replies + more;
    }
    const std::chrono::duration<double> elapsed = clock::now() - begin;
    return static_cast<double>(answered) / 2 / elapsed.count();
}

void raw_baseline::allow(std::size_t commands) {
    const std::size_t all = 2 * depth_;
    const std::size_t before_end = std::min(commands, all - next_);
    due_ += starts_[next_ + before_end] - starts_[next_];
    due_ += starts_[commands - before_end];
    next_ = (next_ + commands) % all;
}

void raw_baseline::flush() {
    const std::string_view commands = commands_;
    while (due_ > 0) {
        const std::string_view first = commands.substr(written_, due_);
        const std::string_view second = commands.substr(0, due_ - first.size());
        const std::size_t sent = socket_.send_some(first, second);
        if (sent == 0) {
            return;
        }
        due_ -= sent;
        written_ = (written_ + sent) % commands_.size();
    }
}

std::size_t raw_baseline::read_replies() {
    const std::size_t n =
        due_ == 0 ? socket_.receive(buffer_) : socket_.receive_or_writable(buffer_);
    return replies_.feed({buffer_.data(), n});
}

}  // namespace conch::bench
