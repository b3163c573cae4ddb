// SPDX-License-Identifier: BSL-1.0
// What strangers do to locks.
#include "sim/redisson_thread.hpp"
#include "sim/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <vector>

namespace conch::sim {
namespace {

// KEYS: lock, channel; ARGV: mode, message, publish command. So RReadWriteLock takes a lock away.
constexpr std::string_view force = R"(
if redis.call('hget', KEYS[1], 'mode') == ARGV[1] then
    redis.call('del', KEYS[1])
    redis.call(ARGV[3], KEYS[2], ARGV[2])
    return 1
end
return 0
)";

bool is_reader(const std::string& field) noexcept { return !field.ends_with(":write"); }

}  // namespace

std::vector<std::string> simulation::fields_of(std::size_t name) {
    return server_.redis().fields(specs_[name]->name(), server_.wall_clock());
}

void simulation::vandalize(std::size_t name, effect* e) {
    using foreign = fake_redis::foreign;
    const foreign what = how_.locks[name].plain                        ? foreign::list
                         : how_.read_write && world_.chance.once_in(2) ? foreign::hash
                                                                       : foreign::text;
    feel(fields_of(name).empty() ? nullptr : e);
    forces_[name].spoilt_by = e;
    server_.redis().put_foreign(specs_[name]->name(), what, server_.wall_clock());
    forces_[name].last_end = forces_[name].spoilt_at = world_.now();
}

void simulation::restore(std::size_t name) {
    forces_[name].spoilt_by = nullptr;
    server_.redis().remove_foreign(specs_[name]->name(), server_.wall_clock());
}

// Of a lock that is read, the hash that its readers share, or the deadline of one of them; or the
// word of a writer that waits, which shuts readers out until the next one has had the lock.
bool simulation::persist(std::size_t name) {
    const std::string lock{specs_[name]->name()};
    if (how_.read_write && !settled() && world_.chance.once_in(4)) {
        return server_.redis().persist(writer_key(lock), server_.wall_clock());
    }
    const std::vector<std::string> all = fields_of(name);
    const auto stays = [&](const std::string& f) {
        return settled() && (deserted(f) || !is_tended(f));
    };
    const bool read = how_.read_write && !all.empty() && is_reader(all.front());
    if (read && world_.chance.once_in(2)) {
        return std::none_of(all.begin(), all.end(), stays) &&
               server_.redis().persist(lock, server_.wall_clock());
    }
    const std::string field = all.empty() ? ""
                              : read      ? all[world_.chance.below(all.size())]
                                          : all.front();
    if (field.empty() || stays(field) ||
        !server_.redis().persist(read ? timeout_key(lock, field) : lock, server_.wall_clock())) {
        return false;
    }
    persisted_.emplace(field, world_.now());
    return true;
}

// Of a lock that is read, the deadline of one reader, or all.
bool simulation::delete_lock(std::size_t name) {
    const std::string lock{specs_[name]->name()};
    std::vector<std::string> all = fields_of(name);
    if (all.empty()) {
        return false;
    }
    std::string key = lock;
    if (how_.read_write && is_reader(all.front()) && world_.chance.once_in(2)) {
        all = {all[world_.chance.below(all.size())]};
        key = timeout_key(lock, all.front());
    }
    if (!server_.redis().exists(key, server_.wall_clock())) {
        return false;
    }
    deleted_.insert(all.begin(), all.end());
    server_.redis().remove(key, server_.wall_clock());
    forces_[name].last_end = world_.now();
    return true;
}

bool simulation::force_as_redisson(std::size_t name, bool from_readers) {
    const std::string lock{specs_[name]->name()};
    const bool to_part = how_.run_as == deployment::cluster && how_.sharded;
    const std::vector<std::string> before = fields_of(name);
    const std::uint64_t connection = server_.meet(server_.redis().master_of(lock));
    const std::string answer = server_.ask(
        connection, command_of({"EVAL", std::string{force}, "2", lock,
                                specs_[name]->channel().text(), from_readers ? "read" : "write",
                                from_readers ? "0" : "1", to_part ? "spublish" : "publish"}));
    server_.part(connection);
    const std::vector<std::string> after = fields_of(name);
    std::copy_if(before.begin(), before.end(), std::inserter(deleted_, deleted_.end()),
                 [&](const std::string& f) {
                     return std::find(after.begin(), after.end(), f) == after.end();
                 });
    if (before == after) {
        return false;
    }
    forces_[name].last_end = world_.now();
    if (answer.starts_with(':')) {
        for (const auto& check : checkers_) {
            check->told_to_all(name);
        }
    }
    return true;
}

// A lock without expiry that nobody is going to release is the stranger's doing; and the deadline
// of a reader, alike.
void simulation::expire_deserted() {
    const std::int64_t lease = how_.longest_lease / std::chrono::milliseconds{1};
    const auto expire = [&](std::string_view key) {
        if (server_.redis().left(key, server_.wall_clock()) == -1) {
            server_.redis().expire(key, lease, server_.wall_clock());
        }
    };
    for (std::size_t name = 0; name < specs_.size(); ++name) {
        expire(writer_key(specs_[name]->name()));
        bool goes = true;
        const std::vector<std::string> all = fields_of(name);
        for (const std::string& field : all) {
            const bool left = deserted(field) || outlived_its_release(field);
            if (left && how_.read_write && is_reader(field)) {
                expire(timeout_key(specs_[name]->name(), field));
            }
            goes = goes && (left || is_dead_reader(name, field));
        }
        if (goes && !all.empty()) {
            expire(specs_[name]->name());
        }
    }
}

}  // namespace conch::sim
