-- SPDX-License-Identifier: BSL-1.0
-- Takes the lock for a fresh token, or finds that this token took it before: a free lock, or, if
-- told so, from another token of the same client, which thereby releases it and tells nobody.
--
-- KEYS[1]  the lock
-- KEYS[2]  key of the fencing token; none: the lock has no fencing token
-- ARGV[1]  token: "<client uuid>:<number>", never used for another acquisition
-- ARGV[2]  lease in ms
-- ARGV[3]  time to live of the fencing token's key in ms; "0" for none
-- ARGV[4]  the token to take it from; none: only a free lock is taken
--
-- Reply: granted: a string, the fencing token in decimal ("" without one);
--        busy: an integer, the holder's remaining time in ms (-1: without expiry; -2: there is no
--        holder to take it from);
--        WRONGTYPE: the key is no lock, which is a short string. One without a TTL may be a lock,
--        too, as redis-py's is unless told otherwise.
-- Idempotent: the token is fresh, so that finding it means that this acquisition took the lock. A
-- repeated run sets the TTL again, never to less, and gives the same fencing token; it always
-- writes, so that a WAIT behind it waits for all of this.
local holder = redis.call('get', KEYS[1])
local repeated = holder == ARGV[1]
if not repeated and (holder or nil) ~= ARGV[4] then
    if holder and #holder > 4096 then
        return redis.error_reply('WRONGTYPE the string is no lock')
    end
    return redis.call('pttl', KEYS[1])
end
local lease = tonumber(ARGV[2])
if repeated then
    lease = math.max(lease, redis.call('pttl', KEYS[1]))
end
lease = string.format('%.0f', lease)
local fence = ''
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
    fence = string.format('%.0f', last)
end
redis.call('set', KEYS[1], ARGV[1], 'px', lease)
return fence
