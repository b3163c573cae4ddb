-- SPDX-License-Identifier: BSL-1.0
-- Counts permits in a window that begins with its first permit: as many requests as fit, in order.
--
-- KEYS[1]  the counter
-- ARGV[1]  limit, in permits
-- ARGV[2]  length of the window in ms
-- ARGV[3]  and on: permits of each request, none above the limit
--
-- Reply: array of integers: requests granted, permits counted in this window, time in ms until the
--        next request can be granted (0 if none was refused) and until all permits are free again.
--        A key still counts in the millisecond in which its time is over.
-- Not idempotent: a repeated run counts again.
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local requests = {}
for i = 3, #ARGV do
    requests[i - 2] = tonumber(ARGV[i])
end
local text = redis.call('get', KEYS[1])
local before = text and tonumber(text) or 0
local left = redis.call('pttl', KEYS[1])
-- A counter always has a TTL: a number without one is somebody else's.
if text and (left == -1 or
    text ~= '0' and not (string.match(text, '^[1-9]%d*$') and #text < 16)) then
    return redis.error_reply('WRONGTYPE the key of the rate limit holds no counter')
end
local used, granted = before, 0
for _, permits in ipairs(requests) do
    if used + permits > limit then
        break
    end
    used = used + permits
    granted = granted + 1
end
if not text then
    left = 0
    if used > 0 then
        redis.call('set', KEYS[1], string.format('%.0f', used), 'px', ARGV[2])
        left = window
    end
else
    -- A counter that expires too late would refuse for too long.
    if left > window then
        redis.call('pexpire', KEYS[1], ARGV[2])
        left = window
    end
    if used > before then
        redis.call('incrby', KEYS[1], string.format('%.0f', used - before))
    end
end
local over = used > 0 and left + 1 or 0
return {granted, used, granted < #requests and over or 0, over}
