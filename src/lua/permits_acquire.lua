-- SPDX-License-Identifier: BSL-1.0
-- Takes permits from a semaphore for as long as a lease, all of them or none.
--
-- KEYS[1]  the semaphore: permits that are left, as Redisson's RPermitExpirableSemaphore
-- KEYS[2]  permits that are out
-- ARGV[1]  what the 16 bytes of the ids begin with, which is never used again; a number follows
-- ARGV[2]  how many permits, at most 1000
-- ARGV[3]  lease in ms
-- ARGV[4]  channel of the messages, each the permits that are left
-- ARGV[5]  "spublish": as a message of the shard; "publish": by PUBLISH
-- ARGV[6]  if there: what the ids begin with of who asked before; while it has none, it comes first
--
-- Reply: "" if they are taken; else an integer: ms until the next lease ends, -1 if none does, -2
-- if another comes first. An error if there are not so many permits in all.
-- Idempotent: who finds its ids there has the permits, and only raises their times.
-- Permits whose lease is over come back first (their holder crashed): some, if they are many.
-- An acquisition of which only a part has come back is over: the rest comes back, too.
-- A publish that is refused (ACL) must not hide what was done: waiters poll as well.
@permits@
local wanted, lease = tonumber(ARGV[2]), tonumber(ARGV[3])
local entries, ids, mine = {}, {}, {}
local looked = false
-- Looks for ids that it has already; skipped where it will have to wait anyway.
local function look()
    looked = true
    for i = 1, wanted do
        local id = id_of(ARGV[1], i)
        local ends = redis.call('zscore', KEYS[2], id)
        if ends then
            mine[#mine + 1] = id
        end
        ids[i] = id
        entries[2 * i - 1] = whole(math.max(now + lease, tonumber(ends or '0')))
        entries[2 * i] = id
    end
end
local function keep()
    local kept = redis.pcall('zadd', KEYS[2], unpack(entries))
    if type(kept) ~= 'number' then
        return kept
    end
    -- They go with the semaphore where that has a TTL, and stay where it has none any more.
    local ttl, own = redis.pcall('pttl', KEYS[1]), redis.pcall('pttl', KEYS[2])
    if type(ttl) == 'number' and ttl > 0 then
        redis.pcall('pexpire', KEYS[2], whole(ttl))
    elseif ttl == -1 and type(own) == 'number' and own > 0 then
        redis.pcall('pexpire', KEYS[2], whole(never))
    end
end
local in_turn = not ARGV[6] or redis.call('zscore', KEYS[2], id_of(ARGV[6], 1))
local function enough()
    return in_turn and left >= wanted
end
local freed = 0
if enough() or redis.call('zscore', KEYS[2], id_of(ARGV[1], 1)) or
    redis.call('zscore', KEYS[2], id_of(ARGV[1], wanted)) then
    look()
    if #mine == wanted then
        return keep() or ''
    end
    freed = bring_back(mine)
    if type(freed) ~= 'number' then
        return freed
    end
end
local late = bring_back(redis.call('zrangebyscore', KEYS[2], '-inf', whole(now), 'limit', '0',
    whole(math.max(wanted, 100))))
if type(late) ~= 'number' then
    return late
end
freed = freed + late
if enough() and not looked then
    look()
    local rest = bring_back(mine)
    if type(rest) ~= 'number' then
        return rest
    end
end
local answer
if enough() then
    answer = keep() or ''
    local taken = answer == '' and redis.pcall('incrby', KEYS[1], whole(-wanted))
    if type(taken) == 'number' then
        left = taken
    elseif taken then
        redis.pcall('zrem', KEYS[2], unpack(ids))
        answer = taken
    end
elseif text and left + held < wanted then
    answer = redis.error_reply('TOOFEW the semaphore has not so many permits')
elseif not in_turn then
    answer = -2
else
    local first = redis.call('zrange', KEYS[2], '0', '0')
    local ends = first[1] and tonumber(redis.call('zscore', KEYS[2], first[1])) or never
    answer = ends < never and math.max(ends - now, 0) or -1
end
if freed > 0 and left > 0 then
    if ARGV[5] == 'spublish' then
        redis.pcall('spublish', ARGV[4], whole(left))
    else
        redis.pcall('publish', ARGV[4], whole(left))
    end
end
return answer
