-- SPDX-License-Identifier: BSL-1.0
-- Changes the permits of a semaphore, or the count of a latch, and tells the waiters.
--
-- KEYS[1]  the number, as Redisson's RSemaphore and RCountDownLatch keep it; without a key it is 0
-- KEYS[2]  the request: what this script answered, kept as long as it may be repeated
-- KEYS[3]  permits that are out, each with a lease: "set" and "try_set" give the number of all,
--          these included, and the semaphore keeps its TTL, as Redisson's
--          RPermitExpirableSemaphore does
-- ARGV[1]  how long that is, in ms
-- ARGV[2]  channel of the messages: the permits that are left; of a latch "0" (open) or "1" (set)
-- ARGV[3]  "spublish": as a message of the shard; "publish": by PUBLISH
-- ARGV[4]  "add"; "set"; "try_set": unless the semaphore is there; "drain": takes all; of a latch
--          "count_down", which ends at 0, and "arm": sets it unless it is above 0; "mark": nobody
--          wants the change any more, so a copy that runs later does nothing
-- ARGV[5]  how many; may be negative where some are added
--
-- Reply: two integers: 1 (done), 0 (it was set before, or it was marked) or -1 (a signed 32-bit
-- integer would not hold the number: nothing was changed); and the number that was before.
-- Idempotent: what it answered is found by its request key, which is never used again. If the
-- change fails, that key is emptied, which counts as none: SET is known to be allowed, DEL may not
-- be.
-- A publish that is refused (ACL) must not undo or hide the change: waiters poll as well.
local before_done = redis.call('get', KEYS[2])
if before_done and before_done ~= '' then
    local done, left = string.match(before_done, '^(-?%d+) (-?%d+)$')
    return {tonumber(done), tonumber(left)}
end
local text = redis.call('get', KEYS[1])
local before = 0
if text then
    before = string.match(text, '^-?%d+$') and #text < 16 and tonumber(text)
    if not before then
        return redis.error_reply('WRONGTYPE the key holds no number of permits and no count')
    end
end
local what, number = ARGV[4], tonumber(ARGV[5])
local held = KEYS[3] and redis.call('zcard', KEYS[3]) or 0
-- The message: the number, unless it is named here; '' is none.
local after, done, message = number - held, 1, nil
if what == 'mark' or what == 'try_set' and text or what == 'arm' and before > 0 then
    done = 0
elseif what == 'arm' then
    message = '1'
elseif what == 'count_down' then
    after = math.min(before, math.max(before - number, 0))
    message = after == 0 and '0' or ''
elseif what == 'add' then
    after = before + number
elseif what == 'drain' then
    after = 0
    message = ''
end
if after > before and after + held > 2147483647 or after < before and after < -2147483648 then
    done = -1
end
redis.call('set', KEYS[2], string.format('%d %.0f', done, before), 'px', ARGV[1])
if done < 1 or after == before and what ~= 'set' and what ~= 'try_set' then
    return {done, before}
end
local changed
if what == 'count_down' and after == 0 then
    changed = redis.pcall('del', KEYS[1])
elseif text and what ~= 'arm' and (what ~= 'set' or KEYS[3]) then
    changed = redis.pcall('incrby', KEYS[1], string.format('%.0f', after - before))
else
    changed = redis.pcall('set', KEYS[1], string.format('%.0f', after))
    if held > 0 then  -- they may have had a TTL of the one that was before
        redis.pcall('pexpire', KEYS[3], '922337203685477')
    end
end
if type(changed) == 'table' and changed.err then
    redis.call('set', KEYS[2], '', 'px', 1)
    return changed
end
if not message and (after > 0 or not KEYS[3]) then
    message = string.format('%.0f', after)
end
if message and message ~= '' and ARGV[3] == 'spublish' then
    redis.pcall('spublish', ARGV[2], message)
elseif message and message ~= '' then
    redis.pcall('publish', ARGV[2], message)
end
return {done, before}
