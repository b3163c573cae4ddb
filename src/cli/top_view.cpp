// SPDX-License-Identifier: BSL-1.0
#include "cli/top_view.hpp"

#include "cli/text.hpp"
#include "cli/text_width.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>

namespace conch::cli {
namespace {

constexpr std::size_t longest_filter = 200;

constexpr std::array<std::string_view, 17> help_text{
    "q, Ctrl-C  quit",
    "Ctrl-Z     stop; fg continues",
    "w          sort by waiting: the most waited for first",
    "t          sort by time held: the longest first",
    "n          sort by name",
    "/          filter: names, holders and services with these characters",
    "           Enter keeps the filter, Esc takes it away",
    "p, Space   pause, and go on",
    "Up, k      the lock above; Down, j: below",
    "PgUp PgDn  a page up, down",
    "Home, g    the first; End, G: the last",
    "Enter      look at this lock; Enter or Esc: back",
    "?          this help; any key: back",
    "",
    "HELD       known by a fence of conch only",
    "WAITING    clients that listen, or places in line of a fair lock",
    "+2         behind a holder: two more hold it",
};

/// As many as fit of what may be done, what matters most first.
template <std::size_t N>
std::string as_fits(const std::array<std::string_view, N>& all, std::size_t width) {
    std::string out;
    for (const std::string_view text : all) {
        if (!out.empty() && out.size() + 2 + text.size() > width) {
            break;
        }
        out.append(out.empty() ? "" : "  ").append(text);
    }
    return out;
}

bool mentions(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

bool passes(const lock_entry& e, const std::string& filter) {
    const auto is_of = [&](const lock_holder& h) {
        return mentions(holder_text(h), filter) || (h.place && mentions(h.place->service, filter));
    };
    return mentions(printable(e.name), filter) ||
           std::any_of(e.holders.begin(), e.holders.end(), is_of);
}

std::vector<std::string> lines_in(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);) {
        out.push_back(line);
    }
    return out;
}

std::string age_text(const std::optional<time_point>& since, time_point now) {
    if (!since) {
        return "waiting for the first list";
    }
    const duration age = now - *since;
    return (age < std::chrono::seconds{1} ? "0s" : compact_time(age)) + " old";
}

}  // namespace

void top_view::show(std::vector<lock_entry> locks, std::vector<std::string> notes,
                    time_point began) {
    if (paused_ && since_) {
        return;
    }
    locks_ = std::move(locks);
    notes_ = std::move(notes);
    trouble_.clear();
    since_ = began;
    sort(by_);
}

void top_view::show_one(const std::string& name, const std::string& text, time_point began) {
    if (one_ == name && !(paused_ && one_since_)) {
        one_text_ = text;
        one_since_ = began;
        trouble_.clear();
    }
}

void top_view::sort(column by) {
    by_ = by;
    sort_by(by_, locks_);
    filter();
}

void top_view::filter() {
    shown_.clear();
    std::copy_if(locks_.begin(), locks_.end(), std::back_inserter(shown_),
                 [&](const lock_entry& e) { return filter_.empty() || passes(e, filter_); });
    table_.clear();
    const auto same = std::find_if(shown_.begin(), shown_.end(),
                                   [&](const lock_entry& e) { return e.name == chosen_name_; });
    const bool there = same != shown_.end();
    move_to(there ? static_cast<std::size_t>(same - shown_.begin()) : chosen_at_);
}

void top_view::move_to(std::size_t at) {
    chosen_at_ = std::min(at, shown_.empty() ? 0 : shown_.size() - 1);
    if (!shown_.empty()) {
        chosen_name_ = shown_[chosen_at_].name;
    }
}

void top_view::move(std::ptrdiff_t by) {
    const std::ptrdiff_t to = static_cast<std::ptrdiff_t>(chosen_at_) + by;
    move_to(static_cast<std::size_t>(std::max<std::ptrdiff_t>(to, 0)));
}

void top_view::press(const key& k) {
    if (face_ == face::help) {
        face_ = face::list;
        ended_ = k.text == "q";
    } else if (face_ == face::typing) {
        type(k);
    } else if (k.text == "q") {
        ended_ = true;
    } else if (k.text == "p" || k.text == " ") {
        paused_ = !paused_;
    } else if (k.text == "?") {
        face_ = face::help;
    } else if (one_) {
        press_in_one(k);
    } else {
        press_in_list(k);
    }
}

void top_view::type(const key& k) {
    if (k.kind == key_kind::character && filter_.size() < longest_filter) {
        filter_ += k.text;
    } else if (k.kind == key_kind::erase) {
        erase_last(filter_);
    } else if (k.kind == key_kind::escape) {
        filter_.clear();
    }
    if (k.kind == key_kind::enter || k.kind == key_kind::escape) {
        face_ = face::list;
    }
    filter();
}

void top_view::press_in_list(const key& k) {
    const auto page = static_cast<std::ptrdiff_t>(page_);
    if (k.text == "w" || k.text == "t" || k.text == "n") {
        sort(k.text == "w" ? column::waiting : k.text == "t" ? column::held : column::name);
        move_to(0);
    } else if (k.text == "/") {
        face_ = face::typing;
    } else if (k.kind == key_kind::escape) {
        filter_.clear();
        filter();
    } else if (k.kind == key_kind::up || k.text == "k") {
        move(-1);
    } else if (k.kind == key_kind::down || k.text == "j") {
        move(1);
    } else if (k.kind == key_kind::page_up || k.kind == key_kind::page_down) {
        move(k.kind == key_kind::page_up ? -page : page);
    } else if (k.kind == key_kind::first || k.text == "g") {
        move_to(0);
    } else if (k.kind == key_kind::last || k.text == "G") {
        move_to(shown_.size());
    } else if (k.kind == key_kind::enter && !shown_.empty()) {
        one_ = chosen_name_;
        one_text_.clear();
        one_since_.reset();
        one_top_ = 0;
    }
}

