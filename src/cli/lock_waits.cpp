// SPDX-License-Identifier: BSL-1.0
#include "cli/lock_waits.hpp"

#include "cli/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <unordered_map>

namespace conch::cli {
namespace {

/// Of locks, as protocol/wait_record.cpp names them: both lists are to be alike.
constexpr std::array<std::string_view, 6> kinds{"mutex", "token", "read",
                                                "write", "fair",  "leader"};

std::string_view take_word(std::string_view& text) noexcept {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
}

std::optional<std::int64_t> take_number(std::string_view& text) noexcept {
    const std::string_view word = take_word(text);
    std::int64_t n = 0;
    const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), n);
    const bool whole = wrong == std::errc{} && end == word.data() + word.size() && n >= 0;
    return whole ? std::optional{n} : std::nullopt;
}

}  // namespace

std::string key_of_waits(std::string_view name, std::string_view field) {
    constexpr std::string_view writer = ":write";
    if (field.ends_with(writer)) {
        field.remove_suffix(writer.size());
    }
    return derived_key("conch_wait", name).append(":").append(field);
}

// "1 EPOCH REFRESH CLIENT", and for each wait " KIND NUMBER BEGAN_MS SIZE NAME".
std::vector<holder_wait> waits_in(std::string_view value, std::int64_t now_us) {
    if (take_word(value) != "1" || !take_number(value) || !take_number(value)) {
        return {};
    }
    take_word(value);
    std::vector<holder_wait> out;
    while (!value.empty()) {
        const std::string_view kind = take_word(value);
        const auto number = take_number(value);
        const auto began_ms = take_number(value);
        const auto size = take_number(value);
        const bool is_known = std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
        if (!is_known || !number || !began_ms || size.value_or(0) == 0 ||
            static_cast<std::size_t>(*size) > value.size()) {
            return {};
        }
        const auto length = static_cast<std::size_t>(*size);
        const std::int64_t so_long = std::max<std::int64_t>(now_us / 1000 - *began_ms, 0);
        out.push_back({.name = std::string{value.substr(0, length)},
                       .so_long = std::chrono::milliseconds{so_long},
                       .reads = kind == "read"});
        value.remove_prefix(length);
        if (!value.empty() && !take_word(value).empty()) {
            return {};
        }
    }
    return out;
}

void note_longest_waits(std::vector<lock_entry>& all) {
    std::unordered_map<std::string_view, std::optional<duration>*> longest;
    for (lock_entry& e : all) {
        longest.emplace(e.name, &e.longest_wait);
    }
    for (const lock_entry& e : all) {
        for (const lock_holder& h : e.holders) {
            for (const holder_wait& w : h.waits) {
                if (const auto wanted = longest.find(w.name); wanted != longest.end()) {
                    std::optional<duration>& so_long = *wanted->second;
                    so_long = std::max(so_long.value_or(w.so_long), w.so_long);
                }
            }
        }
    }
}

wait_paths::wait_paths(const lock_entry& from) : from_{from.name} { add(from.holders, none); }

void wait_paths::add(const std::vector<lock_holder>& holders, std::size_t before) {
    const std::size_t depth = before == none ? 0 : places_[before].depth + 1;
    for (std::size_t by = 0; by < holders.size(); ++by) {
        for (const holder_wait& w : holders[by].waits) {
            if (places_.size() < most) {
                places_.push_back({{.wait = w, .by = by}, before, depth});
            }
        }
    }
}

bool wait_paths::is_on_way(const std::string& name, std::size_t at) const {
    for (; at != none; at = places_[at].before) {
        if (places_[at].step.wait.name == name) {
            return true;
        }
    }
    return false;
}

wait_step* wait_paths::next() {
    if (at_ != none && places_[at_].step.is == wait_step::state::held) {
        const std::vector<lock_holder> holders = places_[at_].step.holders;
        add(holders, at_);
    }
    while (++at_ < places_.size()) {
        place& p = places_[at_];
        const std::string& name = p.step.wait.name;
        if (name == from_ || is_on_way(name, p.before)) {
            p.step.is = wait_step::state::closes_cycle;
            cycle_ = cycle_ == none ? at_ : cycle_;
            if (name == from_) {
                cycle_ = at_;
                return nullptr;
            }
            continue;
        }
        return &p.step;
    }
    return nullptr;
}

std::vector<wait_step> wait_paths::longest() const {
    std::size_t end = cycle_;
    for (std::size_t i = 0; cycle_ == none && i < places_.size(); ++i) {
        end = end == none || places_[i].depth > places_[end].depth ? i : end;
    }
    std::vector<wait_step> out;
    for (; end != none; end = places_[end].before) {
        out.push_back(places_[end].step);
    }
    std::reverse(out.begin(), out.end());
    return out;
}

std::string waits_text(const lock_entry& e) {
    const auto who = std::find_if(e.holders.begin(), e.holders.end(),
                                  [](const lock_holder& h) { return !h.waits.empty(); });
    if (who == e.holders.end()) {
        return "";
    }
    std::string text = printable(who->waits.front().name);
    if (who->waits.size() > 1) {
        text += " +" + std::to_string(who->waits.size() - 1);
    }
    return text;
}

}  // namespace conch::cli
