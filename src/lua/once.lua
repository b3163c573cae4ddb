-- SPDX-License-Identifier: BSL-1.0
-- Asks when the latest run was planned that is done, and what time it is; or notes one more as
-- done. Only for who holds the lock.
--
-- KEYS[1]  the lock
-- KEYS[2]  the note of the latest run that is done: when it was planned, in ms since 1970
-- ARGV[1]  field of the holder
-- ARGV[2]  when the run was planned that is done, in ms since 1970; "-": only asks
-- ARGV[3]  time to live of the note in ms
-- ARGV[4]  period of the schedule in ms. What is planned more than a period from now is nobody's:
--          a clock was ahead. Such a note counts as none.
--
-- Reply: an array: 1 held by this field or 0 not, and nothing is noted; the server's time in ms;
--        the note, in ms, 0 without one;
--        WRONGTYPE: the note is no whole number;
--        TOOFAR: the run was planned more than a period from now, and nothing is noted.
-- Idempotent: notes the later of two times. A copy that runs late finds another holder, or notes
-- what is noted.
local now = redis.call('time')
local ms = tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return { 0, ms, 0 }
end
local text = redis.call('get', KEYS[2])
local last = tonumber(string.match(text or '0', '^%d+$'))
if not last or last >= 9007199254740991 then
    return redis.error_reply('WRONGTYPE the note of a run is a whole number below 2^53 - 1')
end
local latest = ms + tonumber(ARGV[4])
if last > latest then
    last = 0
end
local planned = tonumber(ARGV[2])
if planned and planned > latest then
    return redis.error_reply('TOOFAR the run was planned more than a period from now')
end
if planned and planned > last then
    redis.call('set', KEYS[2], ARGV[2], 'px', ARGV[3])
    last = planned
end
return { 1, ms, last }
