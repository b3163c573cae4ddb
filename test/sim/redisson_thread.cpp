// SPDX-License-Identifier: BSL-1.0
#include "sim/redisson_thread.hpp"

#include "sim/simulation.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace conch::sim {
namespace {

// KEYS: lock, list, sorted set; ARGV[4]: the time, in ms. Those whose score is over are taken out.
constexpr std::string_view sweep = R"(
while true do
    local head = redis.call('lindex', KEYS[2], '0')
    local score = head and redis.call('zscore', KEYS[3], head)
    if not score or tonumber(score) > tonumber(ARGV[4]) then
        break
    end
    redis.call('zrem', KEYS[3], head)
    redis.call('lpop', KEYS[2])
end
)";

// ARGV: lease, field, how long it waits at most, the time.
constexpr std::string_view acquire = R"(
if redis.call('exists', KEYS[1]) == 0 and
    (redis.call('exists', KEYS[2]) == 0 or redis.call('lindex', KEYS[2], '0') == ARGV[2]) then
    redis.call('lpop', KEYS[2])
    redis.call('zrem', KEYS[3], ARGV[2])
    for _, other in ipairs(redis.call('zrange', KEYS[3], '0', '-1')) do
        redis.call('zincrby', KEYS[3], '-' .. ARGV[3], other)
    end
    redis.call('hset', KEYS[1], ARGV[2], '1')
    redis.call('pexpire', KEYS[1], ARGV[1])
    return false
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
    redis.call('hincrby', KEYS[1], ARGV[2], '1')
    redis.call('pexpire', KEYS[1], ARGV[1])
    return false
end
if redis.call('zscore', KEYS[3], ARGV[2]) then
    return math.max(0, redis.call('pttl', KEYS[1]))
end
local tail = redis.call('lindex', KEYS[2], '-1')
local score = tail and tail ~= ARGV[2] and redis.call('zscore', KEYS[3], tail)
local left = score and tonumber(score) - tonumber(ARGV[4]) or redis.call('pttl', KEYS[1])
local ends = string.format('%.0f', left + tonumber(ARGV[3]) + tonumber(ARGV[4]))
if redis.call('zadd', KEYS[3], ends, ARGV[2]) == 1 then
    redis.call('rpush', KEYS[2], ARGV[2])
end
return math.floor(left)
)";

// ARGV: channels, publish command, field, the time.
constexpr std::string_view release = R"(
local function tell_head()
    local head = redis.call('lindex', KEYS[2], '0')
    if head then
        redis.call(ARGV[2], ARGV[1] .. ':' .. head, '0')
    end
end
if redis.call('exists', KEYS[1]) == 0 then
    tell_head()
    return 1
end
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
    return false
end
if redis.call('hincrby', KEYS[1], ARGV[3], '-1') > 0 then
    return 0
end
redis.call('del', KEYS[1])
tell_head()
return 1
)";

// KEYS: list, sorted set. ARGV: field, how long it waited at most.
constexpr std::string_view leave = R"(
local behind = false
for _, other in ipairs(redis.call('lrange', KEYS[1], '0', '-1')) do
    if behind then
        redis.call('zincrby', KEYS[2], '-' .. ARGV[2], other)
    end
    behind = behind or other == ARGV[1]
end
redis.call('zrem', KEYS[2], ARGV[1])
redis.call('lrem', KEYS[1], '0', ARGV[1])
return 0
)";

std::string with_sweep(std::string_view script) { return std::string{sweep}.append(script); }

}  // namespace

std::string command_of(const std::vector<std::string>& words) {
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& w : words) {
        bytes += "$" + std::to_string(w.size()) + "\r\n" + w + "\r\n";
    }
    return bytes;
}

redisson_thread::redisson_thread(simulation& all, std::uint64_t index, std::uint64_t seed)
    : all_{all}, index_{index}, chance_{seed} {}

// No client of ours has such a digit.
std::string redisson_thread::field() const {
    return "00000000-0000-0000-0000-00000000000" + std::string(1, static_cast<char>('a' + index_)) +
           ":" + std::to_string(number_);
}

std::string redisson_thread::channel() const {
    return all_.spec(name_)->channel().text() + ":" + field();
}

std::string redisson_thread::line() const {
    return "redisson_lock_queue:{" + std::string{all_.spec(name_)->name()} + "}";
}

std::string redisson_thread::scores() const {
    return "redisson_lock_timeout:{" + std::string{all_.spec(name_)->name()} + "}";
}

std::string redisson_thread::now_ms() const {
    return std::to_string(all_.server().wall_clock() / 1000);
}

bool redisson_thread::listens_to_part() const {
    return all_.how().run_as == deployment::cluster && all_.how().sharded;
}

instant redisson_thread::round_trip() {
    const network::settings& net = all_.how().net;
    return 2 * net.latency + chance_.between(0, 2 * net.jitter);
}

