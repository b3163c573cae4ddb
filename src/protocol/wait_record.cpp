// SPDX-License-Identifier: BSL-1.0
#include "protocol/wait_record.hpp"

#include "core/number.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace conch::protocol {
namespace {

constexpr std::string_view wait_prefix = "conch_wait:{";
constexpr std::string_view version = "1";
constexpr std::string_view nobody = "-";

/// How a record names a kind of lock. One that limits its holders has no name: nobody is known to
/// wait for any one of them.
constexpr std::array<std::pair<std::string_view, const lock_protocol*>, 6> kinds{{
    {"mutex", &mutex_protocol},
    {"token", &value_lock_protocol},
    {"read", &shared_read_protocol},
    {"write", &shared_write_protocol},
    {"fair", &fair_protocol},
    {"leader", &leader_protocol},
}};

std::string_view name_of(const lock_protocol& p) noexcept {
    const auto found = std::find_if(kinds.begin(), kinds.end(),
                                    [&](const auto& kind) { return kind.second == &p; });
    return found != kinds.end() ? found->first : std::string_view{};
}

/// What stands before the next blank; what follows is left.
std::string_view take_word(std::string_view& text) noexcept {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
}

template <typename Number>
std::optional<Number> take_number(std::string_view& text) noexcept {
    return core::number_in<Number>(take_word(text));
}

/// "KIND NUMBER BEGAN SIZE NAME"; the name may have blanks.
std::optional<told_wait> take_wait(std::string_view& text) {
    const std::string_view kind = take_word(text);
    const auto number = take_number<std::uint64_t>(text);
    const auto began = take_number<std::int64_t>(text);
    const auto size = take_number<std::size_t>(text);
    const auto p =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first == kind; });
    if (p == kinds.end() || !number || !began || !size || *size == 0 || *size > text.size()) {
        return std::nullopt;
    }
    told_wait w{.wanted = impl::lock_spec::make(*p->second, text.substr(0, *size), {}),
                .number = *number,
                .began_ms = *began};
    text.remove_prefix(*size);
    return w;
}

std::string key_of(const impl::lock_spec& held, const field& holder) {
    std::string key = wait_key(held, holder.text);
    return holder.number == 0 ? key : key.append(std::to_string(holder.number));
}

}  // namespace

std::string wait_key(const impl::lock_spec& held, std::string_view holder) {
    return held.derived(wait_prefix).text().append(":").append(holder);
}

std::string_view plain_field(std::string_view field) noexcept {
    if (field.ends_with(shared_write_protocol.field_suffix)) {
        field.remove_suffix(shared_write_protocol.field_suffix.size());
    }
    const std::size_t colon = field.rfind(':');
    const bool is_field =
        colon != field.npos && colon > 0 && core::number_in<std::uint64_t>(field.substr(colon + 1));
    return is_field ? field : std::string_view{};
}

std::string text_of(const wait_record& r) {
    std::string text{version};
    const auto add = [&](std::string_view word) { text.append(" ").append(word); };
    add(std::to_string(r.epoch));
    add(std::to_string(r.refresh));
    add(r.who.empty() ? nobody : r.who);
    for (const told_wait& w : r.waits) {
        const std::string_view name = w.wanted->name();
        std::string one{name_of(w.wanted->protocol())};
        one.append(" ").append(std::to_string(w.number));
        one.append(" ").append(std::to_string(w.began_ms));
        one.append(" ").append(std::to_string(name.size())).append(" ").append(name);
        if (text.size() + 1 + one.size() > longest_wait_record) {
            break;
        }
        add(one);
    }
    return text;
}

std::optional<wait_record> read_wait_record(std::string_view text) {
    wait_record r;
    const bool known = text.size() <= longest_wait_record && take_word(text) == version;
    const auto epoch = take_number<std::uint64_t>(text);
    const auto refresh = take_number<std::uint64_t>(text);
    r.who = take_word(text);
    if (!known || !epoch || !refresh) {
        return std::nullopt;
    }
    r.epoch = *epoch;
    r.refresh = *refresh;
    if (r.who == nobody) {
        r.who.clear();
    }
    while (!text.empty()) {
        std::optional<told_wait> w = take_wait(text);
        if (!w || (!text.empty() && take_word(text) != "")) {
            return std::nullopt;
        }
        r.waits.push_back(*std::move(w));
    }
    return r;
}

void encode_waits(const impl::lock_spec& held, const field& holder, const wait_record& r,
                  std::int64_t kept_ms, resp::writer& w) {
    w.command(5).arg("SET").arg(key_of(held, holder)).arg(text_of(r)).arg("PX").arg(kept_ms);
}

void encode_end_of_waits(const impl::lock_spec& held, const field& holder, resp::writer& w) {
    w.command(2).arg("DEL").arg(key_of(held, holder));
}

// Anybody may have written something there, however long.
void encode_look_at_waits(const impl::lock_spec& held, const field& holder, resp::writer& w) {
    w.command(4).arg("GETRANGE").arg(key_of(held, holder)).arg(0).arg(longest_wait_record);
}

std::optional<wait_record> read_waits(const resp::value& reply) {
    return read_wait_record(reply.text());
}

std::vector<std::string> read_fields_in_the_way(const impl::lock_spec& wanted,
                                                const resp::value& reply) {
    const auto status = wanted.protocol().read_status(reply);
    std::vector<std::string> fields;
    if (!status || !status->locked || (status->shared && is_shared(wanted))) {
        return fields;
    }
    for (std::string_view left = status->holder; !left.empty();) {
        const std::string_view field = plain_field(take_word(left));
        if (!field.empty()) {
            fields.emplace_back(field);
        }
    }
    return fields;
}

}  // namespace conch::protocol
