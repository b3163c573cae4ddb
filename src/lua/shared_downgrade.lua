-- SPDX-License-Identifier: BSL-1.0
-- Turns a hold of a read-write lock for writing into one for reading, or finds that this was done
-- before, and tells the waiters that readers may come in.
--
-- KEYS[1]  the lock: a hash of "mode" (read or write) and of the holders' fields
-- KEYS[2]  the timeout key of the reader that the writer becomes
-- ARGV[1]  field of the writer: "<client uuid>:<number>:write"
-- ARGV[2]  field of the reader: "<client uuid>:<number>", used for nothing else
-- ARGV[3]  lease in ms; what is left of the writer's is kept if it is longer
-- ARGV[4]  channel of the release messages
-- ARGV[5]  "spublish": as a message of the shard; "publish": by PUBLISH
--
-- Reply: an integer: 1 the reader holds the lock, 0 neither of the two does;
--        WRONGTYPE: the key is no read-write lock.
-- Idempotent: both fields are of one acquisition, so that finding the reader's means that this was
-- done; once both are gone, nothing is changed. A repeated run tells nobody, and never sets a TTL
-- to less.
-- A waiting writer stays announced: the message lets new readers in only where none waits. A
-- publish that is refused (ACL) must not hide what was done: waiters poll as well.
@shared_check@
local function holds(field)
    return redis.call('hexists', KEYS[1], field) == 1
end
local writes = holds(ARGV[1])
local repeated = not writes and holds(ARGV[2])
if not writes and not repeated then
    return 0
end
local lease = tonumber(ARGV[3])
local mine = math.max(lease, repeated and redis.call('pttl', KEYS[2]) or left)
if left < lease and not (repeated and left == -1) then  -- as in shared_read
    redis.call('pexpire', KEYS[1], string.format('%.0f', lease))
end
redis.call('set', KEYS[2], '1', 'px', string.format('%.0f', mine))
if repeated then
    return 1
end
redis.call('hset', KEYS[1], 'mode', 'read', ARGV[2], '1')
local gone = redis.pcall('hdel', KEYS[1], ARGV[1])
if type(gone) ~= 'number' then
    redis.call('hset', KEYS[1], 'mode', 'write')  -- for this holder alone, under either field
    return gone
end
if ARGV[5] == 'spublish' then
    redis.pcall('spublish', ARGV[4], '1')
else
    redis.pcall('publish', ARGV[4], '1')
end
return 1
