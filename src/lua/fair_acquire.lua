-- SPDX-License-Identifier: BSL-1.0
-- Takes a fair lock for a field, or finds that it has it, or gives it a place in line.
--
-- KEYS[1]  the lock: a hash of the holder's field
-- KEYS[2]  the line: a list
-- KEYS[3]  the line: a sorted set
-- KEYS[4]  what waiters of conch want: a hash
-- KEYS[5]  key of the fencing token; none: this acquisition has no token
-- ARGV[1]  field: "<client uuid>:<number>", never used for another acquisition
-- ARGV[2]  lease in ms
-- ARGV[3]  time to live of the token key in ms; "0" for none
-- ARGV[4]  for so many ms it has its place if it doesn't ask again; "0": it gets none
-- ARGV[5]  the number of the try: no other copy of any try of this field has it
-- ARGV[6]  channel of who watches the lock; none: nobody is told that it was taken
-- ARGV[7]  how: "spublish" or "publish"
--
-- Reply: granted: a string, the fencing token in decimal ("" without one);
--        busy: an integer, what is left in ms of the holder's lease (-1: no expiry), or, if the
--        lock is free, of the place of the first in line;
--        WRONGTYPE: one of the keys is nothing of a lock: nothing was changed.
-- Idempotent: the field is fresh, so that finding it means that this acquisition took the lock, or
-- was given it. A repeated run sets the TTL again, never to less, and gives the same token. Who is
-- in line keeps its place.
@fair_queue@
if line then
    look_at_line()
end
local left = redis.call('pttl', KEYS[1])
local token_ttl = KEYS[5] and ARGV[3]
if left ~= -2 then
    if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
        return give(ARGV[1], whole(math.max(tonumber(ARGV[2]), left)), token_ttl, true)
    end
    local all = redis.call('hlen', KEYS[1]) == 1 and redis.call('hgetall', KEYS[1]) or { '', '' }
    if not string.match(all[2], '^[1-9]%d*$') or
        left == -1 and not string.match(all[1], '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then
        return redis.error_reply('WRONGTYPE the hash is no lock')
    end
end
local first, _, last = first_in_line()
if left == -2 and (not first or first == ARGV[1]) then
    local token = give(ARGV[1], ARGV[2], token_ttl)
    if line then
        keep_line()
    end
    if ARGV[6] and type(token) == 'string' then
        tell(ARGV[7], ARGV[6], '0')
    end
    return token
end
-- By those of Redisson who are ahead.
local function to_be_subtracted(ahead)
    local sum, before = 0, nil
    if ahead == 0 then
        return sum
    end
    for _, field in ipairs(redis.call('lrange', KEYS[2], '0', whole(ahead - 1))) do
        local score = time_in(redis.call('zscore', KEYS[3], field))
        if redis.call('hexists', KEYS[4], field) == 1 then
            before = nil
        else
            local waits = before and score and math.max(score - before, 0) or apart
            sum = sum + math.min(waits, apart)
            before = score
        end
    end
    return sum
end
local function enlist()
    local ahead = redis.call('llen', KEYS[2])
    local score = redis.call('zscore', KEYS[3], ARGV[1])
    local place = score and redis.pcall('lpos', KEYS[2], ARGV[1])
    if type(place) == 'number' then
        ahead = place
    end
    local ends = now + tonumber(ARGV[4])
    -- If none was to be subtracted, nobody of Redisson is ahead: all come to the end.
    local last = place and redis.call('hget', KEYS[4], ARGV[1])
    local none = last and time_in(string.match(last, '^%d+:(%d+)')) == time_in(score)
    score = ends + (none and 0 or to_be_subtracted(ahead))
    local wish = ARGV[2] .. ':' .. whole(ends) .. ':' .. ARGV[5]
    if token_ttl then
        wish = wish .. ':' .. token_ttl
    end
    redis.call('hset', KEYS[4], ARGV[1], wish)
    if not place then
        redis.call('rpush', KEYS[2], ARGV[1])
    end
    redis.call('zadd', KEYS[3], whole(score), ARGV[1])
end
if ARGV[4] ~= '0' then
    local done, why = pcall(enlist)
    keep_line()
    if not done then
        return type(why) == 'table' and why or { err = why }
    end
end
if left == -2 then
    return last - now
end
return left
