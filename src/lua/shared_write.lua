-- SPDX-License-Identifier: BSL-1.0
-- Takes a read-write lock for writing, for a fresh field, or finds that this field took it before.
--
-- KEYS[1]  the lock: a hash of "mode" (read or write) and of the holders' fields
-- KEYS[2]  is there while a writer of conch waits: new readers make way
-- KEYS[3]  and on: the timeout keys of the readers that ARGV names, in that order
-- ARGV[1]  field: "<client uuid>:<number>:write", never used for another acquisition
-- ARGV[2]  lease in ms
-- ARGV[3]  for so many ms readers make way if the lock is busy; "0": this writer does not wait
-- ARGV[4]  and on: readers that an earlier answer named, each by its field and its count, which is
--          also the number of its timeout keys; who has none of these any more is removed
--
-- Reply: granted: ""; busy: an integer, what is left in ms of the holders' leases (-1: no expiry);
--        busy for readers: an array of that, and of fields and counts of some of the readers;
--        WRONGTYPE: the key is no read-write lock.
-- Idempotent: the field is fresh, so that finding it means that this acquisition took the lock. A
-- repeated run never sets the TTL to less.
@shared_check@
local repeated = mode == 'write' and redis.call('hexists', KEYS[1], ARGV[1]) == 1
local key = 3
for i = 4, #ARGV, 2 do
    local alive = redis.call('hget', KEYS[1], ARGV[i]) ~= ARGV[i + 1]
    for k = key, key + tonumber(ARGV[i + 1]) - 1 do
        alive = alive or redis.call('exists', KEYS[k]) == 1
    end
    key = key + tonumber(ARGV[i + 1])
    if not alive then
        redis.call('hdel', KEYS[1], ARGV[i])
    end
end
if mode == 'read' and redis.call('hlen', KEYS[1]) == 1 then
    redis.call('del', KEYS[1])
    left = -2
end
if left ~= -2 and not repeated then
    if ARGV[3] ~= '0' then
        redis.pcall('set', KEYS[2], '1', 'px', ARGV[3])
    end
    if mode == 'write' then
        return left
    end
    local answer = { left }
    local all = redis.call('hgetall', KEYS[1])
    for i = 1, #all, 2 do
        if is_holder(all[i], all[i + 1]) and #answer < 128 then
            answer[#answer + 1] = all[i]
            answer[#answer + 1] = all[i + 1]
        end
    end
    return answer
end
if not repeated then
    redis.call('hset', KEYS[1], 'mode', 'write', ARGV[1], '1')
end
local lease = math.max(tonumber(ARGV[2]), left)
local set = redis.pcall('pexpire', KEYS[1], string.format('%.0f', lease))
if type(set) ~= 'number' then
    -- A lock without expiry would never be free again.
    if not repeated then
        redis.call('del', KEYS[1])
    end
    return set
end
redis.pcall('del', KEYS[2])  -- it ends by itself as well
return ''
