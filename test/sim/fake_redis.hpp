// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_FAKE_REDIS_HPP
#define CONCH_TEST_SIM_FAKE_REDIS_HPP

#include "sim/effect.hpp"
#include "sim/redis/command.hpp"
#include "sim/redis/data_sets.hpp"
#include "sim/redis/fleet.hpp"
#include "sim/redis/keyspace.hpp"
#include "sim/redis/lua_host.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conch::sim {

/// One connection, as the server sees it.
struct session {
    std::int64_t id = 0;
    std::string unread{};
    std::string output{};
    bool resp3 = false;
    bool authenticated = false;
    bool closing = false;  ///< once its output is sent
    bool listed = false;   ///< as ready
    bool asking = false;   ///< the next command may concern a part that is on its way here
    fleet::process at = 0;
    std::string name{};
    std::set<std::string, std::less<>> channels{};
    std::set<std::string, std::less<>> shard_channels{};
};

/// What commands find when they look for a field of a hash, or delete it; or scripts for a text
/// that names an owner.
struct field_witness {
    enum class sight : std::uint8_t { missing, there, deleted };

    virtual void saw(std::int64_t connection, std::string_view field, sight what) = 0;
    /// A script ended, with an answer or an error.
    virtual void ran(std::int64_t connection, std::string_view sha, arguments keys, arguments args,
                     const reply& answer) = 0;
    /// WAIT told how many replicas have what this connection wrote.
    virtual void acknowledged(std::int64_t connection, std::int64_t replicas) = 0;
    /// A command was answered with an error.
    virtual void refused(std::int64_t connection, arguments command) = 0;

protected:
    ~field_witness() = default;
};

/// A Redis server without sockets and without a clock: bytes and the wall clock come in, bytes come
/// out. It runs the real scripts, in Lua 5.1, over a small model of keys, and answers in the words
/// of Redis 7.0. The same calls give the same answers.
class fake_redis {
public:
    using connection = std::int64_t;  ///< its CLIENT ID

    struct settings {
        std::string password{};  ///< of the user "default"; empty: none
        std::uint64_t seed = 1;  ///< of the run_id
        deployment run_as = deployment::alone;
        bool sharded = true;               ///< knows the messages of a cluster's parts
        bool tries_again_at_once = false;  ///< which node answers TRYAGAIN: the old one
        std::int64_t replicas_ahead_us = 0;  ///< by their clocks: those of the beginning
    };

    explicit fake_redis(const settings& s);

    /// From 1 on; again after a restart, if it is alone.
    connection connect(fleet::process at = 0);
    /// The server sees the end of the socket.
    void disconnect(connection c);
    /// Runs each command that is complete, at this wall clock (microseconds since 1970).
    void receive(connection c, std::string_view bytes, std::int64_t now_us);
    /// Those with new output, or closed by the server, in the order in which that came about.
    std::vector<connection> take_ready();
    /// Forgets a closed connection, too.
    std::string take_output(connection c);
    /// Closed by the server: CLIENT KILL, or bytes that are no command.
    bool closed(connection c) const;

    // Faults: felt by the first whom they refuse something, or whose message is lost.

