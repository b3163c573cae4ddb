// SPDX-License-Identifier: BSL-1.0
#include "cli/command_error.hpp"

#include "cli/server_url.hpp"
#include "cli/text.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace conch::cli {
namespace {

bool is_conch(const error_code& ec) noexcept { return ec.category() == conch_category(); }

/// The same behind words that tell who answered so: "sentinel host:1: it refused to answer: ERR".
bool has_answer(std::string_view words) noexcept {
    while (!is_answer(words)) {
        const std::size_t colon = words.find(": ");
        if (colon == words.npos) {
            return false;
        }
        words.remove_prefix(colon + 2);
    }
    return true;
}

std::string without_connection(std::string_view server_words) {
    if (has_answer(server_words)) {
        return "";  // Redis is running there
    }
    const auto is = [&](int error) {
        return server_words == std::generic_category().message(error);
    };
    if (is(EMFILE) || is(ENFILE)) {
        return "; this process needs more of them (ulimit -n)";
    }
    if (is(EAGAIN)) {
        return "; to look up a host takes one thread more (ulimit -u)";
    }
    if (is(ENOMEM) || is(ENOBUFS) || is(EADDRNOTAVAIL)) {
        return "";  // this machine has no memory, or no port, for one connection more
    }
    return "; is Redis running there? Name another server with --redis URL or $CONCH_REDIS";
}

/// How user and password are given to a server that has this label.
std::string with_credentials(std::string_view server_label) {
    const std::size_t end = server_label.find("://");
    const std::string scheme{server_label.substr(0, end == server_label.npos ? 0 : end)};
    return scheme + "://user:password@" + (scheme == "unix" ? "/path" : "host");
}

std::string advice(errc e, std::string_view server_words, std::string_view server_label) {
    switch (e) {
        case errc::not_connected: return without_connection(server_words);
        case errc::authentication_failed:
            if (server_words.starts_with("sentinel ")) {
                return "; give those of the sentinels in the URL, "
                       "?sentinel_user=...&sentinel_password=...";
            }
            return "; give them in the URL, " + with_credentials(server_label);
        case errc::read_only: return "; name the master instead of the replica";
        case errc::unknown_master: return "; what do the sentinels monitor?";
        case errc::wrong_type:
            return "; is it a read-write lock (--rw), a plain one (--plain), a semaphore "
                   "(--semaphore), a rate limit, or no lock at all?";
        case errc::protocol_error: return "; does a Redis server listen there?";
        case errc::tls_failed: return "; see rediss:// in conch(1) for its options";
        case errc::timed_out:
        case errc::deadlock:
        case errc::not_owner:
        case errc::already_released:
        case errc::lease_expired:
        case errc::renewal_refused:
        case errc::lock_lost:
        case errc::lost_in_failover:
        case errc::max_hold_reached:
        case errc::no_progress:
        case errc::client_closed:
        case errc::outcome_unknown:
        case errc::rate_limited:
        case errc::overloaded:
        case errc::invalid_wait:
        case errc::invalid_lease:
        case errc::invalid_max_hold:
        case errc::invalid_stop_before:
        case errc::invalid_permits:
        case errc::invalid_owner:
        case errc::invalid_planned_time:
        case errc::not_noted:
        case errc::invalid_progress_within:
        case errc::server_error:
        case errc::server_too_old:
        case errc::permission_denied:
        case errc::out_of_memory:
        case errc::server_unavailable:
        case errc::not_replicated:
        case errc::forked:
        case errc::not_a_writer:
        case errc::nested_hold: break;
    }
    return "";
}

}  // namespace

command_error os_failure(const std::string& what, int error) {
    return {exit_code::os_error, what + ": " + std::generic_category().message(error)};
}

// Its errors begin with a word in capitals: "ERR ...", "LOADING ...".
bool is_answer(std::string_view server_words) noexcept {
    const std::string_view first = server_words.substr(0, server_words.find(' '));
    return first.size() > 1 &&
           std::all_of(first.begin(), first.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::string explain(error_code ec, std::string_view server_words, std::string_view server_label) {
    const bool refused = ec == errc::not_connected && is_answer(server_words);
    std::string text = "Redis at " + std::string{server_label} + ": " +
                       (refused ? "the server refuses" : ec.message());
    if (!server_words.empty()) {
        text += " (" + printable(server_words) + ')';
    }
    if (is_conch(ec)) {
        text += advice(static_cast<errc>(ec.value()), server_words, server_label);
    }
    return text;
}

int exit_status_for(error_code ec) noexcept {
    if (!is_conch(ec)) {
        return exit_code::unavailable;
    }
    switch (static_cast<errc>(ec.value())) {
        case errc::rate_limited:
        case errc::deadlock:
        case errc::timed_out: return exit_code::failure;
        case errc::lease_expired:
        case errc::renewal_refused:
        case errc::lock_lost:
        case errc::lost_in_failover:
        case errc::max_hold_reached:
        case errc::no_progress: return exit_code::lock_lost;
        case errc::invalid_wait:
        case errc::invalid_lease:
        case errc::invalid_max_hold:
        case errc::invalid_stop_before:
        case errc::invalid_permits:
        case errc::invalid_owner:
        case errc::invalid_progress_within: return exit_code::usage;
        case errc::not_owner:
        case errc::already_released:
        case errc::client_closed:
        case errc::forked:
        case errc::not_a_writer:
        case errc::nested_hold:
        case errc::overloaded: return exit_code::software;
        case errc::not_connected:
        case errc::outcome_unknown:
        case errc::server_error:
        case errc::authentication_failed:
        case errc::server_too_old:
        case errc::permission_denied:
        case errc::read_only:
        case errc::out_of_memory:
        case errc::server_unavailable:
        case errc::wrong_type:
        case errc::protocol_error:
        case errc::unknown_master:
        case errc::tls_failed:
        case errc::invalid_planned_time:  // the server's clock was set back
        case errc::not_noted:
        case errc::not_replicated: return exit_code::unavailable;
    }
    return exit_code::software;
}

}  // namespace conch::cli
