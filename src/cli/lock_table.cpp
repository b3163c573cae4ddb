// SPDX-License-Identifier: BSL-1.0
#include "cli/lock_table.hpp"

#include "cli/lock_waits.hpp"
#include "cli/text.hpp"
#include "cli/text_width.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

namespace conch::cli {
namespace {

using cells = std::array<std::string, columns>;
using widths = std::array<std::size_t, columns>;

constexpr std::array<std::string_view, columns> titles{
    "name", "kind", "holder", "service", "held", "lease", "depth", "waiting", "fence", "wants"};
constexpr std::string_view unknown = "-";
constexpr std::string_view gap = "  ";

std::string known(std::string text) { return text.empty() ? std::string{unknown} : text; }

std::string holders_text(const lock_entry& e) {
    if (e.holders.empty()) {
        return "";
    }
    std::string text = holder_text(e.holders.front());
    if (e.held_by > 1) {
        text += " +" + std::to_string(e.held_by - 1);
    }
    return text;
}

std::string waiting_cell(const lock_entry& e) {
    std::string text = known(e.waiting ? std::to_string(*e.waiting) : "");
    return e.longest_wait ? text + " (" + compact_time(*e.longest_wait) + ')' : text;
}

cells cells_of(const lock_entry& e) {
    const bool placed = !e.holders.empty() && e.holders.front().place;
    return {printable(e.name),
            std::string{text_of(e.kind)},
            known(holders_text(e)),
            known(placed ? printable(e.holders.front().place->service) : ""),
            known(e.held ? compact_time(*e.held) : ""),
            e.ttl ? compact_time(*e.ttl) : std::string{e.hides_end ? unknown : "none"},
            std::to_string(e.depth),
            waiting_cell(e),
            known(e.fence != 0 ? std::to_string(e.fence) : ""),
            known(waits_text(e))};
}

std::string title_of(std::size_t c) {
    std::string text{titles[c]};
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char l) { return static_cast<char>(l - 'a' + 'A'); });
    return text;
}

std::size_t width_of_line(const widths& all) {
    std::size_t sum = 0;
    for (const std::size_t w : all) {
        sum += w == 0 ? 0 : w + gap.size();
    }
    return sum - gap.size();
}

constexpr std::size_t at(column c) noexcept { return static_cast<std::size_t>(c); }

/// Where that is too much for the terminal, less is shown.
void fit(const std::vector<cells>& lines, std::size_t width, widths& all) {
    for (std::size_t c = 0; c < columns && width_of_line(all) > width; ++c) {
        const bool says_nothing = std::all_of(lines.begin(), lines.end(), [&](const cells& line) {
            return line[c] == unknown || (c == at(column::depth) && line[c] == "1");
        });
        all[c] = says_nothing ? 0 : all[c];
    }
    const auto shorten = [&](column c, std::size_t least) {
        const std::size_t now = width_of_line(all);
        std::size_t& w = all[at(c)];
        w = now > width ? std::max(std::min(w, least), w - std::min(w, now - width)) : w;
    };
    const auto leave_out = [&](column c) {
        all[at(c)] = width_of_line(all) > width ? 0 : all[at(c)];
    };
    shorten(column::name, 24);
    leave_out(column::fence);
    shorten(column::name, 16);
    leave_out(column::depth);
    shorten(column::service, 8);
    shorten(column::wants, 16);
    shorten(column::holder, 16);
    leave_out(column::service);
    leave_out(column::kind);
    shorten(column::holder, 10);
    shorten(column::name, 10);
    shorten(column::wants, 10);
    leave_out(column::lease);
}

bool is_number(std::size_t c) noexcept { return c >= at(column::held) && c != at(column::wants); }

