// SPDX-License-Identifier: BSL-1.0
#include "cli/client_places.hpp"

#include <charconv>
#include <cstddef>
#include <optional>

namespace conch::cli {
namespace {

/// How much of a client's id its connections' names tell.
constexpr std::size_t id_size = 8;

std::string_view take_until(std::string_view& text, char separator) {
    const std::size_t end = text.find(separator);
    const std::string_view taken = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    return taken;
}

std::string_view take_back(std::string_view& text, char separator) {
    const std::size_t at = text.rfind(separator);
    const std::string_view taken = text.substr(at == text.npos ? 0 : at + 1);
    text = at == text.npos ? std::string_view{} : text.substr(0, at);
    return taken;
}

std::int64_t number_in(std::string_view text) {
    std::int64_t n = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), n);
    return wrong == std::errc{} && end == text.data() + text.size() && n > 0 ? n : 0;
}

bool is_id(std::string_view text) {
    return text.size() == id_size &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// What stands before host, process and id: "conch", "conch:billing", or another name.
std::string_view service_in(std::string_view given) {
    constexpr std::string_view usual = "conch";
    if (!given.starts_with(usual)) {
        return given;
    }
    const std::string_view rest = given.substr(usual.size());
    return rest.empty() ? rest : rest.front() == ':' ? rest.substr(1) : given;
}

struct named_place {
    std::string_view id{};
    client_place place{};
};

std::optional<named_place> place_in(std::string_view line) {
    named_place p;
    while (!line.empty()) {
        std::string_view value = take_until(line, ' ');
        const std::string_view key = take_until(value, '=');
        if (key == "name") {
            p.place.connection = value;
            p.id = take_back(value, ':');
            p.place.pid = number_in(take_back(value, ':'));
            p.place.host = take_back(value, ':');
            p.place.service = service_in(value);
        } else if (key == "addr") {
            p.place.address = value;
        } else if (key == "age") {
            p.place.age = std::chrono::seconds{number_in(value)};
        } else if (key == "idle") {
            p.place.idle = std::chrono::seconds{number_in(value)};
        }
    }
    const bool whole = is_id(p.id) && p.place.pid > 0 && !p.place.host.empty();
    return whole ? std::optional{p} : std::nullopt;
}

}  // namespace

void client_places::add(std::string_view client_list) {
    while (!client_list.empty()) {
        const std::optional<named_place> p = place_in(take_until(client_list, '\n'));
        if (!p) {
            continue;
        }
        const auto [known, is_new] = by_id_.try_emplace(std::string{p->id});
        known_place& k = known->second;
        if (is_new) {
            static_cast<client_place&>(k) = p->place;
        } else if (k.host != p->place.host || k.pid != p->place.pid) {
            k.several = true;
        } else if (k.age < p->place.age) {  // its first connection, to another server of a cluster
            k.age = p->place.age;
        }
    }
}

const client_place* client_places::of(std::string_view field) const {
    const auto known = by_id_.find(field.substr(0, id_size));
    return known == by_id_.end() || known->second.several ? nullptr : &known->second;
}

}  // namespace conch::cli
