// SPDX-License-Identifier: BSL-1.0
#include "wire/server_error.hpp"

#include <array>

namespace conch::wire {
namespace {

struct word {
    std::string_view text;
    errc code;
    refusal kind;
};

constexpr std::array words_at_start{
    word{"NOSCRIPT", errc::server_error, refusal::no_script},
    word{"LOADING", errc::server_unavailable, refusal::passing},
    word{"BUSY ", errc::server_unavailable, refusal::passing},
    word{"MASTERDOWN", errc::server_unavailable, refusal::passing},
    word{"CLUSTERDOWN", errc::server_unavailable, refusal::passing},
    word{"TRYAGAIN", errc::server_unavailable, refusal::passing},
    word{"NOREPLICAS", errc::server_unavailable, refusal::passing},
    // The server saves its data again by itself, and serves as soon as that succeeds.
    word{"MISCONF", errc::server_unavailable, refusal::passing},
    word{"MOVED ", errc::server_unavailable, refusal::lasting},
    word{"ASK ", errc::server_unavailable, refusal::lasting},
    // To who is blocked in a command while a master becomes a replica.
    word{"UNBLOCKED", errc::server_unavailable, refusal::passing},
    word{"READONLY", errc::read_only, refusal::lasting},
    word{"OOM", errc::out_of_memory, refusal::lasting},
    word{"WRONGTYPE", errc::wrong_type, refusal::lasting},
    word{"DENIED ", errc::permission_denied, refusal::lasting},  // protected mode
    word{"NOPERM", errc::permission_denied, refusal::lasting},
    word{"NOAUTH", errc::authentication_failed, refusal::lasting},
    word{"WRONGPASS", errc::authentication_failed, refusal::lasting},
    word{"NOPROTO", errc::server_too_old, refusal::lasting},
};

// A script's error is wrapped in other words by some versions of the server.
constexpr std::array words_anywhere{
    word{"WRONGTYPE ", errc::wrong_type, refusal::lasting},
    word{"NOREPLICAS ", errc::server_unavailable, refusal::passing},
    word{"TOOFEW ", errc::invalid_permits, refusal::lasting},
    word{"TOOFAR ", errc::invalid_planned_time, refusal::lasting},
    word{"MISCONF ", errc::server_unavailable, refusal::passing},
    word{"OOM command", errc::out_of_memory, refusal::lasting},
    word{"READONLY ", errc::read_only, refusal::lasting},
    word{"WAIT cannot be used with replica", errc::read_only, refusal::lasting},
    word{"The user executing the script can't", errc::permission_denied, refusal::lasting},
    word{"ACL failure in script: ", errc::permission_denied, refusal::lasting},
    word{"NOPERM ", errc::permission_denied, refusal::lasting},
    // A key that it has deleted, while its hash slot moves.
    word{"attempted to access a non local key", errc::server_unavailable, refusal::passing},
    word{"max number of clients", errc::server_unavailable, refusal::passing},
    word{"invalid password", errc::authentication_failed, refusal::lasting},
    word{"unknown command 'HELLO'", errc::server_too_old, refusal::lasting},
    word{"unknown command `HELLO`", errc::server_too_old, refusal::lasting},
};

const word* find_word(std::string_view words) noexcept {
    for (const word& w : words_at_start) {
        if (words.starts_with(w.text)) {
            return &w;
        }
    }
    for (const word& w : words_anywhere) {
        if (words.find(w.text) != std::string_view::npos) {
            return &w;
        }
    }
    return nullptr;
}

}  // namespace

refusal classify(std::string_view words) noexcept {
    const word* w = find_word(words);
    return w ? w->kind : refusal::lasting;
}

bool is_divided(std::string_view words) noexcept {
    return words.starts_with("TRYAGAIN") || words.starts_with("ASK ");
}

// A proxy may have words of its own: "ERR eval/evalsha command keys must be in same slot".
bool crosses_hash_slots(std::string_view words) noexcept {
    return words.starts_with("CROSSSLOT") || words.find("keys must be in same slot") != words.npos;
}

std::string_view reason_of(std::string_view words) noexcept {
    const word* w = find_word(words);
    return w ? w->text.substr(0, w->text.find(' ')) : std::string_view{};
}

errc to_errc(std::string_view words) noexcept {
    const word* w = find_word(words);
    return w ? w->code : errc::server_error;
}

}  // namespace conch::wire
