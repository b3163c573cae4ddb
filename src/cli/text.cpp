// SPDX-License-Identifier: BSL-1.0
#include "cli/text.hpp"

#include "cli/command_error.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <optional>

namespace conch::cli {
namespace {

std::string seconds_text(duration d) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", std::chrono::duration<double>{d}.count());
    return text;
}

std::string decimal(double value, int digits, const char* unit) {
    char text[48];
    std::snprintf(text, sizeof text, "%.*f %s", digits, value, unit);
    return text;
}

std::uint32_t parse_whole(std::string_view option, const std::string& text, std::uint32_t least,
                          std::uint32_t most) {
    std::uint32_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || value < least || value > most) {
        throw usage_error(std::string{option} + " must be a whole number from " +
                          std::to_string(least) + " to " + std::to_string(most) + ", not " +
                          in_quotes(text));
    }
    return value;
}

}  // namespace

std::string in_quotes(std::string_view bytes) {
    std::string out{'"'};
    out += printable(bytes);
    out += '"';
    return out;
}

std::string plain_reason(std::string_view what) {
    const std::size_t colon = what.find(": ");
    if (what.starts_with("conch::") && colon != what.npos) {
        what.remove_prefix(colon + 2);
    }
    return printable(what);
}

std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t i = text.size(); i > 3;) {
        i -= 3;
        text.insert(i, 1, ',');
    }
    return text;
}

std::string counted(std::uint64_t number, std::string_view thing, std::string_view plural) {
    return std::to_string(number).append(" ").append(thing).append(number == 1 ? "" : plural);
}

std::string short_time(duration d) {
    const double us = std::chrono::duration<double, std::micro>{d}.count();
    if (us < 1) {
        return "less than 1 us";
    }
    if (us < 1e3) {
        return decimal(us, 0, "us");
    }
    if (us < 1e6) {
        return decimal(us / 1e3, us < 1e4 ? 2 : 1, "ms");
    }
    return decimal(us / 1e6, 2, "s");
}

namespace {

using real_seconds = std::chrono::duration<double>;

/// "90", "500ms", "1.5h"; none: it is no time.
std::optional<real_seconds> time_in(const std::string& text) {
    using namespace std::chrono_literals;
    struct unit {
        std::string_view name;
        real_seconds length;
    };
    constexpr unit units[]{{"", 1s}, {"ms", 1ms}, {"s", 1s}, {"m", 1min}, {"h", 1h}, {"d", 24h}};
    const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    double value = 0;
    const char* const end = text.data() + digits;
    const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
    for (const unit& u : units) {
        if (u.name == text.substr(digits) && error == std::errc{} && stop == end) {
            return u.length * value;
        }
    }
    return std::nullopt;
}

}  // namespace

duration parse_seconds(std::string_view option, const std::string& text, duration least,
                       duration most) {
    const auto time = time_in(text);
    if (!time || *time < least || *time > most) {
        throw usage_error(std::string{option} + " must be a number of seconds from " +
                          seconds_text(least) + " to " + seconds_text(most) + ", not " +
                          in_quotes(text));
    }
    return std::chrono::duration_cast<duration>(*time);
}

duration parse_time(std::string_view option, const std::string& text) {
    constexpr real_seconds longest = std::chrono::hours{24} * 3660;
    const auto time = time_in(text);
    if (!time || *time > longest) {
        throw usage_error(std::string{option} +
                          " must be a time such as 90, 500ms, 5m, 2h or 1d, not " +
                          in_quotes(text));
    }
    return std::chrono::duration_cast<duration>(*time);
}

duration parse_time_of_day(std::string_view option, const std::string& text) {
    using namespace std::chrono_literals;
    constexpr duration units[]{1h, 1min, 1s};
    constexpr int most[]{23, 59, 59};
    duration sum{};
    const char* next = text.data();
    const char* const end = next + text.size();
    for (std::size_t i = 0; i < 3; ++i) {
        int value = -1;
        const auto [stop, error] = std::from_chars(next, std::min(next + 2, end), value);
        const bool is_whole = stop - next == 2 || (i == 0 && stop - next == 1);
        if (error != std::errc{} || !is_whole || value < 0 || value > most[i]) {
            break;
        }
        sum += value * units[i];
        if (stop == end && i > 0) {
            return sum;
        }
        if (stop == end || *stop != ':') {
            break;
        }
        next = stop + 1;
    }
    throw usage_error(std::string{option} +
                      " must be a time of day such as 2:00 or 14:30:15, not " + in_quotes(text));
}

std::uint32_t parse_count(std::string_view option, const std::string& text, std::uint32_t most) {
    return parse_whole(option, text, 1, most);
}

int parse_status(std::string_view option, const std::string& text) {
    return static_cast<int>(parse_whole(option, text, 0, 255));
}

}  // namespace conch::cli
