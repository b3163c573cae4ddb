// SPDX-License-Identifier: BSL-1.0
// Any text is a URL or is refused in words that don't repeat it; what a URL says can be written
// down as a URL again.
#include "api/check_config.hpp"
#include "fuzz/fuzz_check.hpp"

#include <conch/config.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using conch::config;

std::string encoded(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '/') {
            out += c;
        } else {
            out += '%';
            out += digits[byte / 16];
            out += digits[byte % 16];
        }
    }
    return out;
}

std::string encoded_part(std::string_view text) {
    std::string out;
    for (const char c : encoded(text)) {
        out += c == '/' ? std::string{"%2F"} : std::string{c};
    }
    return out;
}

/// What sentinels, and TLS, are told.
std::string queries(const config& c) {
    std::string out;
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) {
            out += (out.empty() ? '?' : '&') + std::string{name} + '=' + encoded_part(value);
        }
    };
    if (const auto& s = c.sentinel) {
        add("sentinel_user", s->username);
        add("sentinel_password", s->password);
    }
    if (const auto& t = c.tls) {
        add("insecure", t->verify ? "false" : "true");
        add("cacert", t->ca_file);
        add("cacertdir", t->ca_path);
        add("cert", t->certificate_file);
        add("key", t->private_key_file);
        add("sni", t->server_name);
    }
    return out;
}

std::string hosts(const std::vector<conch::server_address>& all) {
    std::string out;
    for (const conch::server_address& a : all) {
        out += (out.empty() ? "" : ",") + encoded_part(a.host) + ':' + std::to_string(a.port);
    }
    return out;
}

std::string scheme_of(const config& c) {
    const std::string start = c.tls ? "rediss" : c.unix_path.empty() ? "redis" : "unix";
    return start + (c.sentinel ? "+sentinel" : c.cluster ? "+cluster" : "") + "://";
}

std::string to_url(const config& c) {
    std::string out = scheme_of(c);
    if (!c.password.empty()) {
        out += encoded_part(c.username) + ':' + encoded_part(c.password) + '@';
    }
    const std::string database = std::to_string(c.database);
    if (c.cluster) {
        return out + hosts(c.cluster->addresses) + queries(c);
    }
    if (const auto& s = c.sentinel) {
        return out + hosts(s->addresses) + '/' + encoded_part(s->master) + '/' + database +
               queries(c);
    }
    if (c.unix_path.empty()) {
        return out + encoded_part(c.host) + ':' + std::to_string(c.port) + '/' + database +
               queries(c);
    }
    return out + encoded(c.unix_path) + "?db=" + database;
}

std::optional<config> read_url(const std::string& url) {
    try {
        return config::from_url(url);
    } catch (const std::invalid_argument& e) {
        const std::string_view words = e.what();
        FUZZ_CHECK(words.starts_with("conch::config::from_url: "));
        FUZZ_CHECK(words.size() < 450);
        return std::nullopt;
    }
}

bool same(const config& a, const config& b) {
    return a.host == b.host && a.port == b.port && a.unix_path == b.unix_path &&
           a.username == b.username && a.password == b.password && a.database == b.database &&
           a.tls == b.tls && a.sentinel.has_value() == b.sentinel.has_value() &&
           (!a.sentinel || (a.sentinel->addresses == b.sentinel->addresses &&
                            a.sentinel->master == b.sentinel->master &&
                            a.sentinel->username == b.sentinel->username &&
                            a.sentinel->password == b.sentinel->password)) &&
           a.cluster.has_value() == b.cluster.has_value() &&
           (!a.cluster || a.cluster->addresses == b.cluster->addresses);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string url{reinterpret_cast<const char*>(data), size};
    const std::optional<config> c = read_url(url);
    if (!c) {
        return 0;
    }
    conch::impl::check_config(*c);  // a URL that is accepted makes a client
    const std::string written = to_url(*c);
    const std::optional<config> again = read_url(written);
    FUZZ_CHECK(again && same(*c, *again));
    FUZZ_CHECK(to_url(*again) == written);
    return 0;
}
