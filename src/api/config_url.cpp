// SPDX-License-Identifier: BSL-1.0
#include "api/percent_encoding.hpp"

#include <conch/config.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace conch {
namespace {

std::string encoded(std::string_view text, std::string_view kept = "") {
    std::string out;
    for (const char c : text) {
        const bool stays = impl::is_unreserved(c) || kept.find(c) != kept.npos;
        out += stays ? std::string{c} : impl::percent_encoded(c);
    }
    return out;
}

std::string text_of(const server_address& a) {
    const bool ipv6 = a.host.find(':') != std::string::npos;
    return (ipv6 ? '[' + encoded(a.host, ":") + ']' : encoded(a.host)) + ':' +
           std::to_string(a.port);
}

std::string text_of(const std::vector<server_address>& addresses) {
    std::string all;
    for (const server_address& a : addresses) {
        all += (all.empty() ? "" : ",") + text_of(a);
    }
    return all;
}

}  // namespace

std::string config::url() const {
    const std::string number = std::to_string(database);
    const std::string behind = database != 0 ? '/' + number : "";
    const std::string redis = tls ? "rediss" : "redis";
    if (sentinel) {
        return redis + "+sentinel://" + text_of(sentinel->addresses) + '/' +
               encoded(sentinel->master) + behind;
    }
    if (cluster) {
        return redis + "+cluster://" + text_of(cluster->addresses);
    }
    if (!unix_path.empty()) {
        return "unix://" + encoded(unix_path, "/:@!$&'()*+,;=") +
               (database != 0 ? "?db=" + number : "");
    }
    return redis + "://" + text_of(server_address{host, port}) + behind;
}

}  // namespace conch
