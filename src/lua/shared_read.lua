-- SPDX-License-Identifier: BSL-1.0
-- Takes a read-write lock for reading, for a fresh field, or finds that this field took it before.
--
-- KEYS[1]  the lock: a hash of "mode" (read or write) and of the holders' fields
-- KEYS[2]  the timeout key of this hold, as Redisson has one for each: it lives as long as the hold
-- KEYS[3]  is there while a writer of conch waits: new readers make way
-- ARGV[1]  field: "<client uuid>:<number>", never used for another acquisition
-- ARGV[2]  lease in ms
--
-- Reply: granted: ""; busy: an integer, the time in ms after which it may be free (-1: unknown);
--        WRONGTYPE: the key is no read-write lock.
-- Idempotent: the field is fresh, so that finding it means that this acquisition took the lock. A
-- repeated run never sets a TTL to less.
@shared_check@
local repeated = mode == 'read' and redis.call('hexists', KEYS[1], ARGV[1]) == 1
if not repeated then
    if mode == 'write' or left == -1 then
        return left
    end
    local waits = redis.call('pttl', KEYS[3])
    if waits ~= -2 then
        return waits == -1 and waits or math.max(waits, 1)
    end
end
local lease = tonumber(ARGV[2])
local mine = lease
if repeated then
    mine = math.max(lease, redis.call('pttl', KEYS[2]))
end
redis.call('set', KEYS[2], '1', 'px', string.format('%.0f', mine))
if not repeated then
    redis.call('hset', KEYS[1], 'mode', 'read', ARGV[1], '1')
end
if left ~= -1 and left < lease then  -- other readers may have a lock without expiry for longer
    local set = redis.pcall('pexpire', KEYS[1], string.format('%.0f', lease))
    if type(set) ~= 'number' then
        -- A lock without expiry would never be free again.
        redis.call('hdel', KEYS[1], ARGV[1])
        if redis.call('hlen', KEYS[1]) == 1 then
            redis.call('del', KEYS[1])
        end
        return set
    end
end
return ''
