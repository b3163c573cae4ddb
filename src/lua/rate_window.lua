-- SPDX-License-Identifier: BSL-1.0
-- Counts permits in a window that begins with its first permit: as many requests as fit, in order.
--
-- KEYS[1]  the counter; before, it may have been the log of rate_log.lua: what is in that counts
--          until the newest of it would be over. Or the time of rate_gcra.lua: what is not back by
--          then counts until all is
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
local function now()
    local time = redis.call('time')
    return tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local function of_time(at, of, within)
    local rest = (tonumber(at) - now()) / 1000
    if rest <= 0 then
        return 0, window
    end
    return math.min(math.ceil(rest / tonumber(within) * tonumber(of) - 0.001), limit),
        math.min(math.ceil(rest), window)
end
local function of_log()
    local newest = redis.pcall('zrange', KEYS[1], -1, -1)
    local at = not newest.err and string.match(newest[1], '^(%d+):%d+$')
    local sum = at and redis.call('zscore', KEYS[1], '')
    if not sum then
        return nil
    end
    local rest = math.ceil((tonumber(at) - now()) / 1000) + window
    if rest <= 0 then
        return 0, window
    end
    return tonumber(sum), math.min(rest, window)
end
local text = redis.pcall('get', KEYS[1])
local before
local length = window  -- of one that begins now
if type(text) == 'table' then
    if not string.find(text.err, 'WRONGTYPE') then
        return text
    end
    text = false
    before, length = of_log()
elseif not text then
    before = 0
elseif text == '0' or string.match(text, '^[1-9]%d*$') and #text < 16 then
    before = tonumber(text)
elseif #text < 80 and string.match(text, '^%d+:%d+:[1-9]%d*:[1-9]%d*:[1-9]%d*$') then
    before, length = of_time(string.match(text, '^(%d+):%d+:(%d+):(%d+)'))
    text = false
end
local left = redis.call('pttl', KEYS[1])
-- A number without a TTL is somebody's data.
if not before or text and left == -1 then
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
        left = length
        redis.call('set', KEYS[1], string.format('%.0f', used), 'px', string.format('%.0f', left))
    end
else
    if left > window then  -- it was begun with a longer one
        redis.call('pexpire', KEYS[1], ARGV[2])
        left = window
    end
    if used > before then
        redis.call('incrby', KEYS[1], string.format('%.0f', used - before))
    end
end
local over = used > 0 and left + 1 or 0
return {granted, used, granted < #requests and over or 0, over}
