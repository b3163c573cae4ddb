-- SPDX-License-Identifier: BSL-1.0
-- Tells who holds the lock.
--
-- KEYS[1]  the lock
-- KEYS[2]  key of the fencing token; none: the lock has no token
--
-- Reply: an array: remaining time in ms (-1 without expiry, -2 not locked), the last token in
-- decimal or "", then, if locked, the holder's field and its count.
-- Idempotent: reads only.
local answer = { redis.call('pttl', KEYS[1]), '' }
if KEYS[2] then
    local text = redis.call('get', KEYS[2])
    local last = tonumber(string.match(text or '0', '^%d+$'))
    if not last or last >= 9007199254740991 then
        return redis.error_reply('WRONGTYPE a fencing token is a whole number below 2^53 - 1')
    end
    answer[2] = text and string.format('%.0f', last) or ''
end
if answer[1] ~= -2 then
    -- Anything else than one short field with a number above 0 and a TTL is no lock of this kind.
    -- Somebody may have taken the TTL away: without one the field must be as clients name it.
    if redis.call('hlen', KEYS[1]) ~= 1 then
        return redis.error_reply('WRONGTYPE a hash of more than one field is no lock')
    end
    local holder = redis.call('hgetall', KEYS[1])
    if #holder[1] > 4096 or #holder[2] > 32 or not string.match(holder[2], '^[1-9]%d*$') or
        answer[1] == -1 and
        not string.match(holder[1], '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
        return redis.error_reply('WRONGTYPE the field is not that of a lock')
    end
    answer[3], answer[4] = holder[1], holder[2]
end
return answer
