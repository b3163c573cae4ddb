-- SPDX-License-Identifier: BSL-1.0
-- Renews or checks many acquisitions of leased permits at once, or lowers what is left of them.
--
-- KEYS[i]      permits of a semaphore that are out
-- ARGV[3i-2]   what the ids of an acquisition begin with
-- ARGV[3i-1]   how many permits it has
-- ARGV[3i]     lease in ms, as of `renew`
--
-- Reply: as of `renew`; 0 also if only a part of the permits is out.
-- Idempotent: as `renew`.
local clock = redis.call('time')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local unpack = table.unpack or unpack
local answers = {}
for i = 1, #KEYS do
    local prefix, permits = ARGV[3 * i - 2], tonumber(ARGV[3 * i - 1])
    local lease = tonumber(ARGV[3 * i])
    local ends = string.format('%.0f', now + math.abs(lease))
    local held, left, entries = 1, nil, {}
    for n = 1, permits do
        local id = prefix .. string.char(math.floor(n / 256), n % 256)
        local score = redis.pcall('zscore', KEYS[i], id)
        if type(score) == 'table' then
            held = score
            break
        elseif not score then
            held = 0
            break
        end
        local rest = (tonumber(score) or now) - now
        left = math.min(left or rest, rest)
        entries[2 * n - 1], entries[2 * n] = ends, id
    end
    if held == 1 then
        if lease > 0 and left < lease or lease < 0 and left > -lease then
            -- A server that is out of memory lets a script go on that has written already.
            redis.pcall('zrem', KEYS[i], '')
            local set = redis.pcall('zadd', KEYS[i], unpack(entries))
            if type(set) ~= 'number' then
                held = set
            end
        elseif left > math.abs(lease) or lease == 0 then
            held = math.min(math.max(left, 2), 922337203685477)
        end
    end
    if type(held) == 'number' then
        answers[i] = held
    else
        answers[i] = held.err or 'ERR unknown'
    end
end
return answers
