-- SPDX-License-Identifier: BSL-1.0
-- Enters or leaves a deeper level of a lock that this field holds.
--
-- KEYS[1]  the lock
-- ARGV[1]  field of the holder
-- ARGV[2]  the new depth, at least 1
-- ARGV[3]  lease in ms
--
-- Reply: an integer: 1 done, 0 the field doesn't hold the lock (the outer hold is lost).
-- Idempotent: writes the depth as it shall be, never adds; never creates the key; only raises the
-- TTL.
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
    return 0
end
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[3]) then
    redis.call('pexpire', KEYS[1], ARGV[3])
end
redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
return 1
