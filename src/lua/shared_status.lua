-- SPDX-License-Identifier: BSL-1.0
-- Tells who holds a read-write lock.
--
-- KEYS[1]  the lock: a hash of "mode" (read or write) and of the holders' fields
--
-- Reply: an array: remaining time in ms (-1 without expiry, -2 not locked), "", then, if locked,
-- the holders' fields with blanks between, how many they are, and the mode.
-- Idempotent: reads only.
@shared_check@
if left == -2 then
    return { left, '' }
end
local holders = {}
for _, field in ipairs(redis.call('hkeys', KEYS[1])) do
    if field ~= 'mode' then
        holders[#holders + 1] = field
    end
end
return { left, '', table.concat(holders, ' '), tostring(#holders), mode }
