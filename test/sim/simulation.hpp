// SPDX-License-Identifier: BSL-1.0
#ifndef CONCH_TEST_SIM_SIMULATION_HPP
#define CONCH_TEST_SIM_SIMULATION_HPP

#include "protocol/rate_spec.hpp"
#include "sim/asker.hpp"
#include "sim/check/checker.hpp"
#include "sim/client_node.hpp"
#include "sim/course.hpp"
#include "sim/held.hpp"
#include "sim/network.hpp"
#include "sim/redisson_thread.hpp"
#include "sim/scenario.hpp"
#include "sim/server_node.hpp"
#include "sim/user.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conch::sim {

/// One run: clients with users, a network, a server, the faults of a scenario, and the checkers
/// that watch them.
class simulation final : public course, public client_events {
public:
    explicit simulation(std::uint64_t seed, bool print = false, deployment d = deployment::alone);
    ~simulation();

    outcome run();

    // For users, faults and checkers.

    server_node& server() noexcept { return server_; }
    network& net() noexcept { return network_; }
    const network& net() const noexcept { return network_; }
    const scenario& how() const noexcept { return how_; }
    std::vector<std::unique_ptr<client_node>>& clients() noexcept { return clients_; }
    const std::vector<std::unique_ptr<client_node>>& clients() const noexcept { return clients_; }
    std::vector<std::unique_ptr<user>>& users() noexcept { return users_; }
    const std::vector<std::unique_ptr<asker>>& askers() const noexcept { return askers_; }
    std::list<held>& holds() noexcept { return holds_; }
    /// One of these has run a script for this lock, and has this field there.
    void redisson_ran(std::size_t name, const std::string& field);
    /// One of them with this field waits for this lock, and hears what is told to it.
    bool redisson_listens(std::size_t name, const std::string& field) const;
    const std::deque<call>& calls() const noexcept { return calls_; }

    /// What a user asks its client for, in a turn of that.
    call& begin_call(std::uint64_t user);
    call& begin_permits(std::uint64_t client);
    call& begin_unlock(const held& h, bool alone);
    /// It reaches the engine now.
    void asks(call& c);
    call& call_at(std::uint64_t number) noexcept { return calls_[number]; }
    const impl::spec_ptr& spec(std::size_t name) const noexcept { return specs_[name]; }
    /// The same, for reading.
    const impl::spec_ptr& reader(std::size_t name) const noexcept { return readers_[name]; }
    const impl::rate_spec_ptr& limit(std::size_t number) const noexcept { return limits_[number]; }
    /// Which lock this script is about; none if about a rate limit.
    std::optional<std::size_t> name_in(const script_run& r) const noexcept;
    bool same_key(std::size_t a, std::size_t b) const noexcept {
        return specs_[a]->name() == specs_[b]->name();
    }
    bool fenced(std::size_t name) const noexcept { return specs_[name]->fenced(); }
    /// Users go on with new work.
    bool working() const noexcept { return world_.now() < end_of_work_; }
    /// All faults are over; then their effects, too.
    bool healed() const noexcept { return world_.now() > how_.chaos; }
    bool settled() const noexcept { return world_.now() >= settled_at_; }
    instant settled_at() const noexcept { return settled_at_; }
    bool stopped() const noexcept { return stopped_; }
    void add_client();
    /// This client's process ends, unless it had or there were enough; another one starts, with
    /// users of its own. Felt if those of the old one had or wanted anything.
    void replace_client(std::uint64_t client, bool heard, effect* e = nullptr);
    bool may_replace() const noexcept { return clients_.size() <= most_clients; }

    /// Of the calls of this client that wait for this lock, the first; null if there is none.
    const call* first_in_queue(std::uint64_t client, std::size_t name) const noexcept;
    held& granted(user& by, std::size_t name, call& c, const lock_options& options);
    /// In the turn of this time another user of this client got this hold's lock as it was.
    bool passed_on(const held& h, instant turn) const noexcept;
    /// Another reader of this client shared this hold.
    bool was_joined(const held& h) const;
    /// Held for reading at the server: from the beginning, or from the script of a downgrade on.
    bool reads(const held& h) const { return h.shared || downgraded_at(h) >= 0; }
    /// The field that it has, or would have, as a reader.
    std::string reader_of(const held& h) const;
    /// A user wants to read, and no longer to write: the server may know it by either field.
    bool may_be_downgraded(const held& h) const;
    /// When the server first ran the downgrade of this hold; -1: never.
    instant downgraded_at(const held& h) const;
    void gone(std::list<held>::iterator h) { holds_.erase(h); }
    /// Detached: its key stays until its lease ends.
    void left_behind(const held& h) { left_behind_.emplace(h.client, h.number); }
    bool was_left_behind(std::uint64_t client, std::uint64_t number) const {
        return left_behind_.contains({client, number});
    }

