// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_SRC_CLI_TOP_VIEW_HPP
#define CONCH_SRC_CLI_TOP_VIEW_HPP

#include "cli/key_reader.hpp"
#include "cli/lock_table.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace conch::cli {

/// Of a terminal, in characters.
struct screen_size {
    std::size_t columns = 80;
    std::size_t lines = 24;

    friend bool operator==(const screen_size&, const screen_size&) = default;
};

enum class line_style : std::uint8_t { plain, title, chosen, alarm };

struct screen_line {
    std::string text{};
    line_style style = line_style::plain;

    friend bool operator==(const screen_line&, const screen_line&) = default;
};

/// What `conch top` shows, and what its keys do: nothing here knows a terminal or a server. Times
/// are handed in.
class top_view {
public:
    /// `title`: which server, which locks.
    top_view(std::string title, column by) : title_{std::move(title)}, by_{by} {}

    /// A survey that began then has ended so. `notes`: what it can't tell, and why. Nothing is done
    /// if the picture is paused.
    void show(std::vector<lock_entry> locks, std::vector<std::string> notes, time_point began);
    /// One lock, in lines as `conch who` has them. Nothing is done if another one is looked at.
    void show_one(const std::string& name, const std::string& text, time_point began);
    /// The last question failed. Goes with the next one that does not.
    void show_trouble(std::string words) { trouble_ = std::move(words); }

    void press(const key& k);

    bool ended() const noexcept { return ended_; }
    bool paused() const noexcept { return paused_; }
    /// A survey is to be shown. A paused picture wants none, but a first one.
    bool wants_list() const noexcept { return !one_ && (!paused_ || !since_); }
    /// The same of the lock that is looked at.
    bool wants_one() const noexcept { return one_ && (!paused_ || !one_since_); }
    /// The lock that is looked at.
    const std::optional<std::string>& one() const noexcept { return one_; }

    /// No more lines than the screen has, none wider than it.
    std::vector<screen_line> lines(screen_size size, time_point now);

private:
    enum class face : std::uint8_t { list, typing, help };

    void press_in_list(const key& k);
    void press_in_one(const key& k);
    void type(const key& k);
    void sort(column by);
    void filter();
    void move(std::ptrdiff_t by);
    void move_to(std::size_t at);
    void add_list(std::size_t room, std::size_t width, std::vector<screen_line>& out);
    void add_one(std::size_t room, std::size_t width, std::vector<screen_line>& out);
    std::string state_text(time_point now) const;
    std::string foot(std::size_t width) const;

    const std::string title_;
    column by_;
    face face_ = face::list;
    bool paused_ = false;
    bool ended_ = false;
    std::string filter_{};
    std::string trouble_{};
    std::vector<std::string> notes_{};

    std::vector<lock_entry> locks_{};  ///< all, sorted
    std::vector<lock_entry> shown_{};  ///< those that pass the filter
    std::optional<time_point> since_{};
    std::string chosen_name_{};  ///< the mark stays with the lock, wherever it moves
    std::size_t chosen_at_ = 0;  ///< and where the lock is gone, at its place
    std::size_t top_ = 0;        ///< the first that is seen
    std::size_t page_ = 1;       ///< as many are seen

    std::vector<std::string> table_{};  ///< of `shown_`, with titles; empty: to be made
    std::size_t table_width_ = 0;

    std::optional<std::string> one_{};
    std::string one_text_{};
    std::optional<time_point> one_since_{};
    std::size_t one_top_ = 0;
};

}  // namespace conch::cli

#endif
