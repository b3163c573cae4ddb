// SPDX-License-Identifier: BSL-1.0
#include "deployment.hpp"

namespace conch::bench {
namespace {

const char* topology_of(const config& settings) {
    if (settings.sentinel) {
        return "sentinel";
    }
    if (settings.cluster) {
        return settings.tls ? "cluster with tls" : "cluster";
    }
    return settings.tls ? "tls" : "single";
}

}  // namespace

deployment::deployment(const server_choice& choice) {
    if (choice.own) {
        own_.emplace(*choice.own);
        settings_ = config::from_url(own_->url());
        direct_ = find_direct_access(config::from_url(own_->plain_url()));
        return;
    }
    one_.emplace(choice);
    settings_ = one_->settings();
    if (!settings_.tls) {
        direct_ = find_direct_access(settings_);
    }
}

void deployment::describe(report& r) const {
    r.add_text("topology", topology_of(settings_));
    r.add_text("limit", !direct_ ? "not at all" : settings_.tls ? "without TLS" : "as conch");
}

}  // namespace conch::bench