    /// When the server last forgot what was written to this key: what was sent before may be lost.
    /// -1: never. All keys end too soon where its clock was set forward; and where there are two
    /// masters, what one of them has is lost.
    instant last_loss(std::string_view key) const {
        return std::max(last_declared_loss(key), server_.last_split(key));
    }
    /// The same, but for two masters.
    instant last_declared_loss(std::string_view key) const {
        return std::max(server_.last_loss(key), server_.set_forward_at());
    }
    /// Of this lock's.
    instant last_loss(std::size_t name) const { return last_loss(specs_[name]->name()); }
    /// Of its lock, or of the key with a reader's deadline.
    instant last_loss(const held& h) const;
    void begin_force(std::size_t name, std::uint64_t client) { ++forces_[name].running[client]; }
    void end_force(std::size_t name, std::uint64_t client);
    /// Something of somebody else takes the place of this lock. Felt if there was one, or a client
    /// meets it.
    void vandalize(std::size_t name, effect* e = nullptr);
    /// It goes away again.
    void restore(std::size_t name);
    /// Since when it is there; -1: there is none.
    instant spoilt_since(std::size_t name) const noexcept {
        return forces_[name].spoilt_by != nullptr ? forces_[name].spoilt_at : -1;
    }
    /// A stranger takes this lock's expiry away; false if it has none, or nobody would ever release
    /// it.
    bool persist(std::size_t name);
    /// A stranger deletes this lock, and tells nobody; false if there is none.
    bool delete_lock(std::size_t name);
    /// Another process takes this read-write lock away by Redisson's script, from who reads or from
    /// who writes; false if nobody did.
    bool force_as_redisson(std::size_t name, bool from_readers);
    bool was_deleted(const std::string& field) const noexcept { return deleted_.contains(field); }
    /// When that happened to this holder's lock first; -1: never.
    instant persisted_at(const std::string& field) const noexcept;
    /// Whose release was given up, when the lease was over, before all had settled: a lock that
    /// lost its expiry is there for ever then.
    bool outlived_its_release(const std::string& field) const noexcept;
    /// A reader whose timeout key is gone: the next writer removes it, or the lease of the others.
    bool is_dead_reader(std::size_t name, const std::string& field);
    /// Its client knows of it; not of what a failover brought back.
    bool is_tended(const std::string& field) const noexcept;
    /// Somebody meant to take this hold away, or the server forgot something: what its client sees
    /// may be their doing.
    bool endangered(const held& h) const;
    /// A loss of this hold was declared: it may overlap with another, and end at any time.
    bool excused(const held& h) const { return loss_declared(h) || server_.discarded(field_of(h)); }
    /// The same, but not where it was granted by one of two masters at once: there two may overlap
    /// only if they are of different ones.
    bool loss_declared(const held& h) const;
    /// Its name on the server.
    std::string field_of(const held& h) const;
    /// Whose name that is.
    struct owner_of {
        std::uint64_t client = 0;
        std::uint64_t number = 0;
    };
    static owner_of owner_in(const std::string& field) noexcept;
    /// Nobody's here: a thread's of Redisson.
    bool is_foreign(const std::string& field) const noexcept {
        return owner_in(field).client >= clients_.size();
    }
    /// Its client ended, or left it behind and no other user of it goes on; or is none of ours.
    bool deserted(const std::string& field) const noexcept;
    void count_loss() noexcept { ++outcome_.losses; }
    void count_closing() noexcept { ++outcome_.closings; }

    // The clients'.

    void ended(std::uint64_t client, call& c) override;
    void turned(std::uint64_t client) override;

private:
    struct terms {
        instant sent_at;
        instant began_at;
        duration max_hold;
        duration renewed_lease;
        duration progress_within;
    };
    struct forces {
        std::map<std::uint64_t, unsigned> running{};  // by client
        instant last_end = -1;
        instant spoilt_at = -1;
        effect* spoilt_by = nullptr;
    };

    static constexpr std::size_t most_clients = 8;

    instant last_declared_loss(const held& h) const;
    void ran(const script_run& r);
    void note_downgrade(const script_run& r);
    void note_targets(const script_run& r);
    std::vector<std::string> fields_of(std::size_t name);
    void run_until(instant until);
    void spoil_one_of_two();
    std::optional<std::size_t> one_of_two() const;
    void wind_down();
    void come_to_rest();
    void set_limits();
    void expire_deserted();

    dice more_;  // for choices that came later: they change no earlier one
    const scenario how_;
    server_node server_;
    network network_;
    std::vector<std::unique_ptr<client_node>> clients_{};
    std::vector<std::unique_ptr<user>> users_{};
    std::vector<std::unique_ptr<asker>> askers_{};
    std::vector<std::unique_ptr<redisson_thread>> redisson_threads_{};
    std::vector<impl::spec_ptr> specs_{};
    std::vector<impl::spec_ptr> readers_{};
    std::vector<impl::rate_spec_ptr> limits_{};
    std::deque<call> calls_{};
    std::list<held> holds_{};
    std::map<std::pair<std::uint64_t, std::uint64_t>, terms> first_{};  // of acquisitions
    std::set<std::pair<std::uint64_t, std::uint64_t>> left_behind_{};
    std::map<std::pair<std::uint64_t, std::uint64_t>, instant> downgraded_{};
    std::map<std::string, instant> persisted_{};
    std::set<std::string> deleted_{};
    std::vector<forces> forces_{};
    std::set<std::pair<std::uint64_t, std::string>> targets_{};  // who forces, and whom it found
    std::vector<std::unique_ptr<checker>> checkers_{};
    std::unique_ptr<class fault_injector> faults_;
    std::unique_ptr<class closer> closer_{};
    instant end_of_work_ = 0;
    instant settled_at_ = 0;
    bool stopped_ = false;
};

}  // namespace conch::sim

#endif
