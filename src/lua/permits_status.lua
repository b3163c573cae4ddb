-- SPDX-License-Identifier: BSL-1.0
-- Tells how many permits of a semaphore are left and out, and who has them.
--
-- KEYS[1]  the semaphore: permits that are left, as Redisson's RPermitExpirableSemaphore
-- KEYS[2]  permits that are out
--
-- Reply: an array: ms until the next lease ends (-1 if none does, -2 if no permit is out), "", then
-- ids of permits that are out, in hexadecimal and with blanks between, the first 1,000 to end; how
-- many are out, "permits", how many are left, and 1 if their number was ever set, else 0. Those
-- whose lease is over are left.
-- Idempotent: reads only.
@permits@
local over = redis.call('zcount', KEYS[2], '-inf', whole(now))
local out = redis.call('zrangebyscore', KEYS[2], '(' .. whole(now), '+inf', 'limit', '0', '1000')
local ids = {}
for _, id in ipairs(out) do
    if #id == 16 then  -- no others are given back by force
        ids[#ids + 1] = string.gsub(id, '.', function(c)
            return string.format('%02x', string.byte(c))
        end)
    end
end
local ends = out[1] and (tonumber(redis.call('zscore', KEYS[2], out[1])) or never)
local next_end = not ends and -2 or ends < never and ends - now or -1
return {next_end, '', table.concat(ids, ' '), whole(held - over), 'permits', left + over,
    text and 1 or 0}
