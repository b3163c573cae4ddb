// SPDX-License-Identifier: BSL-1.0
#include "own_servers.hpp"

#include <type_traits>

namespace conch::bench {
namespace {

constexpr const char* patience_ms = "60000";

template <typename T>
constexpr bool is_nothing = std::is_same_v<T, std::monostate>;

void make_patient(test::sentinel_group& group) {
    for (std::size_t i = 0; i < test::sentinel_group::sentinel_count; ++i) {
        test::raw_client raw{group.sentinel(i).socket_path()};
        raw.must({"SENTINEL", "SET", "conch-test", "down-after-milliseconds", patience_ms});
    }
}

void make_patient(const test::cluster_group& group) {
    for (std::size_t i = 0; i < group.size(); ++i) {
        group.raw(i).must({"CONFIG", "SET", "cluster-node-timeout", patience_ms});
    }
}

}  // namespace

tls_server::tls_server()
    : server_{
          {.tcp = true,
           .arguments = {"--tls-port", std::to_string(port_.number()), "--tls-cert-file",
                         certificate_.file, "--tls-key-file", certificate_.key,
                         "--tls-ca-cert-file", authority_.file(), "--tls-auth-clients", "no"}}} {}

std::string tls_server::url() const {
    return "rediss://127.0.0.1:" + std::to_string(port_.number()) + "?cacert=" + authority_.file();
}

own_servers::own_servers(topology of) {
    switch (of) {
        case topology::single:
            all_.emplace<cli::private_redis>(cli::private_redis::options{.tcp = true});
            return;
        case topology::tls: all_.emplace<tls_server>(); return;
        case topology::sentinel: make_patient(all_.emplace<test::sentinel_group>()); return;
        case topology::cluster: make_patient(all_.emplace<test::cluster_group>()); return;
    }
}

std::string own_servers::url() const {
    return std::visit(
        []<typename T>(const T& servers) -> std::string {
            if constexpr (is_nothing<T>) {
                return {};
            } else if constexpr (std::is_same_v<T, cli::private_redis>) {
                return servers.tcp_url();
            } else {
                return servers.url();
            }
        },
        all_);
}

std::string own_servers::plain_url() const {
    const auto* const tls = std::get_if<tls_server>(&all_);
    return tls != nullptr ? tls->plain_url() : url();
}

}  // namespace conch::bench
