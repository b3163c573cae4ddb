// SPDX-License-Identifier: BSL-1.0
#include "raw_command.hpp"

#include "wire/script.hpp"

#include <chrono>
#include <vector>

namespace conch::bench {

using wire::get_script;
using wire::script_id;

void append_command(std::string& out, std::span<const std::string_view> words) {
    out += '*' + std::to_string(words.size()) + "\r\n";
    for (const std::string_view word : words) {
        out += '$' + std::to_string(word.size()) + "\r\n";
        out += word;
        out += "\r\n";
    }
}

void append_command(std::string& out, std::initializer_list<std::string_view> words) {
    append_command(out, std::span{words.begin(), words.size()});
}

std::string field_of(std::size_t number) {
    return "00000000-0000-4000-8000-000000000000:" + std::to_string(1'000'000 + number);
}

std::string channel_of(std::string_view name) {
    const std::string prefix = "redisson_lock__channel:";
    const std::string text{name};
    return prefix + (text.find('{') == text.npos ? '{' + text + '}' : text);
}

void append_acquire(std::string& out, std::string_view name, std::string_view field,
                    std::string_view lease_ms) {
    append_command(
        out, {"EVALSHA", get_script(script_id::acquire).sha1, "1", name, field, lease_ms, "0"});
}

void append_release(std::string& out, std::string_view name, std::string_view field,
                    std::string_view channel, bool sharded) {
    std::vector<std::string_view> words{
        "EVALSHA", get_script(script_id::release).sha1, "1", name, field, channel};
    if (sharded) {
        words.push_back("spublish");
    }
    append_command(out, words);
}

void append_stand_in_line(std::string& out, std::string_view name, std::string_view field) {
    const std::string key{name};
    append_command(out, {"EVALSHA", get_script(script_id::fair_acquire).sha1, "4", key,
                         "redisson_lock_queue:" + key, "redisson_lock_timeout:" + key,
                         "conch_fair_lease:" + key, field, "30000", "0", "3000", "1"});
}

void append_pass_on(std::string& out, std::string_view name, std::string_view field, bool sharded) {
    const std::string key{name};
    append_command(out, {"EVALSHA", get_script(script_id::fair_release).sha1, "5", key,
                         "redisson_lock_queue:" + key, "redisson_lock_timeout:" + key,
                         "conch_fair_lease:" + key, "redisson_lock_token:" + key, field,
                         channel_of(name) + ':', sharded ? "spublish" : "publish"});
}

namespace {

/// What the ids of its permits begin with: 14 bytes.
std::string id_start_of(std::size_t number) {
    const std::string digits = std::to_string(1'000'000 + number);
    return "raw-id" + std::string(8 - digits.size(), '0') + digits;
}

}  // namespace

void append_take_permits(std::string& out, std::string_view name, std::size_t number,
                         std::size_t permits, bool sharded) {
    const std::string key{name};
    append_command(out, {"EVALSHA", get_script(script_id::permits_acquire).sha1, "2", key,
                         key + ":timeout", id_start_of(number), std::to_string(permits), "30000",
                         "redisson_sc:" + key, sharded ? "spublish" : "publish"});
}

void append_give_permits(std::string& out, std::string_view name, std::size_t number,
                         std::size_t permits, bool sharded) {
    const std::string key{name};
    append_command(out, {"EVALSHA", get_script(script_id::permits_release).sha1, "2", key,
                         key + ":timeout", "redisson_sc:" + key, sharded ? "spublish" : "publish",
                         id_start_of(number), std::to_string(permits)});
}

void append_ask_rate(std::string& out, std::string_view name, const rate& allowed) {
    const std::string limit = std::to_string(allowed.limit);
    const auto window = std::chrono::duration_cast<std::chrono::milliseconds>(allowed.window);
    append_command(out, {"EVALSHA", get_script(script_id::rate_gcra).sha1, "1", name, limit,
                         std::to_string(window.count()), limit, "1"});
}

namespace {

/// What tells one request of a counter from all others; `last`: behind the caller's number.
std::string request_of(const std::string& key, std::size_t number, const char* last = "") {
    return "conch_once:" + key + ":00000000-0000-4000-8000-" + std::string{fresh_number} + ':' +
           std::to_string(number) + last;
}

}  // namespace

void append_count_down(std::string& out, std::string_view name, std::size_t number) {
    const std::string key{name};
    append_command(
        out,
        {"EVALSHA", get_script(script_id::semaphore_change).sha1, "2", key, request_of(key, number),
         "60000", "redisson_countdownlatch__channel__{" + key + '}', "publish", "count_down", "1"});
}

void append_take_permit(std::string& out, std::string_view name, std::size_t number) {
    const std::string key{name};
    append_command(out, {"EVALSHA", get_script(script_id::semaphore_acquire).sha1, "2", key,
                         request_of(key, number, "0"), "60000", "take", "1"});
}

void append_give_permit(std::string& out, std::string_view name, std::size_t number, bool sharded) {
    const std::string key{name};
    append_command(out, {"EVALSHA", get_script(script_id::semaphore_change).sha1, "2", key,
                         request_of(key, number, "1"), "60000", "redisson_sc:" + key,
                         sharded ? "spublish" : "publish", "add", "1"});
}

void append_renewal(std::string& out, std::span<const std::string> names, std::size_t first,
                    std::string_view lease_ms) {
    const std::string count = std::to_string(names.size());
    std::vector<std::string> fields;
    for (std::size_t i = 0; i < names.size(); ++i) {
        fields.push_back(field_of(first + i));
    }
    std::vector<std::string_view> words{"EVALSHA", get_script(script_id::renew).sha1, count};
    words.insert(words.end(), names.begin(), names.end());
    for (const std::string& field : fields) {
        words.insert(words.end(), {field, lease_ms});
    }
    append_command(out, words);
}

}  // namespace conch::bench
