// SPDX-License-Identifier: BSL-1.0
#include "sim/fake_redis.hpp"

#include "core/random.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace conch::sim {
namespace {

std::string random_hex(std::uint64_t& state) {
    core::random r{state++};
    constexpr std::string_view digits = "0123456789abcdef";
    std::string s;
    while (s.size() < 40) {
        s.push_back(digits[r.next() % 16]);
    }
    return s;
}

/// "*3\r\n": the number, and what follows; false if it isn't complete. `bad`: it never will be.
bool take_number(std::string_view& in, char mark, std::int64_t& n, bool& bad) {
    const std::size_t end = in.find("\r\n");
    if (!in.empty() && in[0] != mark) {
        bad = true;
        return false;
    }
    if (end == std::string_view::npos) {
        return false;
    }
    const auto got = to_integer(in.substr(1, end - 1));
    bad = !got;
    n = got.value_or(0);
    in.remove_prefix(end + 2);
    return got.has_value();
}

/// One command; false if it isn't complete.
bool take_command(std::string_view& in, std::vector<std::string_view>& words, bool& bad) {
    std::string_view rest = in;
    std::int64_t n = 0;
    words.clear();
    if (!take_number(rest, '*', n, bad)) {
        return false;
    }
    for (; n > 0; --n) {
        std::int64_t length = 0;
        if (!take_number(rest, '$', length, bad)) {
            return false;
        }
        const auto size = static_cast<std::size_t>(length);
        if (length < 0 || rest.size() < size + 2) {
            bad = length < 0;
            return false;
        }
        words.push_back(rest.substr(0, size));
        rest.remove_prefix(size + 2);
    }
    in = rest;
    return true;
}

constexpr std::string_view channels_refused = "channels used as arguments";
constexpr const char* key_refused =
    "NOPERM this user has no permissions to access one of the keys used as arguments";

/// How many locks a script names; KEYS has those of their fencing tokens as well, or of readers.
std::ptrdiff_t locks_of(arguments a) {
    const auto keys = static_cast<std::size_t>(to_integer(a[2]).value_or(0));
    const arguments all = a.subspan(3, std::min(keys, a.size() - 3));
    return std::count_if(all.begin(), all.end(), [](std::string_view key) {
        return !is_fence_key(key) && !is_beside_readers(key);
    });
}

bool subscribes(const command& c) noexcept {
    return c.name == "subscribe" || c.name == "ssubscribe";
}

std::string unknown(arguments a) {
    std::string words = "ERR unknown command '" + std::string{a[0].substr(0, 128)} +
                        "', with args beginning with: ";
    for (const std::string_view w : a.subspan(1)) {
        words += "'" + std::string{w.substr(0, 128)} + "' ";
    }
    return words;
}

std::string lower(std::string_view s) {
    std::string out{s};
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return out;
}

using command_map = text_map<const command*>;

command_map all_commands() {
    command_map all;
    for (const auto group :
         {key_commands(), type_commands(), zset_commands(), server_commands(), fleet_commands()}) {
        for (const command& c : group) {
            all[std::string{c.name}] = &c;
        }
    }
    return all;
}

}  // namespace

const command* find_command(std::string_view name) noexcept {
    static const command_map all = all_commands();
    auto it = all.find(name);
    if (it == all.end()) {
        it = all.find(lower(name));
    }
    return it == all.end() ? nullptr : it->second;
}

std::optional<std::int64_t> to_integer(std::string_view s) noexcept {
    std::int64_t n = 0;
    const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), n);
    const bool odd = s.empty() || ec != std::errc{} || end != s.data() + s.size() ||
                     (s.size() > 1 && (s[0] == '0' || s.starts_with("-0")));
    return odd ? std::nullopt : std::optional{n};
}

