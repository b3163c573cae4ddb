// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_SERVER_NODE_HPP
#define CONCH_TEST_SIM_SERVER_NODE_HPP

#include "sim/effect.hpp"
#include "sim/fake_redis.hpp"
#include "sim/network.hpp"
#include "sim/scenario.hpp"
#include "sim/standings.hpp"
#include "sim/world.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conch::sim {

/// What the server answered to requests for permits.
struct permit_count {
    std::size_t limit = 0;  ///< as the client has it
    instant at = 0;
    std::int64_t wall_us = 0;
    std::uint64_t client = 0;
    std::vector<std::uint64_t> asked{};  ///< by each request
    std::size_t granted = 0;             ///< the first so many
    std::uint64_t used = 0;
    std::int64_t retry_ms = 0;
};

/// A script that the server ran for a client.
struct script_run {
    std::string_view script;  ///< its file's name, without ".lua"
    std::uint64_t line = 0;
    std::uint64_t client = 0;
    instant at = 0;
    instant sent_after = 0;  ///< the opening of the line, or the last refusal of the same there
    arguments keys{};
    arguments args{};
    const reply& answer;

    /// The script of this name of any kind of lock.
    bool is(std::string_view name) const noexcept {
        return script == name || is_plain(name) || is_shared(name) || is_fair(name);
    }
    bool is_shared(std::string_view name) const noexcept {
        const std::string_view own = script.starts_with("shared_") ? script.substr(7) : "";
        return own == name || (name == "acquire" && (own == "read" || own == "write"));
    }
    /// From another field of the same client.
    bool takes_over() const noexcept {
        return is("acquire") && !is_fair("acquire") && !is_shared("acquire") && args.size() > 3;
    }
    bool is_fair(std::string_view name) const noexcept {
        return script.starts_with("fair_") && script.substr(5) == name;
    }
    bool is_plain(std::string_view name) const noexcept {
        return script.starts_with("value_") && script.substr(6) == name;
    }
};

/// The fake Redis on its machine: it may be slow, stop, come back with or without its data, or be
/// replaced by a replica that lags; its wall clock may step.
class server_node final : public server_end, private field_witness {
public:
    using sight = field_witness::sight;
    /// What a command of a client found out about a holder's field.
    struct sighting {
        instant at;
        std::uint64_t client;
        std::uint64_t line;
        sight what;
    };

    server_node(world& w, const fake_redis::settings& s)
        : world_{w}, redis_{s}, machines_(redis_.processes().processes()) {
        redis_.tell(this);
    }

    void use(network& n) noexcept { network_ = &n; }

    /// The server's wall clock, in microseconds since 1970.
    std::int64_t wall_clock() const noexcept { return epoch_us + world_.now() / micros + step_us_; }
    fake_redis& redis() noexcept { return redis_; }
    const fake_redis& redis() const noexcept { return redis_; }
    bool running(fleet::process p = 0) const noexcept { return !machines_[p].down; }

    // Faults, of one of its processes where there are several.

    /// Answers nothing until then. Felt once bytes wait for it.
    void stall(instant until, effect* e = nullptr, fleet::process p = 0);
    /// Ends, with all connections, and comes back then. `heard`: the clients learn of it at once.
    /// Felt if that ended a connection, or somebody finds it gone; without its data: if there was
    /// any.
    void restart(bool keep_data, bool heard, instant back, effect* e = nullptr,
                 fleet::process p = 0);
    /// Another server takes over, without the last writes of this one. Felt if they left anything.
    void fail_over(std::size_t lost_writes, bool heard, instant back, effect* e = nullptr);
    /// A master ends, and is back then; its replica takes over at `promoted`, without the last
    /// writes. False if that can't be now. Felt if they left anything, or connections ended.
    struct succession {
        std::size_t shard = 0;
        std::size_t lost_writes = 0;
        bool heard = false;
        instant promoted = 0;
        instant back = 0;
    };
    bool take_over(const succession& s, effect* e = nullptr);
    bool may_take_over(std::size_t shard) const noexcept;
    /// It isn't a dead master that is going to be replaced.
    bool may_restart(fleet::process p) const noexcept { return !machines_[p].awaits_heir; }
    /// A master and its replica change places; nothing is lost. Felt if somebody was connected.
    bool swap_roles(std::size_t shard, effect* e = nullptr);
    /// A master, and another process with it, is cut off from the others and goes on; its replica
    /// takes over at `promoted`, without the last writes of before the split, and without those
    /// that came later. When that is over, the old master hears of it and discards what it has.
    /// False if that can't be now. Felt if that is not what the new one has.
    struct parting {
        std::size_t shard = 0;
        std::size_t lost_writes = 0;
        instant promoted = 0;
        instant over = 0;
        std::optional<fleet::process> with_old{};
        instant gives_up = -1;  ///< the old master refuses what writes from then on; -1: it doesn't
        bool hangs_up = false;  ///< it ends its connections when it hears of the new one
    };
    bool split(const parting& s, effect* e = nullptr);
    /// A part of the cluster goes to another shard, one key after each pause. False if one is on
    /// its way already. Felt once a client is sent on because of it.
    bool migrate(std::uint16_t slot, std::size_t to, instant pause, effect* e = nullptr);
    /// From now on this process hears only of what concerns itself, or was while it was down. Felt
    /// once there is anything else.
    void cut_off(fleet::process p, effect* e) noexcept { cut_off_ = {p, e}; }
    /// Felt if that moves the end of a key.
    void step_clock(std::int64_t us, effect* e = nullptr);
    /// How far the wall clock is behind the furthest that it would have come: so much longer may a
    /// key last than its lease.
    instant set_back() const noexcept { return (furthest_step_us_ - step_us_) * micros; }
    /// How far the wall clock is ahead of the least that it ever came to: so much sooner may a key
    /// be gone than was told.
    instant set_ahead() const noexcept { return (step_us_ - least_step_us_) * micros; }
    /// Subscriptions to this channel end, unless it stalls.
    bool end_subscriptions(std::string_view channel);
    /// When they last did so; the beginning, if they never did.
    instant subscriptions_ended(std::string_view channel) const {
        const auto it = ended_.find(channel);
        return it != ended_.end() ? it->second : 0;
    }
    /// Ends stalls and refusals, and comes back.
    void heal();

