// SPDX-License-Identifier: BSL-1.0
#include "topology/cluster.hpp"

#include "topology/mapping.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace conch::topology {
namespace {

bool will_pass(std::string_view refusal) noexcept {
    return wire::classify(refusal) == wire::refusal::passing;
}

}  // namespace

const wire::call_type cluster::slots_type{
    .name = "cluster slots",
    .after_loss = wire::retry::replay,
    .order = wire::priority::normal,
    .encode = &cluster::encode_slots,
    .done = &cluster::slots_done,
};

const wire::call_type cluster::sharded_type{
    .name = "pubsub shardnumsub",
    .after_loss = wire::retry::replay,
    .order = wire::priority::normal,
    .encode = &cluster::encode_sharded,
    .done = &cluster::sharded_done,
};

cluster::cluster(const config& settings, core::timer_heap& timers, core::random& jitter,
                 const core::log& log, const time_point& now, std::string& last_words,
                 cluster_events events)
    : options_{*settings.cluster},
      timeouts_{settings},
      timers_{timers},
      jitter_{jitter},
      now_{now},
      repeated_{log, timers, now_},
      last_words_{last_words},
      events_{events},
      nodes_{options_.addresses},
      sharded_{options_.sharded == sharded_messages::on},
      sharded_known_{options_.sharded != sharded_messages::automatic},
      connection_{timeouts_.settings(),
                  {nodes_.asked(), wire::role::discovery},
                  timers,
                  jitter,
                  log,
                  ignored_,
                  words_},
      link_{connection_,
            timeouts_.settings().reconnect_delay_max,
            timers,
            jitter,
            log,
            ignored_,
            {this, &cluster::on_ready, [](void*, errc) {}, &cluster::on_address_needed}} {}

cluster::~cluster() { timers_.cancel(poll_); }

// A node that doesn't know an address means the one where it was asked, which is mapped already.
std::optional<wire::address> cluster::reached(const wire::address& told,
                                              const wire::address& by) const {
    if (told.host.empty()) {
        return wire::address{by.host, told.port, {}};
    }
    return topology::reached(told, {options_.map_address, "cluster.map_address"}, repeated_);
}

void cluster::ask() {
    if (closed_) {
        return;
    }
    if (!poll_.armed()) {
        next_poll();
    }
    // Before the hash slots: whoever learns of a master then knows how to listen there.
    if (!sharded_known_ && shards_.where == wire::call::state::idle) {
        link_.submit(shards_);
    }
    if (slots_.where == wire::call::state::idle) {
        link_.submit(slots_);
    }
}

void cluster::not_there(const wire::address& at, bool replica) {
    const auto it =
        std::find_if(missed_.begin(), missed_.end(), [&](const missed& m) { return m.at == at; });
    if (it == missed_.end()) {
        missed_.push_back({at, now_, replica});
    } else {
        it->replica = replica;
    }
}

void cluster::there(const wire::address& at) {
    std::erase_if(missed_, [&](const missed& m) { return m.at == at; });
}

// The first until a node was asked after it: of many in a row the last is always too young.
void cluster::moved(std::uint16_t hash_slot, const wire::address& to) {
    if (!moved_) {
        moved_ = slot_range{hash_slot, hash_slot, to};
        moved_at_ = now_;
    }
}

void cluster::next_poll() {
    timers_.set(poll_, core::after(now_, jitter_.jitter(options_.scan_interval)));
}

void cluster::on_poll(void* self) {
    auto& c = *static_cast<cluster*>(self);
    const bool before = std::exchange(c.put_off_, c.events_.put_off(c.events_.owner));
    if (before && c.put_off_ && c.known_ && c.link_.ready() && c.nodes_.size() > 1) {
        c.put_off_ = false;  // the next one has as much time
        c.suspect("calls are put off where the node says they belong");
    } else {
        c.ask();
    }
    c.next_poll();
}

void cluster::encode_slots(wire::call&, resp::writer& w) {
    w.command(2).arg("CLUSTER").arg("SLOTS");
}

void cluster::encode_sharded(wire::call&, resp::writer& w) {
    w.command(3).arg("PUBSUB").arg("SHARDNUMSUB").arg("0");
}

// Redisson's rule: whatever error it is, messages are plain ones. But one that will pass says
// nothing of that.
void cluster::sharded_done(wire::call& c, const wire::outcome& o) {
    cluster& self = static_cast<question&>(c).home;
    if (o.refused() && will_pass(o.reply.text())) {
        self.refused("PUBSUB SHARDNUMSUB", o.reply.text());
    } else if (!o.lost() && !self.sharded_known_) {
        self.sharded_known_ = true;
        self.sharded_ = o.answered();
    }
}

