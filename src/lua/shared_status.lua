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
local all = redis.call('hgetall', KEYS[1])
for i = 1, #all, 2 do
    if all[i] ~= 'mode' then
        if not is_holder(all[i], all[i + 1]) then
            return redis.error_reply('WRONGTYPE the hash is no read-write lock')
        end
        holders[#holders + 1] = all[i]
    end
end
return { left, '', table.concat(holders, ' '), tostring(#holders), mode }