    /// It came with a line that its client had closed a lease ago: nobody answers for it any more.
    bool came_late(const std::string& field) const { return late_.contains(field); }
    /// It was released, and a failover lost that: nobody knows of it any more.
    /// So it is of one that was released at one of two masters.
    bool brought_back(const std::string& field) const { return brought_back_.contains(field); }
    /// There are two masters for this key; or when there were last; -1: never.
    instant last_split(std::string_view key) const noexcept;
    /// One and the same master may have had the fields of both, as their clients believe. Else they
    /// may overlap.
    bool share_data(std::string_view key, std::string_view a, std::string_view b) const;
    /// No master has what its client was told: who had it has discarded it.
    bool discarded(std::string_view field) const;
    /// When writes to this key were lost last, with a master or with all data; -1: never.
    instant last_loss(std::string_view key) const;
    /// When its clock was set last; -1: never.
    instant stepped_at() const noexcept { return stepped_at_; }
    /// The same, but forward: only that ends leases before their time.
    instant set_forward_at() const noexcept { return set_forward_at_; }
    instant opened_at(std::uint64_t line) const {
        const auto it = opened_.find(line);
        return it == opened_.end() ? -1 : it->second;
    }
    /// A command for this holder's lock was answered with an error on this line.
    bool was_refused(std::uint64_t line, const std::string& field) const {
        return refusals_.contains({line, field});
    }
    std::size_t shard_of(std::string_view key) const noexcept {
        return redis_.processes().shard_of(redis_.master_of(key));
    }
    /// This line leads to the process that has this key, where only one has it.
    bool is_home(std::uint64_t line, std::string_view key) {
        return redis_.is_home(process_of(line), key);
    }
    /// The process that this line leads to has this key.
    bool has(std::uint64_t line, std::string_view key) {
        return redis_.exists_at(process_of(line), key, wall_clock());
    }
    /// The process that this line leads to.
    fleet::process process_of(std::uint64_t line) const noexcept {
        return redis_.processes().process_at(network_->port_of(line));
    }
    /// Where this field is, as its client believes: one of these data sets has it, if any.
    standings::data_sets standing(std::string_view key, std::string_view field) const;
    /// Who is told before a process discards what it has for what its new master has.
    void watch_discards(std::function<void(fleet::process)> told) { discards_ = std::move(told); }
    /// Its part of the cluster has gone to another shard, or is on its way.
    bool has_moved(std::string_view key) const noexcept;
    /// In the order in which they were made.
    const std::vector<sighting>& sightings(std::string_view field) const;
    /// Whose fields are looked at.
    void watch(std::vector<std::string> names) { names_ = std::move(names); }
    /// Rate limits, and who is told of what is counted there.
    void watch(std::vector<limit_terms> limits, std::function<void(const permit_count&)> told) {
        limits_ = std::move(limits);
        counted_ = std::move(told);
    }
    /// Who is told of each script.
    void watch(std::function<void(const script_run&)> told) { ran_ = std::move(told); }
    /// Who is told what WAIT told: on which line, and how many replicas.
    void watch(std::function<void(std::uint64_t, std::int64_t)> told) {
        acknowledged_ = std::move(told);
    }

    // Of those who aren't of the network: another library's.

    /// A connection to this process; 0 if it is down.
    std::uint64_t meet(fleet::process p);
    void part(std::uint64_t who);
    /// What comes back at once; nothing if it is gone, or the process does nothing.
    std::string ask(std::uint64_t who, std::string_view bytes);
    /// Who is told that something has come for an outsider.
    void watch_outsiders(std::function<void(std::uint64_t)> told) {
        outsider_told_ = std::move(told);
    }

    // The network's.

    bool accepts(std::uint64_t line) override;
    void accepted(std::uint64_t line) override;
    void bytes_arrived(std::uint64_t line, std::string_view bytes) override;
    void hung_up(std::uint64_t line) override;

private:
    static constexpr std::int64_t epoch_us = 1'800'000'000'000'000;
    /// What concerns others is known to a process no later.
    static constexpr instant slowest_word = 500 * millis;

