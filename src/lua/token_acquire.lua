-- SPDX-License-Identifier: BSL-1.0
-- Takes the lock for a fresh token, or finds that this token took it before: a free lock, or, if
-- told so, from another token of the same client, which thereby releases it and tells nobody.
--
-- KEYS[1]  the lock
-- ARGV[1]  token: "<client uuid>:<number>", never used for another acquisition
-- ARGV[2]  lease in ms
-- ARGV[3]  key of the fencing token; "" for none
-- ARGV[4]  time to live of the fencing token's key in ms; "0" for none
-- ARGV[5]  the token to take it from; none: only a free lock is taken
--
-- Reply: granted: a string, the fencing token in decimal ("" without one);
--        busy: an integer, the holder's remaining time in ms (-1: without expiry; -2: there is no
--        holder to take it from).
-- Idempotent: the token is fresh, so that finding it means that this acquisition took the lock. A
-- repeated run sets the TTL again, never to less, and gives the same fencing token; it always
-- writes, so that a WAIT behind it waits for all of this.
local holder = redis.call('get', KEYS[1])
local repeated = holder == ARGV[1]
if not repeated and (holder or nil) ~= ARGV[5] then
    return redis.call('pttl', KEYS[1])
end
local fence = ''
if ARGV[3] ~= '' then
    local last = tonumber(redis.call('get', ARGV[3]) or '')
    if repeated and last then
        fence = string.format('%.0f', last)
    else
        local now = redis.call('time')
        fence = string.format('%.0f', math.max((last or 0) + 1, now[1] * 1000000 + now[2]))
        if ARGV[4] == '0' then
            redis.call('set', ARGV[3], fence)
        else
            redis.call('set', ARGV[3], fence, 'px', ARGV[4])
        end
    end
end
local left = repeated and redis.call('pttl', KEYS[1]) or 0
redis.call('set', KEYS[1], ARGV[1], 'px', math.max(left, ARGV[2]))
return fence
