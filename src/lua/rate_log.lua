-- SPDX-License-Identifier: BSL-1.0
-- Counts permits in the window that ends now: as many requests as fit, in order.
--
-- KEYS[1]  the log: a sorted set of "<time>:<permits>" by time in microseconds, and of "" with the
--          sum of all permits in it; before, it may have been the counter of rate_window.lua, or
--          the time of rate_gcra.lua: what they have counted is over when all of it would be
-- ARGV[1]  limit, in permits; not above 1,000,000,000, so that the sum is below any time
-- ARGV[2]  length of the window in ms
-- ARGV[3]  and on: permits of each request, none above the limit
--
-- Reply: array of integers: requests granted, permits counted in the window that ends now, time in
--        ms before which the next request can't be granted (0 if none was refused), and until all
--        permits are free again.
-- Not idempotent: a repeated run counts again.
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2]) * 1000
local requests = {}
for i = 3, #ARGV do
    requests[i - 2] = tonumber(ARGV[i])
end
local oldest = '(1000000000'
local time = redis.call('time')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local function text(number)
    return string.format('%.0f', number)
end
local function permits_of(entries)
    local sum = 0
    for _, entry in ipairs(entries) do
        sum = sum + tonumber(string.match(entry, '%d+$'))
    end
    return sum
end
-- The counter becomes a log of one entry, which is over when the counter would be.
local function of_counter()
    local counter, rest = redis.pcall('get', KEYS[1]), redis.call('pttl', KEYS[1])
    local of_time = '^(%d+):%d+:([1-9]%d*):([1-9]%d*):[1-9]%d*$'
    if type(counter) == 'string' and #counter < 80 and string.match(counter, of_time) then
        local at, of, within = string.match(counter, of_time)
        local ahead = math.max(tonumber(at) - now, 0) / 1000
        counter = math.ceil(ahead / tonumber(within) * tonumber(of) - 0.001)
        counter = text(math.max(math.min(counter, limit), 0) + 0)  -- not -0
    end
    if type(counter) ~= 'string' or #counter > 15 or rest < 0 or
        counter ~= '0' and not string.match(counter, '^[1-9]%d*$') then
        return redis.error_reply('WRONGTYPE the key of the rate limit holds no log of permits')
    end
    redis.call('unlink', KEYS[1])
    local sum = text(math.min(tonumber(counter), limit))
    if sum == '0' then
        return false
    end
    local at = text(now - window + math.min(rest * 1000, window))
    local added = redis.pcall('zadd', KEYS[1], at, at .. ':' .. sum, sum, '')
    if type(added) ~= 'number' then
        redis.call('set', KEYS[1], counter, 'px', text(math.max(rest, 1)))
        return added
    end
    redis.call('pexpire', KEYS[1], text(math.max(rest, 1)))
    return sum
end
local sum = redis.pcall('zscore', KEYS[1], '')
if type(sum) == 'table' and string.find(sum.err, 'WRONGTYPE') then
    sum = of_counter()
elseif not sum and redis.call('exists', KEYS[1]) == 1 then
    sum = redis.error_reply('WRONGTYPE the key of the rate limit holds no log of permits')
end
if type(sum) == 'table' then
    return sum
end
local used = tonumber(text(sum or 0))  -- a score may come as 5.0
local before, fresh = used, not sum

local over = text(now - window)
local newest = redis.call('zrange', KEYS[1], -1, -1)[1]
if newest and not string.match(newest, '^%d+:%d+$') then
    return redis.error_reply('WRONGTYPE the key of the rate limit holds no log of permits')
end
if newest and tonumber(string.match(newest, '^%d+')) <= now - window then
    redis.call('unlink', KEYS[1])
    used, before, fresh = 0, 0, true
end
local expired = redis.call('zrangebyscore', KEYS[1], oldest, over)
if #expired > 0 then
    used = used - permits_of(expired)
    redis.call('zremrangebyscore', KEYS[1], oldest, over)
end
-- The server's clock went back: what was counted later than now is as if counted now.
local late = redis.call('zrangebyscore', KEYS[1], text(now), '+inf')
local counted = permits_of(late)

local granted, taken = 0, 0
for _, permits in ipairs(requests) do
    if used + taken + permits > limit then
        break
    end
    taken = taken + permits
    granted = granted + 1
end
used = used + taken
if taken > 0 or #late > 0 then
    redis.call('zremrangebyscore', KEYS[1], text(now), '+inf')
    local entry = text(now) .. ':' .. text(counted + taken)
    redis.call('zadd', KEYS[1], text(now), entry, text(used), '')
    local set = redis.pcall('pexpire', KEYS[1], text(window / 1000 + 1))
    if type(set) ~= 'number' then
        -- A log without expiry would stay for ever.
        if fresh then
            redis.call('unlink', KEYS[1])
        end
        return set
    end
elseif used ~= before then
    if used > 0 then
        redis.call('zadd', KEYS[1], text(used), '')
    else
        redis.call('unlink', KEYS[1])
    end
end

local function left(entry)
    return math.ceil((tonumber(string.match(entry, '^%d+')) + window - now) / 1000)
end
local retry, reset = 0, 0
newest = redis.call('zrange', KEYS[1], -1, -1)[1]
if newest and newest ~= '' then
    reset = left(newest)
end
if granted < #requests then
    local missing = used + requests[granted + 1] - limit
    -- By rank, behind the sum, and so many at most: the server does nothing else meanwhile.
    for _, entry in ipairs(redis.call('zrange', KEYS[1], 1, 1000)) do
        missing = missing - tonumber(string.match(entry, '%d+$'))
        retry = left(entry)
        if missing <= 0 then
            break
        end
    end
end
return {granted, used, retry, reset}
