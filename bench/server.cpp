// SPDX-License-Identifier: BSL-1.0
#include "server.hpp"

namespace conch::bench {

server::server(const server_choice& choice) {
    if (choice.url) {
        settings_ = config::from_url(*choice.url);
    } else {
        own_.emplace();
        settings_ = config::from_url(own_->url());
    }
}

}  // namespace conch::bench
