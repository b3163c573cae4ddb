-- SPDX-License-Identifier: BSL-1.0
-- Releases the lock if it has this token, and tells the waiters.
--
-- KEYS[1]  the lock
-- ARGV[1]  token of the holder
-- ARGV[2]  channel of the release messages
-- ARGV[3]  "spublish": as a message of the shard; none: by PUBLISH
--
-- Reply: an integer: -1 if the lock doesn't have the token; else how many clients were told.
-- Idempotent: deletes one token that is never used again; a second run finds nothing.
-- A publish that is refused (ACL) must not undo or hide the release: waiters poll as well.
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return -1
end
redis.call('del', KEYS[1])
local told
if ARGV[3] then
    told = redis.pcall('spublish', ARGV[2], '0')
else
    told = redis.pcall('publish', ARGV[2], '0')
end
if type(told) ~= 'number' then
    return 0
end
return told
