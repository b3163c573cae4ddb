-- SPDX-License-Identifier: BSL-1.0
-- Gives permits back to a semaphore, and tells the waiters.
--
-- KEYS[1]  the semaphore: permits that are left, as Redisson's RPermitExpirableSemaphore
-- KEYS[2]  permits that are out
-- ARGV[1]  channel of the messages, each the permits that are left
-- ARGV[2]  "spublish": as a message of the shard; "publish": by PUBLISH
-- ARGV[3]  what the ids of the acquisition begin with; "" for a forced release
-- ARGV[4]  how many permits; of a forced release, from here on, their ids
--
-- Reply: an integer: -1 if it has not all of them, or of whoever has them none is out; else how
-- many clients were told.
-- Idempotent: takes ids out of the set that are never used again; a second run finds nothing.
-- A publish that is refused (ACL) must not undo or hide the release: waiters poll as well.
@permits@
local forced = ARGV[3] == ''
local permits = forced and #ARGV - 3 or tonumber(ARGV[4])
local ids = {}
for i = 1, permits do
    ids[i] = forced and ARGV[3 + i] or id_of(ARGV[3], i)
end
local freed = bring_back(ids)
if type(freed) ~= 'number' then
    return freed
end
if freed == 0 then
    return -1
end
local told = 0
if left > 0 and ARGV[2] == 'spublish' then
    told = redis.pcall('spublish', ARGV[1], whole(left))
elseif left > 0 then
    told = redis.pcall('publish', ARGV[1], whole(left))
end
if freed < permits and not forced then
    return -1
end
if type(told) ~= 'number' then
    return 0
end
return told
