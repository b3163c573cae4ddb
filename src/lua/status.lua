-- SPDX-License-Identifier: BSL-1.0
-- Tells who holds the lock.
--
-- KEYS[1]  the lock
-- ARGV[1]  key of the fencing token; "" for none
--
-- Reply: an array: remaining time in ms (-1 without expiry, -2 not locked), the last token in
-- decimal or "", then the fields and counts of the hash.
-- Idempotent: reads only.
local answer = { redis.call('pttl', KEYS[1]), '' }
if ARGV[1] ~= '' then
    answer[2] = redis.call('get', ARGV[1]) or ''
end
if answer[1] ~= -2 then
    for _, item in ipairs(redis.call('hgetall', KEYS[1])) do
        answer[#answer + 1] = item
    end
end
return answer