void top_view::press_in_one(const key& k) {
    if (k.kind == key_kind::enter || k.kind == key_kind::escape) {
        one_.reset();
    } else if (k.kind == key_kind::up || k.text == "k") {
        one_top_ -= one_top_ > 0 ? 1 : 0;
    } else if (k.kind == key_kind::down || k.text == "j") {
        ++one_top_;  // the lines that there are limit it
    } else if (k.kind == key_kind::page_up) {
        one_top_ -= std::min(one_top_, page_);
    } else if (k.kind == key_kind::page_down) {
        one_top_ += page_;
    }
}

std::string top_view::state_text(time_point now) const {
    if (one_) {
        return age_text(one_since_, now) + (paused_ ? ", PAUSED" : "");
    }
    std::string text = age_text(since_, now) + (paused_ ? ", PAUSED" : "");
    if (since_) {
        text = grouped(locks_.size()) + (locks_.size() == 1 ? " lock, " : " locks, ") +
               grouped(shown_.size()) + " shown, by " + std::string{text_of(by_)} + ", " + text;
    }
    if (!filter_.empty()) {
        text += ", filter " + in_quotes(filter_);
    }
    return text;
}

std::string top_view::foot(std::size_t width) const {
    if (face_ == face::typing) {
        // The end is what is being typed.
        std::string text = filter_;
        while (width_of(text) + 2 > width && !text.empty()) {
            std::size_t n = 1;
            while (n < text.size() && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80) {
                ++n;
            }
            text.erase(0, n);
        }
        return '/' + text + '_';
    }
    if (face_ == face::help) {
        return "any key: back";
    }
    if (one_) {
        return as_fits(
            std::array<std::string_view, 4>{"Enter back", "q quit", "p pause", "Up/Down scroll"},
            width);
    }
    return as_fits(std::array<std::string_view, 7>{"q quit", "? help", "w/t/n sort", "/ filter",
                                                   "p pause", "Enter look", "Up/Down choose"},
                   width);
}

std::vector<screen_line> top_view::lines(screen_size size, time_point now) {
    std::vector<screen_line> out;
    const std::size_t width = std::max<std::size_t>(size.columns, 1);
    const auto add = [&](const std::string& text, line_style style) {
        out.push_back({cut(text, width), style});
    };
    // On a low screen the locks come first.
    if (size.lines > 7) {
        add(title_, line_style::plain);
    }
    if (size.lines > 3) {
        add(state_text(now), line_style::plain);
    }
    if (!trouble_.empty()) {
        const std::vector<std::string> said = wrap(trouble_, width, 2);
        for (std::size_t i = 0; i < said.size() && i < (size.lines > 12 ? 3 : 1); ++i) {
            add(said[i], line_style::alarm);
        }
    } else if (!one_ && size.lines > 7) {
        for (const std::string& note : notes_) {
            add("note: " + note, line_style::plain);
        }
    }
    out.resize(std::min(out.size(), std::max<std::size_t>(size.lines, 1)));
    const std::size_t used = out.size() + (size.lines > 2 ? 1 : 0);
    const std::size_t room = size.lines > used ? size.lines - used : 0;
    if (face_ == face::help) {
        for (std::size_t i = 0; i < help_text.size() && i < room; ++i) {
            add(std::string{help_text[i]}, line_style::plain);
        }
    } else if (one_) {
        add_one(room, width, out);
    } else {
        add_list(room, width, out);
    }
    if (size.lines > 2) {
        out.resize(std::max(out.size(), size.lines - 1));
        out.resize(size.lines - 1);
        add(foot(width), line_style::title);
    }
    return out;
}

void top_view::add_list(std::size_t room, std::size_t width, std::vector<screen_line>& out) {
    if (shown_.empty() || room == 0) {
        if (since_ && room > 0) {
            out.push_back(
                {cut(locks_.empty() ? "nobody holds a lock" : "no lock passes the filter", width),
                 line_style::plain});
        }
        return;
    }
    if (table_.empty() || table_width_ != width) {
        table_ = lines_in(table_of(shown_, width));
        table_width_ = width;
    }
    const bool titled = room > 1;
    if (titled) {
        out.push_back({cut(table_.front(), width), line_style::title});
    }
    page_ = room - (titled ? 1 : 0);
    top_ = std::min(top_, shown_.size() - std::min(page_, shown_.size()));
    top_ = chosen_at_ < top_ ? chosen_at_ : std::max(top_ + page_, chosen_at_ + 1) - page_;
    for (std::size_t i = top_; i < shown_.size() && i < top_ + page_; ++i) {
        std::string text = cut(table_[i + 1], width);
        const bool chosen = i == chosen_at_;
        text.append(chosen ? width - width_of(text) : 0, ' ');
        out.push_back({std::move(text), chosen ? line_style::chosen : line_style::plain});
    }
}

void top_view::add_one(std::size_t room, std::size_t width, std::vector<screen_line>& out) {
    constexpr std::size_t indent = 14;
    std::vector<std::string> all;
    const std::string asked = printable(*one_) + ": ...";
    for (const std::string& line : lines_in(one_text_.empty() ? asked : one_text_)) {
        for (std::string& part : wrap(line, width, all.empty() ? 2 : indent)) {
            all.push_back(std::move(part));
        }
    }
    page_ = std::max<std::size_t>(room, 1);
    one_top_ = std::min(one_top_, all.size() - std::min(room, all.size()));
    for (std::size_t i = one_top_; i < all.size() && i < one_top_ + room; ++i) {
        out.push_back({cut(all[i], width), line_style::plain});
    }
}

}  // namespace conch::cli