    /// All connections to this process end, its scripts are gone, its run_id is another; if there
    /// are no others, connections count from 1.
    void restart(bool keep_data, fleet::process at = 0);
    /// The last `k` commands that wrote never happened: a replica that lagged took over. The keys
    /// that they wrote to.
    std::set<std::string> lose_last_writes(std::size_t k, std::size_t shard = 0) {
        return data_.of(fleet_.master(shard)).undo(k);
    }
    void script_flush() { scripts_.assign(scripts_.size(), {}); }
    bool any_script() const noexcept;
    /// The next `n` messages are delivered to nobody; PUBLISH counts them as delivered.
    void lose_messages(std::uint64_t n, effect* e = nullptr) noexcept {
        messages_to_lose_ = n;
        messages_lost_by_ = e;
    }
    /// The next `n` messages are kept back, each to be delivered some time later, though PUBLISH
    /// counts those who hear it now.
    void delay_messages(std::uint64_t n, effect* e = nullptr) noexcept {
        messages_to_delay_ = n;
        messages_delayed_by_ = e;
    }
    /// Those that were kept back since this was last asked.
    struct late_message {
        fleet::process at = 0;
        bool sharded = false;
        std::string channel{};
        std::string text{};
        effect* by = nullptr;
    };
    std::vector<late_message> take_delayed() { return std::exchange(delayed_, {}); }
    /// It comes to those who hear it by now.
    void deliver(const late_message& m);
    /// These words answer what a server in that state refuses: READONLY and OOM some commands,
    /// LOADING nearly all, NOPERM scripts, or what concerns channels.
    void refuse(std::optional<std::string> words, effect* e = nullptr) {
        refusal_ = std::move(words);
        refused_by_ = e;
    }
    /// The same for a script of more than one key, in the words for a user who may not have one of
    /// them. A restart doesn't end it.
    void refuse_batches(bool yes, effect* e = nullptr) noexcept {
        batches_refused_ = yes;
        batches_refused_by_ = e;
    }
    /// The same for SUBSCRIBE.
    void refuse_subscriptions(bool yes, effect* e = nullptr) noexcept {
        subscriptions_refused_ = yes;
        subscriptions_refused_by_ = e;
    }
    /// The same for CLIENT KILL, in the words for a user who may not.
    void refuse_kills(bool yes, effect* e = nullptr) noexcept {
        kills_refused_ = yes;
        kills_refused_by_ = e;
    }
    bool kill_is_refused() noexcept {
        feel(kills_refused_ ? kills_refused_by_ : nullptr);
        return kills_refused_;
    }
    /// All sessions' subscriptions to this end, and they are told as if they had asked for it; how
    /// many there were.
    std::size_t end_subscriptions(std::string_view channel);

    // What happens to the processes.

    const fleet& processes() const noexcept { return fleet_; }
    /// Keys of this part begin to go to that shard.
    void begin_migration(std::uint16_t slot, std::size_t to, effect* e);
    /// One of them does; false if none is left. `which`: chooses it.
    bool move_a_key(std::uint64_t which);
    /// The new shard has the part, then the old one knows.
    void hand_over() { fleet_.hand_over(); }
    void end_migration();
    /// The replica of this shard becomes its master.
    void promote(std::size_t shard);
    /// This process hears of all changes: subscriptions to parts that it lost end.
    void learn(fleet::process p);
    void set_cluster_down(bool yes) noexcept { fleet_.set_down(yes); }
    /// The replica of this shard has its own data from now on, without the last `lacks` commands
    /// that wrote.
    void divide(std::size_t shard, std::size_t lacks, std::int64_t now_us);
    /// Its master, or the one before, has other data than the other process.
    bool divided(std::size_t shard) const noexcept;
    /// What it has is discarded when it learns of its master.
    bool is_to_resync(fleet::process p) const noexcept;
    /// These are cut off from all others, until they rejoin.
    void cut_off(std::set<fleet::process> some) { fleet_.cut_off(std::move(some)); }
    void rejoin() noexcept { fleet_.rejoin(); }
    /// A master without replicas, or without the others of its cluster, refuses what writes, until
    /// it learns of another one.
    void refuse_writes(fleet::process p) noexcept { refuses_writes_ = p; }
    /// They have other keys, values or deadlines than each other.
    bool differ(fleet::process p, fleet::process q, std::int64_t now_us);
    fleet::process master_of(std::string_view key) const noexcept;
    unsigned data_set_of(fleet::process p) const noexcept { return data_.number(p); }

    /// Another client's PERSIST; false if there is no expiry to take away.
    bool persist(std::string_view key, std::int64_t now_us);
    /// Another client's PEXPIRE.
    void expire(std::string_view key, std::int64_t in_ms, std::int64_t now_us);
    enum class foreign : std::uint8_t { text, list, hash };
    /// Another client's in place of what was there, and its DEL of what is no lock.
    void put_foreign(std::string_view key, foreign what, std::int64_t now_us);
    void set_number(std::string_view key, std::int64_t n, std::int64_t now_us);
    void remove_foreign(std::string_view key, std::int64_t now_us);
    /// Another client's DEL of anything.
    void remove(std::string_view key, std::int64_t now_us);

    // What tests and checkers look at.

