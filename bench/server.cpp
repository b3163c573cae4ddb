// SPDX-License-Identifier: BSL-1.0
#include "server.hpp"

namespace conch::bench {

server::server(const server_choice& choice) {
    if (choice) {
        settings_ = config::from_url(*choice);
    } else {
        own_.emplace();
        settings_ = config::from_url(own_->url());
    }
}

}  // namespace conch::bench
