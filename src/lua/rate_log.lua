-- SPDX-License-Identifier: BSL-1.0
-- Counts permits in the window that ends now: as many requests as fit, in order.
--
-- KEYS[1]  the log: a sorted set of "<time>:<permits>" by time in microseconds, and of "" with the
--          sum of all permits in it
-- ARGV[1]  limit, in permits; not above 1,000,000,000, so that the sum is below any time
-- ARGV[2]  length of the window in ms
-- ARGV[3]  and on: permits of each request, none above the limit
--
-- Reply: array of integers: requests granted, permits counted in the window that ends now, time in
--        ms before which the next request can't be granted (0 if none was refused), and until all
--        permits are free again.
-- Not idempotent: a repeated run counts again.
local key, limit, window = KEYS[1], tonumber(ARGV[1]), ARGV[2] * 1000
local oldest = '(1000000000'
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
local function text(number)
    return string.format('%.0f', number)
end
local function permits_of(entries)
    local sum = 0
    for _, entry in ipairs(entries) do
        sum = sum + string.match(entry, '%d+$')
    end
    return sum
end
local sum = redis.call('zscore', key, '')
if not sum and redis.call('exists', key) == 1 then
    return redis.error_reply('WRONGTYPE the key of the rate limit holds no log of permits')
end
local used = tonumber(sum or '0')
local before = used

local over = text(now - window)
local newest = redis.call('zrange', key, -1, -1)[1]
if newest and newest ~= '' and string.match(newest, '^%d+') + 0 <= now - window then
    redis.call('unlink', key)
    used, before = 0, 0
end
local expired = redis.call('zrangebyscore', key, oldest, over)
if #expired > 0 then
    used = used - permits_of(expired)
    redis.call('zremrangebyscore', key, oldest, over)
end
-- The server's clock went back: what was counted later than now is as if counted now.
local late = redis.call('zrangebyscore', key, text(now), '+inf')
local counted = permits_of(late)

local granted, taken = 0, 0
for i = 3, #ARGV do
    if used + taken + ARGV[i] > limit then
        break
    end
    taken = taken + ARGV[i]
    granted = granted + 1
end
used = used + taken
if taken > 0 or #late > 0 then
    redis.call('zremrangebyscore', key, text(now), '+inf')
    redis.call('zadd', key, text(now), text(now) .. ':' .. text(counted + taken))
end
if used ~= before then
    if used > 0 then
        redis.call('zadd', key, text(used), '')
    else
        redis.call('unlink', key)
    end
end
if taken > 0 or #late > 0 then
    redis.call('pexpire', key, text(ARGV[2] + 1))
end

local function left(entry)
    return math.ceil((string.match(entry, '^%d+') + window - now) / 1000)
end
local retry, reset = 0, 0
newest = redis.call('zrange', key, -1, -1)[1]
if newest and newest ~= '' then
    reset = left(newest)
end
if granted < #ARGV - 2 then
    local missing = used + ARGV[3 + granted] - limit
    -- By rank, behind the sum, and so many at most: the server does nothing else meanwhile.
    for _, entry in ipairs(redis.call('zrange', key, 1, 1000)) do
        missing = missing - string.match(entry, '%d+$')
        retry = left(entry)
        if missing <= 0 then
            break
        end
    end
end
return {granted, used, retry, reset}
