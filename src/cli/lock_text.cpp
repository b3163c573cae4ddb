// SPDX-License-Identifier: BSL-1.0
#include "cli/lock_text.hpp"

#include "cli/lock_entry.hpp"
#include "cli/text.hpp"

#include <boost/json/array.hpp>

#include <chrono>
#include <utility>

namespace conch::cli {
namespace {

entry_kind entry_kind_of(lock_kind kind, const lock_status& s) {
    switch (kind) {
        case lock_kind::plain: return entry_kind::plain;
        case lock_kind::fair:
        case lock_kind::leader: return entry_kind::fair;
        case lock_kind::semaphore: return entry_kind::semaphore;
        case lock_kind::reader:
        case lock_kind::writer: return s.shared ? entry_kind::reading : entry_kind::writing;
        case lock_kind::usual: break;
    }
    return entry_kind::mutex;
}

std::string_view kind_text(lock_kind kind, const lock_status& s) {
    return text_of(entry_kind_of(kind, s));
}

boost::json::array all_holders(const lock_status& status) {
    boost::json::array holders;
    for (const std::string_view one : each_holder(status)) {
        boost::json::object holder;
        holder["holder"] = valid_utf8(one);
        holders.push_back(std::move(holder));
    }
    return holders;
}

}  // namespace

boost::json::object json_of(std::string_view name, lock_kind kind, const lock_status& status) {
    boost::json::object o;
    o["name"] = valid_utf8(name);
    o["kind"] = std::string{kind_text(kind, status)};
    o["locked"] = status.locked;
    o["holder"] = valid_utf8(status.holder);
    o["holders"] = all_holders(status);
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

std::string headline_of(std::string_view name, lock_kind kind, const lock_status& status) {
    return status.locked || status.permits
               ? headline_of(entry_kind_of(kind, status), status.depth, status.permits)
               : freedom_of(name);
}

std::vector<std::string_view> each_holder(const lock_status& status) {
    std::vector<std::string_view> all;
    for (std::string_view left = status.holder; !left.empty();) {
        const std::size_t end = status.shared || status.permits ? left.find(' ') : left.npos;
        all.push_back(left.substr(0, end));
        left.remove_prefix(end == left.npos ? left.size() : end + 1);
    }
    return all;
}

std::string permits_of(const lock_status& status) {
    return permits_out(status.depth, status.permits);
}

std::string holders_of(const lock_status& status) {
    constexpr std::size_t enough = 5 * 33;
    const bool more = status.permits && status.holder.size() > enough;
    return printable(status.holder.substr(0, more ? enough : status.holder.size())) +
           (more ? "..." : "");
}

std::string ending_of(const lock_status& status) {
    if (!status.ttl) {
        return "never ends (no expiry)";
    }
    const bool is_over = *status.ttl < std::chrono::milliseconds{1};  // the server tells whole ones
    return "ends in " + (is_over ? "less than 1 ms" : short_time(*status.ttl)) + " unless renewed";
}

std::string state_of(std::string_view name, lock_kind kind, const lock_status& status) {
    if (!status.locked && !status.permits) {
        return freedom_of(name);
    }
    std::string text{kind_text(kind, status)};
    text += status.permits ? ", " + permits_of(status) : ", held by";
    if (status.locked) {
        text.append(status.permits ? ": " : " ").append(holders_of(status));
        text.append(status.permits ? ", the next " : ", ").append(ending_of(status));
    }
    return text;
}

}  // namespace conch::cli