bool same_word(std::string_view a, std::string_view b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

fake_redis::fake_redis(const settings& s) : how_{s}, random_{s.seed} {
    for (std::size_t i = 0; i < fleet_.processes(); ++i) {
        run_ids_.push_back(random_hex(random_));
        begin_history(i);
    }
}

fake_redis::connection fake_redis::connect(fleet::process at) {
    session& s = sessions_[++last_id_];
    s.id = last_id_;
    s.at = at;
    s.authenticated = how_.password.empty();
    return s.id;
}

void fake_redis::disconnect(connection c) { sessions_.erase(c); }

void fake_redis::set_now(std::int64_t now_us) {
    now_us_ = now_us;
    for (fleet::process p = 0; p < data_.count(); ++p) {
        data_.of(p).set_now(now_us / 1000);
    }
}

void fake_redis::receive(connection c, std::string_view bytes, std::int64_t now_us) {
    set_now(now_us);
    const auto it = sessions_.find(c);
    if (it == sessions_.end()) {
        return;
    }
    session& s = it->second;
    now_at_ = s.at;
    s.unread.append(bytes);
    const std::string input = std::exchange(s.unread, {});
    std::string_view rest = input;
    std::vector<std::string_view> words;
    bool bad = false;
    while (!s.closing && take_command(rest, words, bad)) {
        if (!words.empty()) {
            run(s, words);
        }
    }
    if (bad && !s.closing) {
        s.output.append("-ERR Protocol error: invalid bulk length\r\n");
        close(s);
    }
    s.unread = rest;
    if (!s.output.empty()) {
        ready(s);
    }
}

void fake_redis::run(session& s, arguments a) {
    const command* c = find_command(a[0]);
    reply answer;
    if (!c) {
        answer = reply::error(unknown(a));
    } else if (!c->takes(a.size())) {
        answer = reply::error("ERR wrong number of arguments for '" + std::string{c->name} +
                              "' command");
    } else if (!s.authenticated && c->name != "hello" && c->name != "auth") {
        answer = reply::error("NOAUTH Authentication required.");
    } else if (const auto role = refused_by_role(s, *c)) {
        answer = reply::error(*role);
    } else if (const std::string* no =
                   fleet_.is_sentinel(s.at) ? nullptr : refused(*c, false, false)) {
        answer = reply::error(*no);
    } else if (const auto elsewhere = sent_on(s, *c, a)) {
        answer = reply::error(*elsewhere);
    } else if (subscriptions_refused_ && subscribes(*c) && !fleet_.is_sentinel(s.at)) {
        feel(subscriptions_refused_by_);
        answer = reply::error("NOPERM this user has no permissions to run the '" +
                              std::string{c->name} + "' command");
    } else if (batch_is_refused(*c, a)) {
        answer = reply::error(key_refused);
    } else {
        begin_command();
        answer = c->run(*this, s, a);
    }
    s.asking = c && c->name == "asking" && !answer.is_error();
    if (answer.is_error() && witness_) {
        witness_->refused(s.id, a);
    }
    // A push was written by the command itself.
    if (answer.what != reply::kind::push) {
        answer.write(s.output, s.resp3);
    }
}

const std::string* fake_redis::refused(const command& c, bool in_script, bool wrote) noexcept {
    static const std::string no_replicas{"NOREPLICAS Not enough good replicas to write."};
    if (refuses_writes_ == now_at_ && (c.flags & command::writes) != 0 && !wrote) {
        return &no_replicas;
    }
    if (!refusal_) {
        return nullptr;
    }
    const std::string& words = *refusal_;
    const bool hit = words.starts_with("LOADING")
                         ? !in_script && (c.flags & command::while_loading) == 0
                     : words.ends_with(channels_refused)
                         ? subscribes(c) || c.name == "publish" || c.name == "spublish"
                     : words.starts_with("NOPERM")   ? c.name == "evalsha" || c.name == "eval"
                     : words.starts_with("READONLY") ? (c.flags & command::writes) != 0
                                                     : (c.flags & command::grows) != 0 && !wrote;
    feel(hit ? refused_by_ : nullptr);
    return hit ? &words : nullptr;
}

bool fake_redis::batch_is_refused(const command& c, arguments a) noexcept {
    const bool hit =
        batches_refused_ && (c.name == "evalsha" || c.name == "eval") && locks_of(a) > 1;
    feel(hit ? batches_refused_by_ : nullptr);
    return hit;
}

void fake_redis::ready(session& s) {
    if (!std::exchange(s.listed, true)) {
        ready_.push_back(s.id);
    }
}

std::vector<fake_redis::connection> fake_redis::take_ready() {
    for (const connection c : ready_) {
        const auto it = sessions_.find(c);
        if (it != sessions_.end()) {
            it->second.listed = false;
        }
    }
    return std::exchange(ready_, {});
}

std::string fake_redis::take_output(connection c) {
    const auto it = sessions_.find(c);
    return it == sessions_.end() ? std::string{} : std::exchange(it->second.output, {});
}

bool fake_redis::closed(connection c) const {
    const auto it = sessions_.find(c);
    return it == sessions_.end() || it->second.closing;
}

void fake_redis::close(session& s) {
    s.closing = true;
    s.channels.clear();
    s.shard_channels.clear();
    ready(s);
}

bool fake_redis::any_script() const noexcept {
    return std::any_of(scripts_.begin(), scripts_.end(), [](const auto& s) { return !s.empty(); });
}

void fake_redis::begin_history(fleet::process p) {
    replication_ids_.resize(fleet_.processes());
    replication_ids_[p] = random_hex(random_);
}

const std::string& fake_redis::replication_id() const noexcept {
    return replication_ids_[fleet_.master_seen(now_at_, fleet_.shard_of(now_at_))];
}

bool fake_redis::any_expires(std::int64_t now_us) const {
    for (fleet::process p = 0; p < data_.count(); ++p) {
        if (data_.of(p).any_expires(now_us / 1000)) {
            return true;
        }
    }
    return false;
}

void fake_redis::begin_command() noexcept {
    for (fleet::process p = 0; p < data_.count(); ++p) {
        data_.of(p).begin_command();
    }
}

void fake_redis::restart(bool keep_data, fleet::process at) {
    std::erase_if(sessions_, [&](const auto& s) { return s.second.at == at; });
    scripts_[at].clear();
    run_ids_[at] = random_hex(random_);
    begin_history(at);
    refusal_.reset();
    if (fleet_.processes() == 1) {
        ready_.clear();
        last_id_ = 0;
    }
    if (!keep_data) {
        data_.of(at).clear();
    }
}

bool fake_redis::persist(std::string_view key, std::int64_t now_us) {
    set_now(now_us);
    begin_command();
    const entry* e = home_of(key).find(key);
    if (!e || e->expires_ms < 0) {
        return false;
    }
    home_of(key).find_to_write(key)->expires_ms = -1;
    return true;
}

void fake_redis::expire(std::string_view key, std::int64_t in_ms, std::int64_t now_us) {
    set_now(now_us);
    begin_command();
    if (entry* e = home_of(key).find_to_write(key)) {
        e->expires_ms = now_us / 1000 + in_ms;
    }
}

}  // namespace conch::sim
