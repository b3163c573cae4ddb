-- SPDX-License-Identifier: BSL-1.0
-- Grants permits at an even pace, as many requests as fit, in order. Each permit takes window/limit
-- of time to come back, one after the other (GCRA: the generic cell rate algorithm).
--
-- KEYS[1]  "<time>:<rest>:<limit>:<window>:<burst>": when all permits are back, in microseconds,
--          and rest/limit of one more, by the terms of who took the last ones; before, it may have
--          been the counter of rate_window.lua, or the log of rate_log.lua. What was counted by
--          another limit or window, or by one of those, comes back at the pace of who asks
-- ARGV[1]  limit: so many permits come back in a window; not above 1,000,000,000
-- ARGV[2]  length of the window in ms
-- ARGV[3]  burst: so many permits there are; not above the limit
-- ARGV[4]  and on: permits of each request, none above the burst
--
-- Reply: array of integers: requests granted, permits that are not back, time in ms until the next
--        request can be granted (0 if none was refused) and until all permits are back.
-- Not idempotent: a repeated run counts again.
local limit, window, burst = tonumber(ARGV[1]), tonumber(ARGV[2]) * 1000, tonumber(ARGV[3])
local requests = {}
for i = 4, #ARGV do
    requests[i - 3] = tonumber(ARGV[i])
end
local function text(number)
    return string.format('%.0f', number)
end
-- The time that permits take: whole microseconds, and `rest`/limit of one. No product here is above
-- 2^53, below which a number is exact.
local function time_of(permits)
    local high, low = math.floor(permits / 32768), permits % 32768
    local more = high * (window % limit)
    local rest = (more % limit) * 32768 + low * (window % limit)
    return permits * math.floor(window / limit) + math.floor(more / limit) * 32768 +
        math.floor(rest / limit), rest % limit
end
local function is_above(time, rest, other_time, other_rest)
    return time > other_time or time == other_time and rest > other_rest
end

local clock = redis.call('time')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local most, most_rest = time_of(burst)
-- What others counted, in permits; none if it is not theirs, or the error that hides it.
local function counted_otherwise(value)
    if type(value) == 'string' then
        return #value < 16 and string.match(value, '^%d+$') and redis.call('pttl', KEYS[1]) >= 0 and
            tonumber(value)
    end
    local newest = redis.pcall('zrange', KEYS[1], -1, -1)
    if newest.err then
        return not string.find(newest.err, 'WRONGTYPE') and newest
    end
    local at = newest[1] and string.match(newest[1], '^(%d+):%d+$')
    local sum = at and redis.call('zscore', KEYS[1], '')
    return sum and (tonumber(at) > now - window and tonumber(sum) or 0)
end
-- How far ahead of now all permits are back. No answer is longer than a year.
local ahead, rest = 0, 0
local taken_over  -- no more than so many are missing, by the terms of now
local longest = 31536000 * 1000000
local value = redis.pcall('get', KEYS[1])
if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE') then
    return value
elseif value then
    local time, part, terms
    if type(value) == 'string' and #value < 80 then
        time, part, terms = string.match(value, '^(%d+):(%d+)(:[1-9]%d*:[1-9]%d*:[1-9]%d*)$')
    end
    if time then
        local of, within, at_once = string.match(terms, '(%d+):(%d+):(%d+)')
        local pace = tonumber(of) / (tonumber(within) * 1000)
        local all = math.ceil(tonumber(at_once) / pace)
        ahead, rest = tonumber(time) - now, tonumber(part)
        if ahead > all then  -- the server's clock went back: no more than all is missing
            ahead, rest = all, 0
            redis.call('set', KEYS[1], text(now + all) .. ':0' .. terms, 'px',
                text(math.ceil(all / 1000) + 1))
        end
        if of ~= ARGV[1] or within ~= ARGV[2] then
            local missing = ahead * pace
            ahead, rest = math.min(math.floor(missing / limit * window + 0.001), longest), 0
            taken_over = tonumber(at_once)
        end
    else
        local counted = counted_otherwise(value)
        if not counted then
            return redis.error_reply('WRONGTYPE the key of the rate limit holds no time')
        elseif type(counted) == 'table' then
            return counted
        end
        if counted > burst then
            ahead = math.min(math.floor(counted / limit * window), longest)
        else
            ahead, rest = time_of(counted)
        end
        taken_over = counted
    end
end
if ahead < 0 then
    ahead, rest = 0, 0
end

local granted, retry = 0, 0
for _, permits in ipairs(requests) do
    local time, part = time_of(permits)
    time, part = ahead + time, rest + part
    if part >= limit then
        time, part = time + 1, part - limit
    end
    if is_above(time, part, most, most_rest) then
        retry = math.ceil((time - most + (part > most_rest and 1 or 0)) / 1000)
        break
    end
    ahead, rest = time, part
    granted = granted + 1
end
local reset = math.ceil((ahead + (rest > 0 and 1 or 0)) / 1000)
if granted > 0 or taken_over then
    local at_once = granted > 0 and burst or math.max(burst, taken_over)
    local state = {text(now + ahead), text(rest), ARGV[1], ARGV[2], text(at_once)}
    redis.call('set', KEYS[1], table.concat(state, ':'), 'px', text(reset + 1))
end

-- As many as fit; the quotient may be one off.
local left, left_rest = most - ahead, most_rest - rest
if left_rest < 0 then
    left, left_rest = left - 1, left_rest + limit
end
local function fits(permits)
    local time, part = time_of(permits)
    return permits <= burst and not is_above(time, part, left, left_rest)
end
local remaining = math.floor((left + left_rest / limit) / window * limit)
remaining = math.max(math.min(remaining, burst), 0)
while remaining > 0 and not fits(remaining) do
    remaining = remaining - 1
end
while fits(remaining + 1) do
    remaining = remaining + 1
end
return {granted, burst - remaining, retry, reset}
