// SPDX-License-Identifier: BSL-1.0
#include "sim/redis/keyspace.hpp"

#include <algorithm>

namespace conch::sim {
namespace {

void describe(std::string& out, const std::string& s) { out.append(" ").append(s); }
void describe(std::string& out, const hash_value& h) {
    auto sorted = h;
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [field, value] : sorted) {
        out.append(" ").append(field).append("=").append(value);
    }
}
void describe(std::string& out, const list_value& l) {
    for (const std::string& s : l) {
        out.append(" ").append(s);
    }
}
void describe(std::string& out, const zset_value& z) {
    for (const auto& [score, member] : z) {
        out.append(" ").append(member).append("@").append(std::to_string(score));
    }
}

}  // namespace

std::string_view type_name(const any_value& v) noexcept {
    constexpr std::string_view names[] = {"string", "hash", "list", "zset"};
    return names[v.index()];
}

entry* keyspace::find(std::string_view key) {
    const auto it = map_.find(key);
    if (it == map_.end()) {
        return nullptr;
    }
    if (it->second.expires_ms >= 0 && now_ms_ > it->second.expires_ms) {
        map_.erase(it);
        return nullptr;
    }
    return &it->second;
}

entry* keyspace::find_to_write(std::string_view key) {
    entry* e = find(key);
    remember(key, e);
    return e;
}

void keyspace::remember(std::string_view key, const entry* before) {
    if (fresh_) {
        fresh_ = false;
        log_.emplace_back();
        if (log_.size() > remembered) {
            log_.pop_front();
        }
    }
    log_.back().emplace_back(key, before ? std::optional{*before} : std::nullopt);
}

void keyspace::set(std::string_view key, any_value v, std::int64_t expires_ms) {
    remember(key, find(key));
    map_[std::string{key}] = {std::move(v), expires_ms};
}

bool keyspace::erase(std::string_view key) {
    const entry* e = find(key);
    if (!e) {
        return false;
    }
    remember(key, e);
    map_.erase(std::string{key});
    return true;
}

void keyspace::erase_if_empty(std::string_view key) {
    const entry* e = find(key);
    if (!e || e->value.index() == 0) {
        return;
    }
    const bool empty = std::visit([](const auto& v) { return v.empty(); }, e->value);
    if (empty) {
        map_.erase(std::string{key});
    }
}

void keyspace::clear() {
    map_.clear();
    log_.clear();
    fresh_ = true;
}

std::vector<std::string> keyspace::keys() {
    std::vector<std::string> all;
    for (const auto& [key, e] : map_) {
        all.push_back(key);
    }
    std::erase_if(all, [&](const std::string& key) { return !find(key); });
    std::sort(all.begin(), all.end());
    return all;
}

bool keyspace::any_expires(std::int64_t now_ms) const {
    return std::any_of(map_.begin(), map_.end(),
                       [&](const auto& key) { return key.second.expires_ms >= now_ms; });
}

std::size_t keyspace::size() { return keys().size(); }

std::set<std::string> keyspace::undo(std::size_t k) {
    std::set<std::string> written;
    for (; k > 0 && !log_.empty(); --k) {
        const std::vector<change> last = std::move(log_.back());
        log_.pop_back();
        for (auto it = last.rbegin(); it != last.rend(); ++it) {
            written.insert(it->first);
            if (it->second) {
                map_[it->first] = *it->second;
            } else {
                map_.erase(it->first);
            }
        }
    }
    fresh_ = true;
    return written;
}

std::string keyspace::dump() {
    std::string out;
    for (const std::string& key : keys()) {
        const entry& e = *find(key);
        out.append(key).append(" ").append(type_name(e.value));
        std::visit([&](const auto& v) { describe(out, v); }, e.value);
        out.append(e.expires_ms < 0 ? " -1" : " " + std::to_string(e.expires_ms - now_ms_));
        out.append("\n");
    }
    return out;
}

}  // namespace conch::sim
