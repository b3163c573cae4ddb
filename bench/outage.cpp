// SPDX-License-Identifier: BSL-1.0
#include "outage.hpp"

#include <utility>

namespace conch::bench {

outage::outage(const server_choice& where, std::vector<std::string> client_names)
    : client_names_{std::move(client_names)} {
    if (where.url) {
        settings_ = config::from_url(*where.url);
        control_.emplace(settings_);
        return;
    }
    // What was answered has been given to the kernel, so that SIGKILL loses nothing.
    own_.emplace(
        cli::private_redis::options{.arguments = {"--appendonly", "yes", "--appendfsync", "no"}});
    settings_ = config::from_url(own_->url());
}

steady::time_point outage::strike() {
    if (own_) {
        own_->kill();
        const auto since = steady::now();
        own_->start();
        return since;
    }
    const auto since = steady::now();
    for (const std::string& name : client_names_) {
        control_->kill_connections_named(name);
    }
    return since;
}

}  // namespace conch::bench
