// SPDX-License-Identifier: BSL-1.0
#include "cli/lock_text.hpp"

#include "cli/text.hpp"

#include <boost/json/array.hpp>

#include <chrono>
#include <utility>

namespace conch::cli {

boost::json::object json_of(std::string_view name, const lock_status& status) {
    boost::json::object o;
    o["name"] = valid_utf8(name);
    o["locked"] = status.locked;
    o["holder"] = valid_utf8(status.holder);
    o["depth"] = status.depth;
    o["ttl_ms"] = nullptr;
    if (status.ttl) {
        o["ttl_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(*status.ttl).count();
    }
    o["fence"] = status.fence;
    if (status.permits) {
        o["permits"] = *status.permits;
    }
    return o;
}

void add_clients(boost::json::object& o, const lock_status& status) {
    boost::json::array holders;
    for (std::string_view left = status.holder; !left.empty();) {
        const std::size_t end = status.shared || status.permits ? left.find(' ') : left.npos;
        boost::json::object holder;
        holder["holder"] = valid_utf8(left.substr(0, end));
        holders.push_back(std::move(holder));
        left.remove_prefix(end == left.npos ? left.size() : end + 1);
    }
    o["holders"] = std::move(holders);
    for (const char* const key : {"host", "pid", "address", "waiting"}) {
        o[key] = nullptr;
    }
    if (!status.holder_host.empty()) {
        o["host"] = valid_utf8(status.holder_host);
        o["pid"] = status.holder_pid;
        o["address"] = valid_utf8(status.holder_address);
    }
    if (status.waiting_clients) {
        o["waiting"] = *status.waiting_clients;
    }
}

std::string_view pattern_note(std::string_view name) {
    return name.find_first_of("*?") != name.npos ? " (a pattern is not looked up)" : "";
}

std::string freedom_of(std::string_view name) {
    const std::string_view note = pattern_note(name);
    return note.empty() ? "free" : std::string{"no lock has this very name"}.append(note);
}

std::string permits_of(const lock_status& status) {
    return std::to_string(status.depth) + " of " + std::to_string(*status.permits) + " permits";
}

std::string ending_of(const lock_status& status) {
    return status.ttl ? "ends in " + short_time(*status.ttl) + " unless renewed"
                      : "never ends (no expiry)";
}

}  // namespace conch::cli
