// SPDX-License-Identifier: BSL-1.0
#include "soak/report.hpp"

#include <boost/json.hpp>

#include <cstdio>

namespace conch::soak {
namespace {

std::int64_t in_ms(duration d) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

template <typename... Values>
std::string line(const char* format, Values... values) {
    char text[200];
    std::snprintf(text, sizeof text, format, values...);
    return text;
}

std::string number(const char* label, std::uint64_t n) {
    return line("%-56s %10llu\n", label, static_cast<unsigned long long>(n));
}

}  // namespace

bool report::passed() const {
    bool survived = !faults.empty();
    for (const auto& [name, r] : faults) {
        survived = survived && r.survived == r.injected;
    }
    return survived && heard.resource.sound() && heard.unfenced.broken == 0 &&
           heard.findings.empty() && heard.acquisitions > 0;
}

std::string report::table() const {
    std::string out = line("seed %llu, %u processes of %u workers, %.1f s\n\n",
                           static_cast<unsigned long long>(seed), processes, coroutines, seconds);
    out += line("%-36s %8s %8s %13s  %s\n", "fault", "injected", "survived", "recovery, ms",
                "declared");
    row all;
    for (const auto& [name, r] : faults) {
        out += line("%-36s %8llu %8llu %13lld  %s\n", name.c_str(),
                    static_cast<unsigned long long>(r.injected),
                    static_cast<unsigned long long>(r.survived),
                    static_cast<long long>(r.longest_recovery.count()),
                    r.loses_data ? "loses data" : "");
        all.injected += r.injected;
        all.survived += r.survived;
        all.longest_recovery = std::max(all.longest_recovery, r.longest_recovery);
    }
    out +=
        line("%-36s %8llu %8llu %13lld\n\n", "all", static_cast<unsigned long long>(all.injected),
             static_cast<unsigned long long>(all.survived),
             static_cast<long long>(all.longest_recovery.count()));
    const test::resource_report& r = heard.resource;
    out += number("overlaps: two held it at one time", r.overlaps);
    out += number("overlaps declared, by a server that lost its data", r.declared_overlaps);
    const unfenced_report& u = heard.unfenced;
    out += number("unfenced: updates written", u.written);
    out += number("unfenced: updates lost", u.lost_updates());
    out += number("unfenced: writes over another, both holds valid", u.broken);
    out += number("unfenced: declared, a process stopped before its write", u.late);
    out += number("unfenced: declared, by a server that lost its data", u.data_lost);
    out += number("fenced: updates written", r.written);
    out += number("fenced: updates lost", r.lost_updates());
    out += number("fenced: stale fences accepted", r.stale_accepted);
    out += number("fenced: stale fences refused", r.refused);
    out += number("fences used twice, or going backwards", r.fences_reused + r.fences_backwards);
    out += number("acquisitions", heard.acquisitions);
    out += number("longest wait of a worker, ms",
                  static_cast<std::uint64_t>(in_ms(heard.longest_wait)));
    for (const auto& [what, n] : heard.counts) {
        out += number(what.c_str(), n);
    }
    for (const std::string& finding : heard.findings) {
        out += "FOUND  " + finding + '\n';
    }
    return out + (passed() ? "passed\n" : "FAILED\n");
}

std::string report::json() const {
    boost::json::object table;
    for (const auto& [name, r] : faults) {
        table[name] = {{"injected", r.injected},
                       {"survived", r.survived},
                       {"longest_recovery_ms", r.longest_recovery.count()},
                       {"loses_data", r.loses_data}};
    }
    boost::json::object counts;
    for (const auto& [what, n] : heard.counts) {
        counts[what] = n;
    }
    const test::resource_report& r = heard.resource;
    const unfenced_report& u = heard.unfenced;
    const boost::json::object unfenced{{"written", u.written},
                                       {"lost_updates", u.lost_updates()},
                                       {"broken", u.broken},
                                       {"declared_late", u.late},
                                       {"declared_data_lost", u.data_lost}};
    const boost::json::object all{
        {"passed", passed()},
        {"overlaps", r.overlaps},
        {"declared_overlaps", r.declared_overlaps},
        {"unfenced", unfenced},
        {"seed", seed},
        {"seconds", seconds},
        {"processes", processes},
        {"coroutines", coroutines},
        {"faults", table},
        {"acquisitions", heard.acquisitions},
        {"written", r.written},
        {"lost_updates", r.lost_updates()},
        {"stale_accepted", r.stale_accepted},
        {"stale_refused", r.refused},
        {"fences_reused", r.fences_reused},
        {"fences_backwards", r.fences_backwards},
        {"longest_wait_ms", in_ms(heard.longest_wait)},
        {"counts", counts},
        {"findings", boost::json::value_from(heard.findings)},
    };
    return boost::json::serialize(all) + '\n';
}

}  // namespace conch::soak
