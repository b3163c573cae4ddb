// SPDX-License-Identifier: BSL-1.0
#include "cli/quorum.hpp"

#include "cli/server_url.hpp"

#include <functional>
#include <utility>
#include <vector>

namespace conch::cli {
namespace {

using namespace std::chrono_literals;

/// A process connects for one lock alone.
constexpr duration answer_timeout = 250ms;

}  // namespace

other_clients::other_clients(boost::asio::io_context& io, const server_choice& server,
                             const log_sink& log)
    : server_{server} {
    for (config c : server.others) {
        c.operation_timeout = server.settings.operation_timeout;
        clients_.emplace_back(io, log ? with_log(std::move(c), log) : std::move(c));
    }
}

mutex other_clients::lock_of(const client& first, const std::string& name,
                             const mutex_options& kind) const {
    switch (server_.kind) {
        case lock_kind::plain: return token_mutex{first, name, kind};
        case lock_kind::fair: return fair_mutex{first, name, kind};
        case lock_kind::leader: return leader{first, name, kind}.lock();
        case lock_kind::writer: return shared_mutex{first, name}.writer();
        case lock_kind::reader: return shared_mutex{first, name}.reader();
        case lock_kind::semaphore: return semaphore{first, name}.permits(1);
        case lock_kind::usual: break;
    }
    if (clients_.empty()) {
        return mutex{first, name, kind};
    }
    std::vector<std::reference_wrapper<const client>> all{first};
    all.insert(all.end(), clients_.begin(), clients_.end());
    return quorum_mutex{all, name, {.answer_timeout = answer_timeout}};
}

mutex other_clients::lock_of(const client& first, const word_list& names,
                             const mutex_options& kind) const {
    if (names.size() == 1) {
        return lock_of(first, names.front(), kind);
    }
    std::vector<mutex> each;
    for (const std::string& name : names) {
        each.push_back(lock_of(first, name, kind));
    }
    const std::vector<std::reference_wrapper<const mutex>> all{each.begin(), each.end()};
    return multi_lock{all};
}

void other_clients::shut_down() {
    for (client& c : clients_) {
        c.async_shutdown([](error_code) {});
    }
}

std::string other_clients::last_server_error(const client& first) const {
    if (clients_.empty()) {
        return first.last_server_error();
    }
    std::string words;
    const auto add = [&](const client& c, const config& server) {
        if (const std::string last = c.last_server_error(); !last.empty()) {
            words += (words.empty() ? "" : "; ") + server.url() + ": " + last;
        }
    };
    add(first, server_.settings);
    for (std::size_t i = 0; i < clients_.size(); ++i) {
        add(clients_[i], server_.others[i]);
    }
    return words;
}

}  // namespace conch::cli
