-- SPDX-License-Identifier: BSL-1.0
-- Releases the holds of a read-write lock that these fields have, and tells the waiters when the
-- lock is free, or free for readers.
--
-- KEYS[1]  the lock: a hash of "mode" (read or write) and of the holders' fields
-- KEYS[2]  the timeout key of the reader. Not where a hash slot that moves has one key here and one
--          there, so that the release would wait until that is over.
-- ARGV[1]  channel of the release messages
-- ARGV[2]  "spublish": as a message of the shard; "publish": by PUBLISH
-- ARGV[3]  and on: the fields
--
-- Reply: an integer: -1 if none of the fields holds the lock; else how many clients were told.
-- Idempotent: deletes fields that are never used again; a second run finds nothing.
-- A timeout key that stays ends by itself: without a field it means nothing. A publish that is
-- refused (ACL) must not undo or hide the release: waiters poll as well.
local gone = 0
for i = 3, #ARGV do
    gone = gone + redis.call('hdel', KEYS[1], ARGV[i])
end
if gone == 0 then
    return -1
end
if KEYS[2] then
    redis.pcall('del', KEYS[2])
end
local mode = redis.call('hget', KEYS[1], 'mode')
local message = '0'
if mode == 'write' then
    message = '1'
end
local others = false
for _, field in ipairs(redis.call('hkeys', KEYS[1])) do
    if string.match(field, ':write$') then
        return 0
    end
    others = others or field ~= 'mode'
end
if not others then
    redis.call('del', KEYS[1])
elseif mode == 'write' then
    -- Redisson lets a writer read as well.
    redis.call('hset', KEYS[1], 'mode', 'read')
else
    return 0
end
local told
if ARGV[2] == 'spublish' then
    told = redis.pcall('spublish', ARGV[1], message)
else
    told = redis.pcall('publish', ARGV[1], message)
end
if type(told) ~= 'number' then
    return 0
end
return told
