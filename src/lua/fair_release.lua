-- SPDX-License-Identifier: BSL-1.0
-- Releases a fair lock if this field holds it, and takes it out of the line if it is there. A free
-- lock then goes to the first in line: a waiter of conch has it from now on, one of Redisson is
-- told that it may take it.
--
-- KEYS[1]  the lock: a hash of the holder's field
-- KEYS[2]  the line: a list
-- KEYS[3]  the line: a sorted set
-- KEYS[4]  what waiters of conch want: a hash
-- KEYS[5]  key of the fencing token
-- ARGV[1]  field of the holder, or of a waiter who gives up
-- ARGV[2]  what the channels of the waiters begin with, each before a field
-- ARGV[3]  "spublish": as a message of the shard; "publish": by PUBLISH
-- ARGV[4]  where who watches the lock is told: as the field of a waiter; none: nobody is
--
-- Messages: "0" look again; "TOKEN:LEASE:TRY" the lock is yours for so many ms, with this fencing
-- token (0: none), by the place that the try of this number got; "0:0" nothing: it shows whether
-- anybody hears. Who watches is told "0", and asks.
-- Reply: an integer: -1 if the field doesn't hold the lock; else how many clients were told.
-- Idempotent: deletes one field that is never used again; a second run tells the first in line
-- once more, or gives it a lock that is free by then. What goes wrong with the line must not undo
-- or hide the release.
-- Who was given the lock, and does not hear of it, has it for no longer than its place would have
-- lasted, so that a dead waiter costs the others no more than that. Who lives asks before that is
-- over. The next in line is told to look again: it may be waiting for the end of the last holder's
-- lease.
@fair_queue@
local held = redis.call('hdel', KEYS[1], ARGV[1])
local function told(field, message)
    return tell(ARGV[3], ARGV[2] .. field, message)
end
-- Who holds the lock is not in line.
local function pass_on()
    if held == 0 then
        leave(ARGV[1])
    end
    if redis.call('zcard', KEYS[3]) == 0 then
        look_at_line()
        keep_line()
        return 0
    end
    local first, wish, last
    if redis.call('exists', KEYS[1]) == 0 then
        first, wish, last = first_in_line()
    end
    if not first then
        return 0
    end
    local message = '0'
    if wish then
        local lease, try, token_ttl = string.match(wish, '^(%d+):%d+:(%d+):?(%d*)$')
        local hears = told(first, '0:0') > 0
        if not hears then
            lease = whole(math.min(tonumber(lease), last - now))
        end
        local token = give(first, lease, token_ttl ~= '' and token_ttl)
        if type(token) == 'string' then
            message = (token ~= '' and token or '0') .. ':' .. lease .. ':' .. try
            local next_one = not hears and first_in_line()
            if next_one then
                told(next_one, '0')
            end
        end
    end
    return told(first, message)
end
local done, clients = true, 0
if line then
    done, clients = pcall(pass_on)
end
if ARGV[4] then
    told(ARGV[4], '0')
end
if held == 0 then
    return -1
end
return done and clients or 0
