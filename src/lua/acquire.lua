-- SPDX-License-Identifier: BSL-1.0
-- Takes the lock for a fresh field, or finds that this field took it before: a free lock, or, if
-- told so, from another field of the same client, which thereby releases it and tells nobody.
--
-- KEYS[1]  the lock
-- KEYS[2]  key of the fencing token; none: the lock has no token
-- ARGV[1]  field: "<client uuid>:<number>", never used for another acquisition
-- ARGV[2]  lease in ms
-- ARGV[3]  time to live of the token key in ms; "0" for none
-- ARGV[4]  the field to take it from; none: only a free lock is taken
--
-- Reply: granted: a string, the fencing token in decimal ("" without one);
--        busy: an integer, the holder's remaining time in ms (-1: without expiry; -2: there is no
--        holder to take it from);
--        WRONGTYPE: the key is no lock, which is a hash of one field with a number above 0, and a
--        TTL; or without, but of a field as clients name themselves, as somebody may have taken the
--        TTL away. Who may not see that (ACL) is told that it is busy.
-- Idempotent: the field is fresh, so that finding it means that this acquisition took the lock. A
-- repeated run sets the TTL again, never to less, and gives the same token; it always writes, so
-- that a WAIT behind it waits for all of this.
local left = redis.call('pttl', KEYS[1])
local repeated = left ~= -2 and redis.call('hexists', KEYS[1], ARGV[1]) == 1
local free = left == -2
if ARGV[4] then
    free = redis.call('hexists', KEYS[1], ARGV[4]) == 1
end
if not repeated and not free then
    local size = left ~= -2 and redis.pcall('hlen', KEYS[1])
    local all = size == 1 and redis.pcall('hgetall', KEYS[1]) or {}
    local field, count = all[1], all[2]
    local foreign = type(size) == 'number' and size ~= 1
    if field then
        foreign = not string.match(count, '^[1-9]%d*$') or
            left == -1 and not string.match(field, '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$')
    end
    if foreign then
        return redis.error_reply('WRONGTYPE the hash is no lock')
    end
    return left
end
local lease = tonumber(ARGV[2])
if repeated then
    lease = math.max(lease, left)
end
lease = string.format('%.0f', lease)
local token = ''
if KEYS[2] then
    local text = redis.call('get', KEYS[2])
    local last = tonumber(string.match(text or '0', '^%d+$'))
    if not last or last >= 9007199254740991 then
        return redis.error_reply('WRONGTYPE a fencing token is a whole number below 2^53 - 1')
    end
    if not repeated or not text then
        local now = redis.call('time')
        last = math.max(last + 1, tonumber(now[1]) * 1000000 + tonumber(now[2]))
        if last >= 9007199254740991 then
            return redis.error_reply("ERR the server's clock is beyond all fencing tokens")
        end
        if ARGV[3] == '0' then
            redis.call('set', KEYS[2], string.format('%.0f', last))
        else
            redis.call('set', KEYS[2], string.format('%.0f', last), 'px', ARGV[3])
        end
    end
    token = string.format('%.0f', last)
end
if ARGV[4] then
    redis.call('hdel', KEYS[1], ARGV[4])
end
if not repeated then
    redis.call('hset', KEYS[1], ARGV[1], '1')
end
local set = redis.pcall('pexpire', KEYS[1], lease)
if type(set) ~= 'number' then
    -- A lock without expiry would never be free again.
    if not repeated then
        redis.call('hdel', KEYS[1], ARGV[1])
    end
    return set
end
return token
