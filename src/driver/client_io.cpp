// SPDX-License-Identifier: BSL-1.0
// The connections of a client.
#include "driver/client_core.hpp"

#include <boost/asio/error.hpp>

#include <string>
#include <utility>

namespace conch::impl {
namespace {

namespace asio = boost::asio;

}  // namespace

void client_core::tend_connections() {
    connections_.resize(engine_.links());
    for (std::size_t i = 0; i < connections_.size(); ++i) {
        connection& c = connections_[i];
        const std::uint64_t wanted = engine_.wanted_connection(i);
        if (c.at && c.at->number() != wanted) {
            c.at->close();
            if (c.good && !c.broken && engine_.target(i) == c.to) {
                turns_.left(i, c.to);
            }
            c = {};
        }
        if (!c.at && wanted != 0) {
            const wire::address& to = c.to = engine_.target(i);
            c.at = tls_ ? tls_->make_stream(*this, i, wanted, to.host)
                        : std::make_shared<stream>(*this, i, wanted);
            c.at->connect(to, turns_.begin(i, to));
        }
    }
}

bool client_core::is_wanted(const stream& s) const noexcept {
    return s.number() == engine_.wanted_connection(s.place());
}

void client_core::on_connected(stream& s) {
    if (!is_current(s)) {
        return;
    }
    connections_[s.place()].ready = true;
    begin_turn();
    if (is_wanted(s) && ask_credentials(s.place())) {
        engine_.connected(s.place());
    }
    end_turn();
}

// Late, so that they are as new as can be.
bool client_core::ask_credentials(std::size_t place) {
    const bool of_sentinel = engine_.is_sentinel(place);
    const auto& ask = of_sentinel ? settings_.sentinel->credentials : settings_.credentials;
    if (!ask) {
        return true;
    }
    std::string bad = of_sentinel ? "sentinel_options::credentials" : "config::credentials";
    try {
        credentials now = ask();
        if (now.username.empty() || !now.password.empty()) {
            engine_.log_in_as(std::move(now), place);
            return true;
        }
        bad += " gave a user without a password";
    } catch (...) {  // whatever it says could hold the password
        bad += " threw an exception";
    }
    engine_.connection_broken(bad, {}, place);
    return false;
}

void client_core::on_read(stream& s, std::size_t n) {
    if (!is_current(s)) {
        return;
    }
    connections_[s.place()].reading = false;
    begin_turn();
    if (is_wanted(s)) {
        engine_.input(s.place()).commit(n);
        engine_.received(s.place());
        connection& c = connections_[s.place()];
        if (!c.good && engine_.is_ready(s.place()) && is_wanted(s)) {
            c.good = true;
            turns_.answered(s.place(), c.to);
        }
    }
    end_turn();
}

void client_core::on_written(stream& s) {
    if (is_current(s) && engine_.has_output(s.place())) {
        begin_turn();
        end_turn();
    }
}

void client_core::on_broken(stream& s, error_code why, std::string_view words, errc lasting) {
    if (!is_current(s) || why == asio::error::operation_aborted) {
        return;
    }
    begin_turn();
    if (is_wanted(s)) {
        connections_[s.place()].broken = true;
        engine_.connection_broken(words.empty() ? why.message() : std::string{words}, lasting,
                                  s.place());
    }
    end_turn();
}

void client_core::write() {
    for (std::size_t i = 0; i < connections_.size(); ++i) {
        const connection& c = connections_[i];
        while (c.ready && !c.at->writing() && engine_.has_output(i)) {
            engine_.stage(c.at->output(), i);
            c.at->write();
        }
    }
}

}  // namespace conch::impl
