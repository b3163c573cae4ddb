-- SPDX-License-Identifier: BSL-1.0
-- Takes the lock for a fresh field, or finds that this field took it before: a free lock, or, if
-- told so, from another field of the same client, which thereby releases it and tells nobody.
--
-- KEYS[1]  the lock
-- ARGV[1]  field: "<client uuid>:<number>", never used for another acquisition
-- ARGV[2]  lease in ms
-- ARGV[3]  key of the fencing token; "" for none
-- ARGV[4]  time to live of the token key in ms; "0" for none
-- ARGV[5]  the field to take it from; none: only a free lock is taken
--
-- Reply: granted: a string, the fencing token in decimal ("" without one);
--        busy: an integer, the holder's remaining time in ms (-1: without expiry; -2: there is no
--        holder to take it from).
-- Idempotent: the field is fresh, so that finding it means that this acquisition took the lock. A
-- repeated run sets the TTL again, never to less, and gives the same token; it always writes, so
-- that a WAIT behind it waits for all of this.
local left = redis.call('pttl', KEYS[1])
local repeated = left ~= -2 and redis.call('hexists', KEYS[1], ARGV[1]) == 1
if ARGV[5] then
    if not repeated and redis.call('hexists', KEYS[1], ARGV[5]) == 0 then
        return left
    end
elseif left ~= -2 and not repeated then
    return left
end
local token = ''
if ARGV[3] ~= '' then
    local last = tonumber(redis.call('get', ARGV[3]) or '')
    if repeated and last then
        token = string.format('%.0f', last)
    else
        local now = redis.call('time')
        local micros = now[1] * 1000000 + now[2]
        token = string.format('%.0f', math.max((last or 0) + 1, micros))
        if ARGV[4] == '0' then
            redis.call('set', ARGV[3], token)
        else
            redis.call('set', ARGV[3], token, 'px', ARGV[4])
        end
    end
end
if not repeated then
    redis.call('hset', KEYS[1], ARGV[1], 1)
end
local set = redis.pcall('pexpire', KEYS[1], math.max(repeated and left or 0, ARGV[2]))
if type(set) ~= 'number' then
    -- A lock without expiry would never be free again.
    if not repeated then
        redis.call('hdel', KEYS[1], ARGV[1])
    end
    return set
end
if ARGV[5] then
    redis.call('hdel', KEYS[1], ARGV[5])
end
return token
