-- SPDX-License-Identifier: BSL-1.0
-- Enters or leaves a deeper level of a lock that has this token. The depth is the client's alone:
-- the value of the key is what other clients of this kind of lock compare.
--
-- KEYS[1]  the lock
-- ARGV[1]  token of the holder
-- ARGV[2]  the new depth, at least 1: not kept
-- ARGV[3]  lease in ms
--
-- Reply: an integer: 1 done, 0 the lock doesn't have the token (the outer hold is lost).
-- Idempotent: never creates the key; only raises the TTL.
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return 0
end
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[3]) then
    redis.call('pexpire', KEYS[1], ARGV[3])
end
return 1