    /// Learns of what follows. Must outlive this.
    void tell(field_witness* w) noexcept { witness_ = w; }
    void saw(const session& by, std::string_view field, field_witness::sight what) const {
        if (witness_) {
            witness_->saw(by.id, field, what);
        }
    }

    bool exists(std::string_view key, std::int64_t now_us);
    bool exists_at(fleet::process p, std::string_view key, std::int64_t now_us);
    /// Whoever asks for this key without naming a process is told what this one has.
    bool is_home(fleet::process p, std::string_view key) { return &data_.of(p) == &home_of(key); }
    bool is_text(std::string_view key, std::int64_t now_us);
    /// There is what a stranger put there, as it did.
    bool is_as_put(std::string_view key, std::int64_t now_us);
    /// There is something, but no lock: also a hash that a stranger put there.
    bool is_foreign(std::string_view key, std::int64_t now_us);
    /// Or is the text of a lock that is kept in one.
    bool has_field(std::string_view key, std::string_view field, std::int64_t now_us);
    /// The number that a field of a hash has; none if it isn't there, or is no number.
    std::optional<std::int64_t> depth(std::string_view key, std::string_view field,
                                      std::int64_t now_us);
    /// The number that a text has; none if there is none.
    std::optional<std::int64_t> number(std::string_view key, std::int64_t now_us);
    std::optional<std::int64_t> number_at(fleet::process p, std::string_view key,
                                          std::int64_t now_us);
    /// The key's remaining time in ms, as PTTL.
    std::int64_t left(std::string_view key, std::int64_t now_us);
    /// The first field of a hash, or a text that names an owner; null if there is nothing, or
    /// something else. Until the next call.
    const std::string* holder(std::string_view key, std::int64_t now_us);
    /// Of a hash, or the members of a sorted set, or the one owner that a text names; none if there
    /// is nothing, or something else.
    std::vector<std::string> fields(std::string_view key, std::int64_t now_us);
    /// Those of a sorted set.
    std::vector<double> scores(std::string_view key, std::int64_t now_us);
    /// Who stands in line for this fair lock, and what is left of that place in ms.
    std::vector<std::pair<std::string, std::int64_t>> in_line(std::string_view key,
                                                              std::int64_t now_us);
    /// All who stand there, those of Redisson too, the first in line first.
    std::vector<std::string> line(std::string_view key, std::int64_t now_us);
    /// The same, each with its score: a time in ms.
    std::vector<std::pair<std::string, std::int64_t>> line_scores(std::string_view key,
                                                                  std::int64_t now_us);
    /// The fields of this process alone, each with the end of its lease; -1: there is none.
    struct placed_field {
        std::string field;
        std::int64_t expires_ms;
    };
    std::vector<placed_field> holders_at(fleet::process p, std::string_view key,
                                         std::int64_t now_us);
    std::vector<std::pair<std::string, std::int64_t>> in_line_at(fleet::process p,
                                                                 std::string_view key,
                                                                 std::int64_t now_us);
    /// The same as without "anyone", where masters may have different data.
    bool anyone_has(std::string_view key, std::int64_t now_us);
    bool anyone_has_field(std::string_view key, std::string_view field, std::int64_t now_us);
    std::string dump(std::int64_t now_us);
    /// Those that this process has, as a master or its replica.
    std::set<std::string> keys_at(fleet::process p, std::int64_t now_us);
    /// There is a key that is going to expire.
    bool any_expires(std::int64_t now_us) const;
    std::size_t subscribers() const noexcept;
    /// That were published so far.
    std::uint64_t messages() const noexcept { return messages_; }
    std::uint64_t scripts_run() const noexcept { return scripts_run_; }

    // For the commands.

