// SPDX-License-Identifier: BSL-1.0
// One lock, with all that is known.
#include "cli/lock_table.hpp"
#include "cli/shell_text.hpp"
#include "cli/text.hpp"

#include <boost/json/array.hpp>

#include <chrono>
#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>

namespace conch::cli {
namespace {

/// For `conch release --force` and its kin; null: nothing is released by force.
const char* option_of(entry_kind kind) noexcept {
    switch (kind) {
        case entry_kind::mutex: return "";
        case entry_kind::fair: return "--fair ";
        case entry_kind::reading:
        case entry_kind::writing: return "--rw ";
        case entry_kind::semaphore: return "--semaphore ";
        case entry_kind::plain: return "--plain ";
        case entry_kind::counter:
        case entry_kind::rate_limit: break;
    }
    return nullptr;
}

/// "  holder    ...": a line.
std::string line(std::string_view title, std::string_view text) {
    std::string out{"  "};
    out.append(title).resize(14, ' ');
    return out.append(text) + '\n';
}

std::string place_text(const lock_holder& h, bool clients_known) {
    if (!h.place) {
        return clients_known
                   ? "no connected conch client: one of Redisson, say, or one that is gone"
                   : "unknown: the server does not tell this user its clients";
    }
    const client_place& p = *h.place;
    std::string text = "process " + std::to_string(p.pid) + " on " + printable(p.host);
    if (!p.service.empty()) {
        text += ", service " + printable(p.service);
    }
    if (p.address.find('/') == p.address.npos) {  // else a unix socket
        text += ", from " + printable(p.address);
    }
    return text;
}

std::string time_text(duration d) {
    return d < std::chrono::milliseconds{1} ? "less than 1ms" : compact_time(d);
}

/// Of whole seconds, as a server counts them.
std::string seconds_text(std::chrono::seconds s) {
    return s < std::chrono::seconds{1} ? "less than 1s" : compact_time(s);
}

std::string connection_text(const client_place& p) {
    return printable(p.connection) + ", connected for " + seconds_text(p.age) + ", idle for " +
           seconds_text(p.idle);
}

std::string holders_text(const lock_entry& e, bool clients_known) {
    std::string out;
    for (const lock_holder& h : e.holders) {
        out += line("holder", printable(h.field));
        out += line("", place_text(h, clients_known));
        if (h.place) {
            out += line("connection", connection_text(*h.place));
        }
    }
    if (e.held_by > e.holders.size() && !e.holders.empty()) {
        out += line("", "and " + std::to_string(e.held_by - e.holders.size()) + " more");
    }
    return out;
}

std::string ending_text(const lock_entry& e) {
    if (e.hides_end) {
        return "end unknown: the server refused to tell";
    }
    return e.ttl ? "ends in " + time_text(*e.ttl) + " unless renewed" : "never ends (no expiry)";
}

std::string waiting_text(const lock_entry& e) {
    if (!e.waiting) {
        return "unknown: the server refused to tell";
    }
    if (*e.waiting == 0) {
        return e.kind == entry_kind::plain ? "none of conch; others may poll" : "none";
    }
    return e.kind == entry_kind::fair ? std::to_string(*e.waiting) + " in line"
                                      : counted(*e.waiting, "client");
}

std::string forced_release_text(const lock_entry& e, const std::string& url) {
    const char* const option = option_of(e.kind);
    if (!option) {
        return "";
    }
    if (printable(e.name) != e.name) {
        return line("by force", "no command: its name has bytes that a terminal does not show");
    }
    const char* const behind_options = e.name.starts_with('-') ? "-- " : "";
    const std::string command =
        '"' + release_command(url) + ' ' + option + behind_options + shell_word(e.name) + '"';
    const std::string what = e.kind == entry_kind::semaphore
                                 ? "takes these permits from their holders"
                             : e.kind == entry_kind::reading ? "takes it from all readers"
                                                             : "takes it from this holder";
    return line("by force", command + ' ' + what + ", who may be at work:") +
           line("", e.fence != 0 ? "the next holder gets a greater fence"
                                 : "it has no fence, so nothing else stops that work") +
           line("", "a conch client hears of it when it next renews, within a third of its lease");
}

/// `next`: what the holder of this lock waits for; null: it is the end of the chain.
std::string step_text(const wait_step& step, const wait_step* next, bool clients_known) {
    using state = wait_step::state;
    std::string text = printable(step.wait.name) + " for " + time_text(step.wait.so_long);
    switch (step.is) {
        case state::closes_cycle: return text + ": this is a cycle";
        case state::free: return text + ", which nobody holds now";
        case state::unknown: return text + "; the server tells nothing of it";
        case state::behind_writer: return text + ", to read it: a writer waits before";
        case state::held: break;
    }
    const lock_holder& h = step.holders.at(next ? next->by : 0);
    text += ", held by " + (h.place ? place_text(h, clients_known) : holder_text(h));
    return text + (next ? ", which waits for" : h.waits.empty() ? "" : ", which waits, too");
}

std::string chain_text(const lock_entry& e, bool clients_known) {
    std::string out;
    for (std::size_t i = 0; i < e.chain.size(); ++i) {
        const bool is_last = i + 1 == e.chain.size();
        const std::string_view title = e.held_by > 1 ? "one wants" : "waits for";
        out += line(i == 0 ? title : "",
                    step_text(e.chain[i], is_last ? nullptr : &e.chain[i + 1], clients_known));
    }
    return out;
}

boost::json::object json_of(const holder_wait& w) {
    boost::json::object o;
    o["name"] = valid_utf8(w.name);
    o["waited_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(w.so_long).count();
    return o;
}

boost::json::object json_of(const lock_holder& h) {
    boost::json::object o;
    o["holder"] = valid_utf8(h.field);
    for (const char* const key :
         {"host", "pid", "service", "connection", "address", "connected_s", "idle_s"}) {
        o[key] = nullptr;
    }
    if (h.place) {
        o["host"] = valid_utf8(h.place->host);
        o["pid"] = h.place->pid;
        o["connection"] = valid_utf8(h.place->connection);
        o["address"] = valid_utf8(h.place->address);
        o["connected_s"] = h.place->age.count();
        o["idle_s"] = h.place->idle.count();
        if (!h.place->service.empty()) {
            o["service"] = valid_utf8(h.place->service);
        }
    }
    boost::json::array waits;
    for (const holder_wait& w : h.waits) {
        waits.push_back(json_of(w));
    }
    o["wants"] = std::move(waits);
    return o;
}

boost::json::array json_of(const std::vector<lock_holder>& all) {
    boost::json::array out;
    for (const lock_holder& h : all) {
        out.push_back(json_of(h));
    }
    return out;
}

boost::json::value millis(const std::optional<duration>& d) {
    boost::json::value v;
    if (d) {
        v = std::chrono::duration_cast<std::chrono::milliseconds>(*d).count();
    }
    return v;
}

}  // namespace

std::string whole_text(const lock_entry& e, bool clients_known, const std::string& url) {
    std::string out = printable(e.name) + ": " + headline_of(e.kind, e.held_by, e.permits) + '\n';
    if (!option_of(e.kind)) {
        return e.kind == entry_kind::counter ? out + line("waiting", waiting_text(e)) : out;
    }
    out += holders_text(e, clients_known);
    const bool is_mutex = e.kind == entry_kind::mutex || e.kind == entry_kind::fair;
    if (e.held) {
        out += line("held", "for " + time_text(*e.held) + ", by its fence");
    } else if (e.fence == 0 && (is_mutex || e.kind == entry_kind::plain)) {
        out += line("held", "- (no fence tells it; \"conch run\" takes one with --fenced)");
    }
    if (is_mutex) {
        out += line("depth", std::to_string(e.depth));
    }
    out += line(e.kind == entry_kind::semaphore ? "next" : "lease", ending_text(e));
    if (e.fence != 0) {
        out += line("fence", std::to_string(e.fence));
    }
    out += line("waiting", waiting_text(e));
    for (std::size_t i = 0; i < e.line.size(); ++i) {
        const lock_holder& h = e.line[i];
        out += line("", std::to_string(i + 1) + ". " + printable(h.field));
        out += line("", "   " + place_text(h, clients_known));
        if (h.place) {
            out += line("", "   " + connection_text(*h.place));
        }
    }
    out += chain_text(e, clients_known);
    return out + forced_release_text(e, url);
}

boost::json::object json_of(const lock_entry& e) {
    boost::json::object o;
    o["name"] = valid_utf8(e.name);
    o["kind"] = std::string{text_of(e.kind)};
    o["locked"] = option_of(e.kind) != nullptr;
    o["holders"] = json_of(e.holders);
    o["held_by"] = e.held_by;
    o["depth"] = e.depth;
    o["ttl_ms"] = millis(e.ttl);
    o["held_ms"] = millis(e.held);
    o["fence"] = e.fence;
    o["waiting"] = nullptr;
    if (e.waiting) {
        o["waiting"] = *e.waiting;
    }
    if (e.permits) {
        o["permits"] = *e.permits;
    }
    if (!e.line.empty()) {
        o["line"] = json_of(e.line);
    }
    if (!e.chain.empty()) {
        boost::json::array chain;
        for (const wait_step& step : e.chain) {
            boost::json::object one = json_of(step.wait);
            one["holders"] = json_of(step.holders);
            chain.push_back(std::move(one));
        }
        o["chain"] = std::move(chain);
    }
    return o;
}

}  // namespace conch::cli
