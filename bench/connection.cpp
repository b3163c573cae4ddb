// SPDX-License-Identifier: BSL-1.0
#include "connection.hpp"

#include "greeting.hpp"
#include "raw_command.hpp"

#include <charconv>
#include <sstream>
#include <stdexcept>

namespace conch::bench {
namespace {

constexpr std::size_t piece = 64 * 1024;

std::int64_t to_number(std::string_view text) {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc{} || end != text.data() + text.size()) {
        throw std::runtime_error{"not a number from the server: " + std::string{text}};
    }
    return n;
}

}  // namespace

std::int64_t message::number() const { return to_number(text); }

connection::connection(const config& server, greeted how) : socket_{server} {
    if (how == greeted::yes) {
        greet(socket_, server);
    }
}

message connection::command(const std::vector<std::string_view>& words) {
    std::string out;
    append_command(out, words);
    socket_.send(out);
    message m = receive();
    if (m.type == '-') {
        throw server_refusal{std::string{words.at(0)} + ": " + m.text};
    }
    return m;
}

message connection::receive() {
    if (begin_ == buffer_.size() || begin_ > piece) {
        buffer_.erase(0, begin_);
        begin_ = 0;
    }
    return read(false);
}

// Answers are read while the rest is sent, so that neither side's buffers fill up for ever.
void connection::pipeline(std::string_view bytes, std::size_t commands) {
    std::size_t answered = 0;
    while (answered < commands) {
        const std::size_t sent = socket_.send_some(bytes.substr(0, piece), {});
        bytes.remove_prefix(sent);
        if (sent > 0 && !bytes.empty() && !socket_.readable()) {
            continue;
        }
        if (receive().type == '-') {
            throw std::runtime_error{"the server refused a command of a pipeline"};
        }
        ++answered;
    }
}

std::uint64_t connection::calls(std::string_view command_name) {
    const std::string text = '\n' + command({"INFO", "commandstats"}).text;
    const std::string head = "\ncmdstat_" + std::string{command_name} + ":calls=";
    const auto at = text.find(head);
    if (at == std::string::npos) {
        return 0;
    }
    const auto from = at + head.size();
    return static_cast<std::uint64_t>(
        to_number(std::string_view{text}.substr(from, text.find(',', from) - from)));
}

// The lines are "id=... addr=... name=conch:... ...".
std::vector<std::string> connection::ids_named(std::string_view client_name) {
    std::istringstream list{command({"CLIENT", "LIST"}).text};
    const std::string wanted = " name=" + std::string{client_name};
    std::vector<std::string> out;
    for (std::string row; std::getline(list, row);) {
        const std::size_t at = row.find(wanted);
        // conch's own names go on with a colon.
        if (at != row.npos && (row[at + wanted.size()] == ' ' || row[at + wanted.size()] == ':')) {
            out.push_back(row.substr(3, row.find(' ') - 3));
        }
    }
    return out;
}

std::uint64_t connection::connections_named(std::string_view client_name) {
    return ids_named(client_name).size();
}

void connection::kill_connections_named(std::string_view client_name) {
    for (const std::string& id : ids_named(client_name)) {
        command({"CLIENT", "KILL", "ID", id});
    }
}

message connection::read(bool nested) {
    const std::string_view head = line();
    message out;
    out.type = head.at(0);
    const std::string_view rest = head.substr(1);
    switch (out.type) {
        case '$':
        case '=': {
            if (rest == "-1") {
                break;
            }
            const std::string_view body = bytes(static_cast<std::size_t>(to_number(rest)));
            out.text = body.substr(out.type == '=' ? 4 : 0);  // "txt:"
            break;
        }
        case '*':
        case '~':
        case '>':
        case '%': {
            if (nested) {
                throw std::runtime_error{"an array in an array, which nobody asked for"};
            }
            const auto count = to_number(rest) * (out.type == '%' ? 2 : 1);
            for (std::int64_t i = 0; i < count; ++i) {
                out.parts.push_back(read(true).text);
            }
            break;
        }
        default: out.text = rest;
    }
    return out;
}

void connection::unlink_all(std::string_view pattern) {
    command({"EVAL",
             "local at = '0' "
             "repeat "
             "local found = redis.call('scan', at, 'match', ARGV[1], 'count', 1000) "
             "at = found[1] "
             "for _, key in ipairs(found[2]) do redis.call('unlink', key) end "
             "until at == '0' return 'OK'",
             "0", pattern});
}

std::string_view connection::line() {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n", begin_)) == std::string::npos) {
        more();
    }
    const std::size_t from = begin_;
    begin_ = end + 2;
    return std::string_view{buffer_}.substr(from, end - from);
}

std::string_view connection::bytes(std::size_t count) {
    while (buffer_.size() < begin_ + count + 2) {
        more();
    }
    const std::size_t from = begin_;
    begin_ += count + 2;
    return std::string_view{buffer_}.substr(from, count);
}

void connection::more() {
    const std::size_t before = buffer_.size();
    buffer_.resize(before + piece);
    buffer_.resize(before + socket_.receive({buffer_.data() + before, piece}));
}

}  // namespace conch::bench