    /// What runs a process.
    struct machine {
        standstill stalled{};
        standstill back{};
        bool down = false;
        bool awaits_heir = false;                                     // a dead master
        std::vector<std::pair<std::uint64_t, std::string>> unread{};  // in order, while it stalls
    };

    /// What is under way of a `parting`.
    struct parted {
        std::size_t shard = 0;
        fleet::process old = 0;
        bool hangs_up = false;
        effect* by = nullptr;
        std::uint64_t number = 0;
        bool promoted = false;
    };

    bool stalls(fleet::process p) const noexcept {
        return machines_[p].stalled.until > world_.now();
    }
    bool works(fleet::process p) const noexcept { return running(p) && !stalls(p); }
    void go_on(std::uint64_t process, std::uint64_t);
    void come_back(std::uint64_t process, std::uint64_t);
    bool end_process(fleet::process p, bool keep_data, bool heard);
    void promote(std::uint64_t shard, std::uint64_t);
    void step_migration(std::uint64_t, std::uint64_t);
    void migrate_on();
    void spread_word();
    void hear(std::uint64_t process, std::uint64_t);
    bool is_deaf(fleet::process p);
    void settle_processes();
    bool is_torn(std::size_t shard) const noexcept;
    void promote_beside(std::uint64_t number, std::uint64_t);
    void give_up(std::uint64_t number, std::uint64_t);
    void rejoin(std::uint64_t number, std::uint64_t);
    void demote(std::uint64_t number, std::uint64_t);
    void end_split();
    void learn(fleet::process p);
    void note_copies(fleet::process replica);
    /// From then on standings are kept: a hold of that time may be held anew, elsewhere, later.
    bool was_split() const noexcept { return split_ || !splits_ended_.empty(); }
    void note_standings(fleet::process p);
    void note_renewals(const script_run& r);
    static std::int64_t deadline_of(const fake_redis::placed_field& h) noexcept;
    void note_left(fleet::process by, std::string_view field);
    void run(std::uint64_t line, std::string_view bytes);
    void keep_late_messages();
    void deliver_late(std::uint64_t, std::uint64_t);
    void flush();
    void tell_outsider(fake_redis::connection c);
    std::set<std::string> all_fields();
    void lose_last_writes(std::size_t k, std::size_t shard, effect* e);
    void note_loss(const std::set<std::string>& keys);
    void note_late(std::uint64_t line, const std::set<std::string>& before);
    void saw(std::int64_t connection, std::string_view field, sight what) override;
    void ran(std::int64_t connection, std::string_view sha, arguments keys, arguments args,
             const reply& answer) override;
    void acknowledged(std::int64_t connection, std::int64_t replicas) override;
    void refused(std::int64_t connection, arguments command) override;
    void tell_run(std::uint64_t line, std::string_view name, arguments keys, arguments args,
                  const reply& answer);
    void tell_count(const script_run& r);

    world& world_;
    fake_redis redis_;
    network* network_ = nullptr;
    boost::unordered_flat_map<std::uint64_t, fake_redis::connection> by_line_{};
    boost::unordered_flat_map<fake_redis::connection, std::uint64_t> by_connection_{};
    std::vector<machine> machines_;  // by process
    struct outsider {
        fake_redis::connection session = 0;
        fleet::process at = 0;
    };
    std::map<std::uint64_t, outsider> outsiders_{};
    std::uint64_t outsiders_met_ = 0;
    std::function<void(std::uint64_t)> outsider_told_{};
    std::optional<std::pair<fleet::process, effect*>> cut_off_{};
    instant migration_pause_ = 0;
    std::map<std::pair<std::uint16_t, std::size_t>, instant> imported_{};  // when, by which shards
    std::vector<std::string> names_{};
    std::vector<limit_terms> limits_{};
    std::function<void(const permit_count&)> counted_{};
    std::function<void(const script_run&)> ran_{};
    std::function<void(std::uint64_t, std::int64_t)> acknowledged_{};
    std::function<void(fleet::process)> discards_{};
    boost::unordered_flat_map<std::uint64_t, instant> opened_{};           // lines
    std::map<std::pair<std::uint64_t, std::string>, instant> refusals_{};  // last, of an acquire
    std::set<std::string> late_{};
    std::set<std::string, std::less<>> brought_back_{};
    std::optional<parted> split_{};
    std::uint64_t splits_ = 0;
    std::multimap<instant, fake_redis::late_message> late_messages_{};  // by when they come
    std::map<std::size_t, instant> splits_ended_{};  // last, by shard
    standings standings_{};
    std::map<std::string, instant, std::less<>> losses_{};  // last, by key
    std::map<std::string, instant, std::less<>> ended_{};   // subscriptions, last, by channel
    text_map<std::vector<sighting>> sightings_{};
    std::int64_t step_us_ = 0;
    instant stepped_at_ = -1;
    instant set_forward_at_ = -1;
    std::int64_t furthest_step_us_ = 0;
    std::int64_t least_step_us_ = 0;
};

}  // namespace conch::sim

#endif