void cluster::slots_done(wire::call& c, const wire::outcome& o) {
    cluster& self = static_cast<question&>(c).home;
    if (o.lost()) {
        return;  // closed
    }
    if (o.refused()) {
        self.refused("CLUSTER SLOTS", o.reply.text());
    } else if (!self.sharded_known_) {
        self.ask();  // once more: an interruption may have brought it before the other question
    } else {
        self.answered(o.reply);
    }
}

// A node that loads its data, or runs somebody's script, will tell later: others may at once.
void cluster::refused(const std::string& command, std::string_view words) {
    fail(will_pass(words) ? errc{} : wire::to_errc(words),
         command + " was refused: " + std::string{words});
}

void cluster::answered(const resp::value& reply) {
    const std::vector<slot_range> ranges = read(reply);
    if (reply.type() != resp::kind::array) {
        fail(errc::protocol_error, "the answer to CLUSTER SLOTS is no list");
        return;
    }
    if (ranges.empty()) {
        fail({}, "the node knows no master of any slot");
        return;
    }
    const missed* const m = named_of_missed(ranges);
    if (m && nodes_.size() > 1) {
        suspect("no master at " + m->at.text() + ", which the node names");
        return;
    }
    if (contradicts_moved(ranges)) {
        return;
    }
    if (!suspected_ || now_ - *suspected_ >= options_.scan_interval) {
        failed_ = refused_ = 0;
        link_.worked();
    }
    known_ = true;
    nodes_.know(ranges);
    events_.learned(events_.owner, ranges);
}

// One of these, if a replica was met there, or nobody for long.
const cluster::missed* cluster::named_of_missed(const std::vector<slot_range>& ranges) const {
    for (const missed& m : missed_) {
        if ((m.replica || now_ - m.since >= options_.scan_interval) &&
            std::any_of(ranges.begin(), ranges.end(),
                        [&](const slot_range& r) { return r.master == m.at; })) {
            return &m;
        }
    }
    return nullptr;
}

// True if these are not to be believed: another node is asked, or the same once more.
bool cluster::contradicts_moved(const std::vector<slot_range>& ranges) {
    if (!moved_) {
        return false;
    }
    const bool confirmed = std::any_of(ranges.begin(), ranges.end(), [&](const slot_range& r) {
        return r.first <= moved_->first && moved_->first <= r.last && r.master == moved_->master;
    });
    if (!confirmed && slots_.history.last_sent < moved_at_) {
        ask();
        return true;
    }
    const slot_range moved = *std::exchange(moved_, std::nullopt);
    if (confirmed) {
        return false;
    }
    if (moved.master != link_.target()) {
        nodes_.prefer(moved.master);
    }
    if (nodes_.size() == 1) {
        return false;
    }
    suspect("the node does not know what went to " + moved.master.text());
    return true;
}

void cluster::fail(errc why, const std::string& words) {
    why_ = why;
    link_.leave(words);
}

// One that answers, but not what helps: if all are such, they are left after the usual pauses.
void cluster::suspect(const std::string& words) {
    suspected_ = now_;
    fail({}, words);
}

void cluster::on_ready(void* self) {
    auto& c = *static_cast<cluster*>(self);
    c.timeouts_.reached(c.now_ - c.link_.down().tried_at);
}

// On to the next one; when none of them was of use, after a pause.
void cluster::on_address_needed(void* self, bool /*was_ready*/) {
    auto& c = *static_cast<cluster*>(self);
    const std::size_t all = c.nodes_.size();
    const errc asked = std::exchange(c.why_, errc{});
    const errc why = asked != errc{} ? asked : c.link_.down().lasting;
    c.refused_ += why != errc{} ? 1 : 0;
    c.nodes_.turn_to_next();
    c.missed_.clear();
    c.moved_.reset();
    const bool at_once = ++c.failed_ % all != 0;
    const wire::address& next = c.nodes_.asked();
    if (!at_once) {
        c.timeouts_.round_failed();
    }
    c.link_.move_to(next, at_once);
    c.ask();
    if (at_once) {
        return;
    }
    const bool none_helps = std::exchange(c.refused_, 0) == all;
    if (!c.known_) {
        c.last_words_ = c.words_;
        if (none_helps || is_out_of_attempts(c.timeouts_.settings(), c.failed_ / all)) {
            c.events_.lost(c.events_.owner, none_helps ? why : c.link_.why_down());
        }
    }
}

void cluster::close() {
    closed_ = true;
    timers_.cancel(poll_);
    repeated_.close();
    link_.close();
}

}  // namespace conch::topology
