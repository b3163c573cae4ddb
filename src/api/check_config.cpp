// SPDX-License-Identifier: BSL-1.0
#include "api/check_config.hpp"

#include "core/host_name.hpp"
#include "core/time.hpp"
#include "driver/tls.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace conch::impl {
namespace {

using core::is_host_text;
using core::is_plain;

void need(bool good, std::string_view what) {
    if (!good) {
        throw std::invalid_argument{"conch::config: " + std::string{what}};
    }
}

bool positive(duration d) noexcept { return d > duration::zero(); }

void check_addresses(const std::vector<server_address>& all, const std::string& name) {
    need(!all.empty(), name + " is empty");
    need(all.size() <= 1000, name + " has more than 1,000");
    for (const server_address& a : all) {
        need(!a.host.empty() && is_host_text(a.host),
             "a host of " + name +
                 " is empty, begins with a dot, or has spaces or special characters");
        need(a.host.size() <= core::longest_host,
             "a host of " + name + " is longer than 255 bytes");
        need(a.port != 0, "a port of " + name + " is 0");
    }
}

bool is_scan_interval(duration d) noexcept {
    return d >= std::chrono::milliseconds{10} && d <= std::chrono::hours{1};
}

void check_sentinel(const config& c) {
    if (!c.sentinel) {
        return;
    }
    const sentinel_options& s = *c.sentinel;
    need(c.unix_path.empty(), "sentinel and unix_path exclude each other");
    need(!s.master.empty() && is_plain(s.master),
         "sentinel.master is empty, or has spaces or special characters");
    check_addresses(s.addresses, "sentinel.addresses");
    need(s.username.empty() || !s.password.empty(), "sentinel.username without a password");
    need(!s.credentials || (s.username.empty() && s.password.empty()),
         "sentinel.credentials, and username or password: only one of them");
    need(is_scan_interval(s.scan_interval),
         "sentinel.scan_interval must be from 10 ms to one hour");
}

void check_cluster(const config& c) {
    if (!c.cluster) {
        return;
    }
    const cluster_options& o = *c.cluster;
    need(c.unix_path.empty(), "cluster and unix_path exclude each other");
    need(!c.sentinel, "cluster and sentinel exclude each other");
    need(c.database == 0, "a cluster has no database but 0");
    check_addresses(o.addresses, "cluster.addresses");
    need(is_scan_interval(o.scan_interval), "cluster.scan_interval must be from 10 ms to one hour");
}

void check_credentials(const config& c) {
    need(c.username.empty() || !c.password.empty(), "username without a password");
    need(!c.credentials || (c.username.empty() && c.password.empty()),
         "credentials, and username or password: only one of them");
}

void check_tls(const config& c) {
    if (!c.tls) {
        return;
    }
    const tls_options& t = *c.tls;
    need(has_tls(), "tls is set, but this library is built without it (CONCH_TLS=OFF)");
    need(c.unix_path.empty(), "tls and unix_path: only one of them");
    need(t.certificate_file.empty() == t.private_key_file.empty(),
         "tls.certificate_file and tls.private_key_file: only one of them is set");
    for (const std::string* path :
         {&t.ca_file, &t.ca_path, &t.certificate_file, &t.private_key_file}) {
        need(path->find('\0') == std::string::npos, "tls: a path contains a zero byte");
    }
    need(is_host_text(t.server_name),
         "tls.server_name may have no spaces or special characters, nor begin with a dot");
    need(t.server_name.size() <= core::longest_host, "tls.server_name is longer than 255 bytes");
}

void check_service(const config& c) {
    need(is_plain(c.service) && c.service.find(':') == std::string::npos,
         "service may have no spaces, special characters or colons");
    need(c.service.size() <= 64, "service is longer than 64 bytes");
    need(c.service.empty() || !c.client_name.empty(), "service without a client_name");
}

}  // namespace

void check_config(const config& c) {
    const bool by_host = c.unix_path.empty() && !c.sentinel && !c.cluster;
    need(!by_host || !c.host.empty(), "host is empty");
    need(!by_host || c.host.size() <= core::longest_host, "host is longer than 255 bytes");
    need(!by_host || c.port != 0, "port is 0");
    check_sentinel(c);
    check_cluster(c);
    need(c.unix_path.size() <= 107, "unix_path is longer than 107 bytes");
    need(c.unix_path.find('\0') == std::string::npos, "unix_path contains a zero byte");
    need(is_host_text(c.host),
         "host may have no spaces or special characters, nor begin with a dot");
    need(c.database <= 1'000'000, "database is above 1,000,000");
    check_credentials(c);
    check_tls(c);
    need(is_plain(c.client_name), "client_name may have no spaces or special characters");
    check_service(c);
    need(positive(c.connect_timeout), "connect_timeout must be positive");
    need(positive(c.response_timeout), "response_timeout must be positive");
    need(positive(c.ping_interval), "ping_interval must be positive");
    need(positive(c.reconnect_delay_min), "reconnect_delay_min must be positive");
    need(c.reconnect_delay_max >= c.reconnect_delay_min,
         "reconnect_delay_max must not be less than reconnect_delay_min");
    need(c.reconnect_delay_max <= std::chrono::hours{24},
         "reconnect_delay_max must not be above a day");
    need(positive(c.operation_timeout), "operation_timeout must be positive");
    need(!c.retry_attempts || *c.retry_attempts > 0, "retry_attempts must be at least 1");
    need(core::lease_is_good(c.default_lease, c.default_renew),
         "default_lease must be from 10 ms (with default_renew: 100 ms) to one year");
    need(positive(c.max_poll_interval), "max_poll_interval must be positive");
    need(c.max_passes > 0, "max_passes must be at least 1");
    need(positive(c.max_pass_time), "max_pass_time must be positive");
    need(c.max_pending > 0, "max_pending must be at least 1");
}

}  // namespace conch::impl
