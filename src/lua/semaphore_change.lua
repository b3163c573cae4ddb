-- SPDX-License-Identifier: BSL-1.0
-- Changes the permits of a semaphore, and tells the waiters.
--
-- KEYS[1]  the semaphore: permits that are left, as Redisson's RSemaphore keeps them
-- KEYS[2]  the request: what this script answered, kept as long as it may be repeated
-- KEYS[3]  permits that are out, each with a lease: the number that is set is that of all, these
--          included, and the semaphore keeps its TTL, as Redisson's RPermitExpirableSemaphore does
-- ARGV[1]  how long that is, in ms
-- ARGV[2]  channel of the messages, each the permits that are left
-- ARGV[3]  "spublish": as a message of the shard; "publish": by PUBLISH
-- ARGV[4]  "add"; "set"; "try_set": unless the semaphore is there; "drain": takes all; "mark":
--          nobody wants the change any more, so a copy that runs later does nothing
-- ARGV[5]  how many permits; may be negative where some are added
--
-- Reply: two integers: 1 (done), 0 (the semaphore was there, or it was marked) or -1 (more permits
-- would be left than a signed 32-bit integer holds: nothing was changed); and the permits that
-- were left before.
-- Idempotent: what it answered is found by its request key, which is never used again.
-- A publish that is refused (ACL) must not undo or hide the change: waiters poll as well.
local before_done = redis.call('get', KEYS[2])
if before_done then
    local done, left = string.match(before_done, '^(-?%d+) (-?%d+)$')
    return {tonumber(done), tonumber(left)}
end
local text = redis.call('get', KEYS[1])
local before = 0
if text then
    before = string.match(text, '^-?%d+$') and #text < 16 and tonumber(text)
    if not before then
        return redis.error_reply('WRONGTYPE the key of the semaphore holds no number of permits')
    end
end
local what, number = ARGV[4], tonumber(ARGV[5])
local held = KEYS[3] and redis.call('zcard', KEYS[3]) or 0
local after = number - held
local done = 1
if what == 'mark' or what == 'try_set' and text then
    done = 0
elseif what == 'add' then
    after = before + number
elseif what == 'drain' then
    after = 0
end
if after + held > 2147483647 or after < -2147483648 then
    done = -1
end
redis.call('set', KEYS[2], string.format('%d %.0f', done, before), 'px', ARGV[1])
if done < 1 or what == 'drain' and not text then
    return {done, before}
end
local changed
if text and (what ~= 'set' or KEYS[3]) then
    changed = redis.pcall('incrby', KEYS[1], string.format('%.0f', after - before))
else
    changed = redis.pcall('set', KEYS[1], string.format('%.0f', after))
end
if type(changed) == 'table' and changed.err then
    redis.call('del', KEYS[2])
    return changed
end
if what ~= 'drain' and (after > 0 or not KEYS[3]) then
    local message = string.format('%.0f', after)
    if ARGV[3] == 'spublish' then
        redis.pcall('spublish', ARGV[2], message)
    else
        redis.pcall('publish', ARGV[2], message)
    end
end
return {done, before}