void append_line(const cells& line, const widths& all, std::string& out) {
    std::string text;
    for (std::size_t c = 0; c < columns; ++c) {
        if (all[c] == 0) {
            continue;
        }
        const std::string cell = cut(line[c], all[c]);
        const std::string blanks(all[c] - width_of(cell), ' ');
        text += (is_number(c) ? blanks + cell : cell + blanks).append(gap);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
}

template <typename T>
std::int64_t most_first(const std::optional<T>& value) {
    return value ? -static_cast<std::int64_t>(*value) : std::numeric_limits<std::int64_t>::max();
}

std::string word_of(column c, const lock_entry& e) {
    const bool placed = !e.holders.empty() && e.holders.front().place;
    switch (c) {
        case column::kind: return std::string{text_of(e.kind)};
        case column::holder: return holders_text(e);
        case column::service: return placed ? e.holders.front().place->service : "";
        case column::wants: return waits_text(e);
        case column::name:
        case column::held:
        case column::lease:
        case column::depth:
        case column::waiting:
        case column::fence: break;
    }
    return e.name;
}

/// What comes first is least.
std::int64_t rank_of(column c, const lock_entry& e) {
    switch (c) {
        case column::held:
            return most_first(e.held ? std::optional{e.held->count()} : std::nullopt);
        case column::lease:
            return e.ttl ? e.ttl->count() : std::numeric_limits<std::int64_t>::max();
        case column::depth: return -static_cast<std::int64_t>(e.depth);
        case column::waiting: return most_first(e.waiting);
        case column::fence: return most_first(std::optional{e.fence});
        case column::name:
        case column::kind:
        case column::holder:
        case column::service:
        case column::wants: break;
    }
    return 0;
}

}  // namespace

std::string compact_time(duration d) {
    const std::int64_t s = d / std::chrono::seconds{1};
    char text[48];
    const auto two = [&](std::int64_t of, const char* format) {
        std::snprintf(text, sizeof text, format, static_cast<long>(s / of),
                      static_cast<long>(s % of * 60 / of));
    };
    if (d < std::chrono::milliseconds{1}) {
        return "<1ms";
    }
    if (s < 1) {
        std::snprintf(text, sizeof text, "%ldms",
                      static_cast<long>(d / std::chrono::milliseconds{1}));
    } else if (s < 60) {
        std::snprintf(text, sizeof text, "%lds", static_cast<long>(s));
    } else if (s < 3600) {
        two(60, "%ldm%02lds");
    } else if (s < 86400) {
        two(3600, "%ldh%02ldm");
    } else {
        std::snprintf(text, sizeof text, "%ldd%02ldh", static_cast<long>(s / 86400),
                      static_cast<long>(s % 86400 / 3600));
    }
    return text;
}

std::string holder_text(const lock_holder& h) {
    if (h.place) {
        return printable(h.place->host) + ':' + std::to_string(h.place->pid);
    }
    constexpr std::size_t id_size = 36;
    constexpr std::size_t enough = 8;
    const std::size_t rest = is_lock_field(h.field) ? id_size : h.field.size();
    return h.field.size() <= enough
               ? printable(h.field)
               : printable(h.field.substr(0, enough)) + ".." + h.field.substr(rest);
}

std::string_view text_of(column c) noexcept { return titles[at(c)]; }

void sort_by(column c, std::vector<lock_entry>& locks) {
    std::sort(locks.begin(), locks.end(), [&](const lock_entry& a, const lock_entry& b) {
        if (is_number(at(c))) {
            const std::int64_t left = rank_of(c, a);
            const std::int64_t right = rank_of(c, b);
            return left != right ? left < right : a.name < b.name;
        }
        const std::string left = word_of(c, a);
        const std::string right = word_of(c, b);
        if (left.empty() != right.empty()) {
            return right.empty();
        }
        return left != right ? left < right : a.name < b.name;
    });
}

std::string table_of(const std::vector<lock_entry>& locks, std::size_t width) {
    std::vector<cells> lines;
    std::transform(locks.begin(), locks.end(), std::back_inserter(lines), &cells_of);
    cells head;
    widths all{};
    for (std::size_t c = 0; c < columns; ++c) {
        head[c] = title_of(c);
        all[c] = head[c].size();
        for (const cells& line : lines) {
            all[c] = std::max(all[c], width_of(line[c]));
        }
    }
    const auto waits = [](const cells& line) { return line[at(column::wants)] != unknown; };
    if (std::none_of(lines.begin(), lines.end(), waits)) {
        all[at(column::wants)] = 0;
    }
    if (width != 0) {
        fit(lines, width, all);
    }
    std::string out;
    append_line(head, all, out);
    for (const cells& line : lines) {
        append_line(line, all, out);
    }
    return out;
}

}  // namespace conch::cli