void redisson_thread::plan(instant when) {
    all_.the_world().plan<&redisson_thread::act>(when, this, ++generation_);
}

void redisson_thread::start() {
    const instant pause = chance_.spread(1 * millis, 4 * all_.how().think);
    plan(all_.the_world().now() + pause);
}

void redisson_thread::stop() { plan(all_.the_world().now()); }

void redisson_thread::told(std::uint64_t connection) {
    if (connection == connection_ && now_ == phase::waiting) {
        plan(std::min(deadline_, all_.the_world().now() + round_trip()));
    }
}

void redisson_thread::act(std::uint64_t generation, std::uint64_t) {
    if (generation != generation_) {
        return;
    }
    const bool over = all_.stopped() || all_.the_world().now() >= deadline_;
    switch (now_) {
        case phase::idle:
            if (all_.working()) {
                begin();
            }
            return;
        case phase::waiting: over ? give_up() : try_lock(); return;
        case phase::holding: unlock(); return;
    }
}

void redisson_thread::begin() {
    name_ = chance_.below(all_.how().names);
    const std::int64_t longest = all_.how().longest_lease / std::chrono::milliseconds{1};
    lease_ms_ = chance_.spread(20, std::min<std::int64_t>(longest, 1500));
    wait_ms_ = chance_.spread(50, 3000);
    deadline_ = all_.the_world().now() + wait_ms_ * millis;
    now_ = phase::waiting;
    served_ = false;
    try_lock();
}

void redisson_thread::try_lock() {
    world& w = all_.the_world();
    const std::string name{all_.spec(name_)->name()};
    const std::string answer =
        run(with_sweep(acquire),
            {name, line(), scores()},
            {std::to_string(lease_ms_), field(), std::to_string(wait_ms_), now_ms()});
    if (answer.starts_with('$')) {
        w.note("redisson has it", index_, number_);
        now_ = phase::holding;
        if (!may_die()) {
            plan(w.now() + chance_.spread(1 * millis, lease_ms_ * millis * 5 / 4));
        }
        return;
    }
    if (!answer.starts_with(':')) {  // no server, or another one
        hang_up();
        plan(w.now() + chance_.spread(20 * millis, 200 * millis));
        return;
    }
    w.note("redisson waits", index_, number_);
    served_ = true;
    if (may_die()) {
        return;
    }
    if (!listens_) {
        listens_ = true;
        ask({listens_to_part() ? "SSUBSCRIBE" : "SUBSCRIBE", channel()});
        plan(w.now() + round_trip());
        return;
    }
    // Redisson asks again at once where the lock is free, and it is not its turn.
    const instant left = std::max<instant>(std::atoll(answer.c_str() + 1) * millis, 2 * millis);
    plan(std::min(deadline_, w.now() + std::max(left, round_trip())));
}

void redisson_thread::unlock() {
    const std::string name{all_.spec(name_)->name()};
    const std::string answer =
        run(with_sweep(release),
            {name, line(), scores()},
            {all_.spec(name_)->channel().text(), listens_to_part() ? "spublish" : "publish",
             field(), now_ms()});
    if (answer.empty() || answer.starts_with('-')) {  // its lease ends
        hang_up();
    }
    rest();
}

void redisson_thread::give_up() {
    if (served_) {
        all_.the_world().note("redisson gives up", index_, number_);
        run(std::string{leave},
            {line(), scores()},
            {field(), std::to_string(wait_ms_)});
    }
    rest();
}

// Its subscription ends with the connection.
void redisson_thread::rest() {
    if (listens_ || all_.stopped()) {
        hang_up();
    }
    now_ = phase::idle;
    start();
}

bool redisson_thread::may_die() {
    const bool dies = !all_.healed() && all_.how().has(fault::crash) && chance_.once_in(12);
    if (dies) {
        die();
    }
    return dies;
}

void redisson_thread::die() {
    all_.the_world().note("redisson dies", index_, number_);
    hang_up();
    ++number_;
    now_ = phase::idle;
    plan(all_.the_world().now() + chance_.spread(100 * millis, 2 * seconds));
}

void redisson_thread::hang_up() {
    all_.server().part(connection_);
    connection_ = 0;
    listens_ = false;
}

std::string redisson_thread::ask(const std::vector<std::string>& words) {
    if (connection_ == 0) {
        connection_ = all_.server().meet(all_.server().redis().master_of(all_.spec(name_)->name()));
    }
    return all_.server().ask(connection_, command_of(words));
}

std::string redisson_thread::run(std::string_view script, const std::vector<std::string>& keys,
                                 const std::vector<std::string>& args) {
    std::vector<std::string> words{"EVAL", std::string{script}, std::to_string(keys.size())};
    words.insert(words.end(), keys.begin(), keys.end());
    words.insert(words.end(), args.begin(), args.end());
    std::string answer = ask(words);
    all_.redisson_ran(name_, field());
    return answer;
}

}  // namespace conch::sim
