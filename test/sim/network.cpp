// SPDX-License-Identifier: BSL-1.0
#include "sim/network.hpp"

#include <algorithm>
#include <utility>

namespace conch::sim {

std::uint64_t network::add(client_end& c) {
    clients_.push_back(&c);
    clogs_.push_back({});
    return clients_.size() - 1;
}

instant network::flight() noexcept { return how_.latency + world_.chance.between(0, how_.jitter); }

std::size_t network::lines_open() const noexcept {
    return static_cast<std::size_t>(
        std::count_if(lines_.begin(), lines_.end(), [](const auto& l) { return l->server_open; }));
}

void network::connect(std::uint64_t client, std::uint64_t number, std::uint16_t port) {
    auto l = std::make_unique<line>();
    l->client = client;
    l->number = number;
    l->port = port;
    open_of_[client].push_back(l.get());
    lines_.push_back(std::move(l));
    world_.plan<&network::knock>(world_.now() + flight(), this, lines_.size() - 1);
}

void network::knock(std::uint64_t id, std::uint64_t) {
    line& l = *lines_[id];
    if (const standstill clog = barred(l, way::up); clog.until > world_.now()) {
        feel(l.client_open ? clog.by : nullptr);
        world_.plan<&network::knock>(clog.until, this, id);
        return;
    }
    const bool accepted = server_.accepts(id);
    if (accepted && l.client_open) {
        l.server_open = true;
        server_.accepted(id);
    }
    world_.plan<&network::let_in>(world_.now() + flight(), this, id, accepted ? 1 : 0);
}

void network::let_in(std::uint64_t id, std::uint64_t accepted) {
    line& l = *lines_[id];
    if (const standstill clog = barred(l, way::down); clog.until > world_.now()) {
        feel(l.client_open && !l.dead ? clog.by : nullptr);
        world_.plan<&network::let_in>(clog.until, this, id, accepted);
        return;
    }
    if (!l.client_open || l.dead) {
        feel(l.client_open ? lost_by(l, way::down) : nullptr);
        return;
    }
    if (accepted == 0) {
        close_client(l);
        clients_[l.client]->broken(l.number);
        return;
    }
    l.connecting = false;
    clients_[l.client]->opened(l.number);
}

void network::send(std::uint64_t client, std::uint64_t number, std::string_view bytes) {
    for (std::size_t i = lines_.size(); i-- > 0;) {
        if (lines_[i]->client == client && lines_[i]->number == number) {
            cut_up(i, way::up, bytes, false);
            return;
        }
    }
}

void network::close(std::uint64_t client, std::uint64_t number) {
    for (std::size_t i = lines_.size(); i-- > 0;) {
        line& l = *lines_[i];
        if (l.client == client && l.number == number && l.client_open) {
            close_client(l);
            cut_up(i, way::up, {}, true);
            return;
        }
    }
}

void network::reply(std::uint64_t id, std::string_view bytes) {
    cut_up(id, way::down, bytes, false);
}

void network::hang_up(std::uint64_t id) {
    lines_[id]->server_open = false;
    cut_up(id, way::down, {}, true);
}

void network::cut_up(std::uint64_t id, way w, std::string_view bytes, bool last) {
    // A spike delays all that is sent at once, however it is cut up.
    if (!bytes.empty() && how_.spike_once_in != 0 && world_.chance.once_in(how_.spike_once_in)) {
        direction& d = in(*lines_[id], w);
        d.busy_until =
            std::max(d.busy_until, world_.now() + flight() * world_.chance.between(2, 50));
    }
    while (!bytes.empty()) {
        std::size_t n = bytes.size();
        if (how_.piece != 0) {
            n = std::min<std::size_t>(n, 1 + world_.chance.below(how_.piece));
        } else if (world_.chance.once_in(4)) {
            n = 1 + world_.chance.below(n);
        }
        post(id, w, {std::string{bytes.substr(0, n)}, false});
        bytes.remove_prefix(n);
    }
    if (last) {
        post(id, w, {{}, true});
    }
}

void network::post(std::uint64_t id, way w, piece p) {
    line& l = *lines_[id];
    if (l.dead) {
        feel(l.client_open && !p.bytes.empty() ? lost_by(l, w) : nullptr);
        if (p.last && w == way::up) {  // the other end is never told, but looks some day
            world_.plan<&network::give_up_server>(world_.now() + how_.keepalive, this, id);
        }
        return;
    }
    direction& d = in(l, w);
    d.under_way.push_back(std::move(p));
    d.busy_until = std::max(d.busy_until, world_.now() + flight());
    world_.plan<&network::arrive>(d.busy_until, this, id, static_cast<std::uint64_t>(w));
}

void network::arrive(std::uint64_t id, std::uint64_t way_) {
    line& l = *lines_[id];
    const way w = static_cast<way>(way_);
    direction& d = in(l, w);
    if (l.dead || d.under_way.empty()) {
        return;  // lost meanwhile
    }
    if (const standstill h = held(l, w); h.until > world_.now()) {
        feel(carries(l, w) ? h.by : nullptr);
        world_.plan<&network::arrive>(h.until, this, id, way_);
        return;
    }
    piece p = std::move(d.under_way.front());
    d.under_way.pop_front();
    deliver(id, w, std::move(p));
}

void network::deliver(std::uint64_t id, way w, piece p) {
    line& l = *lines_[id];
    if (w == way::up) {
        if (!l.server_open) {
            return;
        }
        if (p.last) {
            drop_server(id);
        } else {
            server_.bytes_arrived(id, p.bytes);
        }
    } else if (l.client_open) {
        if (p.last) {
            close_client(l);
            clients_[l.client]->broken(l.number);
        } else {
            clients_[l.client]->bytes_came(l.number, p.bytes);
        }
    }
}

void network::close_client(line& l) noexcept {
    l.client_open = false;
    l.closed_at = world_.now();
    std::erase(open_of_[l.client], &l);
}

void network::drop_server(std::uint64_t id) {
    if (std::exchange(lines_[id]->server_open, false)) {
        server_.hung_up(id);
    }
}

void network::break_client(std::uint64_t id, std::uint64_t) {
    line& l = *lines_[id];
    if (l.client_open) {
        close_client(l);
        clients_[l.client]->broken(l.number);
    }
}

void network::give_up_server(std::uint64_t id, std::uint64_t) { drop_server(id); }

// None if there is nothing in the way of all connections like this one.
standstill network::barred(const line& l, way w) noexcept {
    const standstill& clog = clogged(l.client, w);
    const auto apart = separated_.find({l.client, l.port});
    return apart != separated_.end() && apart->second.until > clog.until ? apart->second : clog;
}

standstill network::held(const line& l, way w) noexcept {
    const standstill all = barred(l, w);
    return all.until > l.held.until ? all : l.held;
}

bool network::carries(const line& l, way w) const noexcept {
    const auto& pieces = in(l, w).under_way;
    return has_receiver(l, w) && std::any_of(pieces.begin(), pieces.end(),
                                             [](const piece& p) { return !p.bytes.empty(); });
}

void network::hold_up(std::uint64_t client, instant until, effect* e) {
    for (const auto& l : lines_) {
        if (is_aim(*l, client) && l->client_open && !l->connecting) {
            l->held.prolong(until, e);
        }
    }
}

void network::clog(std::uint64_t client, way w, instant until, effect* e) {
    clogged(client, w).prolong(until, e);
}

void network::separate(std::uint64_t client, std::uint16_t port, instant until, effect* e) {
    separated_[{client, port}].prolong(until, e);
}

void network::reset(std::uint64_t client, bool delivered, effect* e) {
    for (std::size_t id = 0; id < lines_.size(); ++id) {
        line& l = *lines_[id];
        if (!is_aim(l, client) || !l.client_open || l.dead || l.connecting) {
            continue;
        }
        feel(!delivered && carries(l, way::up) ? e : nullptr);
        std::deque<piece> sent = std::exchange(in(l, way::up).under_way, {});
        if (delivered) {
            for (piece& p : sent) {
                deliver(id, way::up, std::move(p));
            }
        }
        feel(delivered && carries(l, way::down) ? e : nullptr);
        drop_server(id);
        in(l, way::down).under_way.clear();
        l.dead = true;
        lost_by(l, delivered ? way::down : way::up) = e;
        world_.plan<&network::break_client>(world_.now() + flight(), this, id);
    }
}

void network::cut_silently(std::uint64_t client, effect* e) {
    for (std::size_t id = 0; id < lines_.size(); ++id) {
        line& l = *lines_[id];
        if (is_aim(l, client) && l.client_open && !l.dead) {
            feel(carries(l, way::up) || carries(l, way::down) ? e : nullptr);
            l.dead = true;
            l.to = {};
            l.lost_by = {e, e};
        }
    }
}

bool network::reset_all(bool heard, std::optional<std::uint16_t> port) {
    bool any = false;
    for (std::size_t id = 0; id < lines_.size(); ++id) {
        line& l = *lines_[id];
        if ((!l.server_open && !l.client_open) || (port && *port != l.port)) {
            continue;
        }
        any = any || (l.client_open && !l.dead);
        l.dead = true;
        l.to = {};
        drop_server(id);
        if (heard && !l.connecting) {
            world_.plan<&network::break_client>(world_.now() + flight(), this, id);
        }
    }
    return any;
}

bool network::passes(std::uint64_t client) const noexcept {
    const auto lines = open_of_.find(client);
    return lines != open_of_.end() && !lines->second.empty() &&
           std::none_of(lines->second.begin(), lines->second.end(),
                        [](const line* l) { return l->connecting || l->dead; });
}

// What was held up comes now.
void network::heal() {
    for (auto& c : clogs_) {
        c = {};
    }
    separated_.clear();
    for (const auto& l : lines_) {
        l->held = {};
    }
    for (std::size_t id = 0; id < lines_.size(); ++id) {
        for (const way w : {way::up, way::down}) {
            for (std::size_t n = in(*lines_[id], w).under_way.size(); n > 0; --n) {
                world_.plan<&network::arrive>(world_.now(), this, id,
                                              static_cast<std::uint64_t>(w));
            }
        }
    }
}

}  // namespace conch::sim