    /// Those of the process that runs a command.
    keyspace& data() noexcept { return data_.of(now_at_); }
    std::int64_t now_us() const noexcept { return now_us_; }
    /// As TIME tells, of the process that runs a command. (Keys expire by one clock.)
    std::int64_t clock_us() const noexcept {
        return now_us_ + (now_at_ < fleet_.shards() ? 0 : how_.replicas_ahead_us);
    }
    const settings& how() const noexcept { return how_; }
    const std::string& run_id() const noexcept { return run_ids_[now_at_]; }
    /// A replica has that of its master. Who becomes a master, or starts, has a new one.
    const std::string& replication_id() const noexcept;
    std::map<connection, session>& sessions() noexcept { return sessions_; }
    std::set<std::string, std::less<>>& scripts() noexcept { return scripts_[now_at_]; }
    /// How many sessions got it.
    std::int64_t publish(std::string_view channel, std::string_view text);
    /// The same within a part of the cluster.
    std::int64_t publish_sharded(std::string_view channel, std::string_view text);
    void close(session& s);
    /// How many replicas have all that was written until now: the one that there is, or none. What
    /// it has isn't lost any more.
    std::int64_t acknowledge(const session& by);
    /// The words of an error, if this command is for another process, or for none just now.
    std::optional<std::string> sent_on(const session& s, const command& c, arguments a);
    /// The words of a refusal, if this command is refused now. `wrote`: the script that calls it
    /// has written before.
    const std::string* refused(const command& c, bool in_script, bool wrote) noexcept;
    bool batch_is_refused(const command& c, arguments a) noexcept;
    void count_script() noexcept { ++scripts_run_; }
    /// Before a script: where it stands with the owner that it names for each key, if that is none
    /// of a hash, whose commands tell by themselves.
    enum class token_state : std::uint8_t { none, missing, there };
    std::vector<token_state> tokens(arguments keys, arguments args);
    /// After it: tells what it found out.
    void compare_tokens(const session& by, const std::vector<token_state>& before, arguments keys,
                        arguments args);
    void ran(const session& by, std::string_view sha, arguments keys, arguments args,
             const reply& answer) const {
        if (witness_) {
            witness_->ran(by.id, sha, keys, args, answer);
        }
    }

private:
    void set_now(std::int64_t now_us);
    void run(session& s, arguments a);
    void ready(session& s);

    keyspace& home_of(std::string_view key);
    static std::vector<std::string> fields_in(const entry* e);
    static std::optional<std::int64_t> number_in(const entry* e);
    static bool is_read_write(const entry* e) noexcept;
    static std::vector<std::pair<std::string, std::int64_t>> in_line_of(keyspace& data,
                                                                        std::string_view key,
                                                                        std::int64_t now_us);
    bool is_told_by(fleet::process p, fleet::process by) const noexcept;
    void begin_command() noexcept;
    bool hears(const session& s, std::string_view channel, bool sharded) const noexcept;
    std::int64_t tell(std::string_view channel, std::string_view text, bool sharded);
    void deliver(std::string_view channel, std::string_view text, bool sharded);
    static void end_subscription(session& s, std::string_view kind, std::string_view channel,
                                 std::size_t left);
    std::optional<std::string> refused_by_role(const session& s, const command& c) const;
    std::string pointed(std::string_view word, std::uint16_t slot, fleet::process to);

    void begin_history(fleet::process p);

    const settings how_;
    std::uint64_t random_;
    std::uint64_t confirmations_ = 0;  // that were asked for
    fleet fleet_{how_.run_as};
    std::vector<std::string> run_ids_{};
    std::vector<std::string> replication_ids_{};
    fleet::process now_at_ = 0;  // runs a command
    std::map<std::uint16_t, effect*> moved_by_{};
    data_sets data_{fleet_};
    std::map<connection, session> sessions_{};
    // The SHA1 of those that are loaded, by process.
    std::vector<std::set<std::string, std::less<>>> scripts_{fleet_.processes()};
    std::vector<connection> ready_{};
    connection last_id_ = 0;
    std::int64_t now_us_ = 0;
    std::uint64_t messages_ = 0;
    std::uint64_t messages_to_lose_ = 0;
    std::uint64_t messages_to_delay_ = 0;
    std::vector<late_message> delayed_{};
    std::optional<std::string> refusal_{};
    std::optional<fleet::process> refuses_writes_{};
    bool batches_refused_ = false;
    bool subscriptions_refused_ = false;
    bool kills_refused_ = false;
    effect* messages_lost_by_ = nullptr;
    effect* messages_delayed_by_ = nullptr;
    effect* refused_by_ = nullptr;
    effect* batches_refused_by_ = nullptr;
    effect* subscriptions_refused_by_ = nullptr;
    effect* kills_refused_by_ = nullptr;
    std::uint64_t scripts_run_ = 0;
    field_witness* witness_ = nullptr;
};

}  // namespace conch::sim

#endif
