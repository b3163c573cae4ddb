-- SPDX-License-Identifier: BSL-1.0
-- Tells who holds the lock.
--
-- KEYS[1]  the lock
-- ARGV[1]  key of the fencing token; "" for none
--
-- Reply: an array: remaining time in ms (-1 without expiry, -2 not locked), the last fencing token
-- in decimal or "", then, if locked, the holder's token and "1".
-- Idempotent: reads only.
local answer = { redis.call('pttl', KEYS[1]), '' }
if ARGV[1] ~= '' then
    local fence = tonumber(redis.call('get', ARGV[1]) or '')
    answer[2] = fence and string.format('%.0f', fence) or ''
end
if answer[1] ~= -2 then
    -- Anything long is no lock of this kind.
    if redis.call('strlen', KEYS[1]) > 4096 then
        return redis.error_reply('WRONGTYPE the value is not that of a lock')
    end
    answer[3], answer[4] = redis.call('get', KEYS[1]), '1'
end
return answer
