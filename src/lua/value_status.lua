-- SPDX-License-Identifier: BSL-1.0
-- Tells who holds the lock.
--
-- KEYS[1]  the lock
-- KEYS[2]  key of the fencing token; none: the lock has no token
--
-- Reply: an array: remaining time in ms (-1 without expiry, -2 not locked), the last fencing token
-- in decimal or "", then, if locked, the holder's token and "1".
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
    -- Anything long is no lock of this kind. Nor is a text without a TTL, unless it is a token as
    -- this client's: somebody may have taken the TTL away.
    local long = redis.call('strlen', KEYS[1]) > 4096
    local holder = not long and redis.call('get', KEYS[1])
    if long or answer[1] == -1 and
        not string.match(holder, '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
        return redis.error_reply('WRONGTYPE the value is not that of a lock')
    end
    answer[3], answer[4] = holder, '1'
end
return answer
