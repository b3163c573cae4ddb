-- SPDX-License-Identifier: BSL-1.0
-- Takes permits from a semaphore: for as many requests as fit, in order.
--
-- KEYS[1]  the semaphore: permits that are left, as Redisson's RSemaphore keeps them
-- KEYS[2]  the request: what this script did, kept as long as it may be repeated
-- ARGV[1]  how long that is, in ms
-- ARGV[2]  "take"; "again": an earlier copy may still run, and is to take no more than this one;
--          "mark": nobody wants them any more, so that a copy which runs later takes nothing
-- ARGV[3]  and on: permits of each request
--
-- Reply: an integer: requests granted, from the first on.
-- Idempotent: what granted something, or may have another copy, is found by its request key, which
-- is never used again; the only copy that granted nothing changed nothing.
-- If the permits can't be taken, the request key is emptied, which counts as none: SET is known to
-- be allowed, DEL may not be.
local done = redis.call('get', KEYS[2])
if done and done ~= '' then
    return tonumber(done)
end
local text = redis.call('get', KEYS[1])
local left = 0
if text then
    left = string.match(text, '^-?%d+$') and #text < 16 and tonumber(text)
    if not left then
        return redis.error_reply('WRONGTYPE the key of the semaphore holds no number of permits')
    end
end
local taken, granted = 0, 0
for i = 3, ARGV[2] == 'mark' and 2 or #ARGV do
    local permits = tonumber(ARGV[i])
    if taken + permits > left then
        break
    end
    taken = taken + permits
    granted = granted + 1
end
if granted > 0 or ARGV[2] ~= 'take' then
    redis.call('set', KEYS[2], string.format('%.0f', granted), 'px', ARGV[1])
end
if granted > 0 then
    local told = redis.pcall('incrby', KEYS[1], string.format('%.0f', -taken))
    if type(told) == 'table' then
        redis.call('set', KEYS[2], '', 'px', 1)
        return told
    end
end
return granted
