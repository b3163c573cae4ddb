-- SPDX-License-Identifier: BSL-1.0
-- Renews or checks many holds at once, or lowers what is left of them.
--
-- KEYS[i]      a lock
-- ARGV[2i-1]   the field that should hold it
-- ARGV[2i]     lease in ms, to which a lower TTL is raised; "0": only check; below 0: a longer TTL,
--              or none, is lowered to the lease without its sign
--
-- Reply: an array, for each key: 0 not held by this field; above 0 held (and renewed): a TTL that
-- is longer than the lease and stays so, in ms, at least 2; else 1; or the text of the error that
-- this key alone met.
-- Where the expiry of a read-write lock with several readers was taken away, none is set: no reader
-- knows how long the others go on.
-- Idempotent: sets no value, only a TTL. One that lowers it may run late, after a longer lease was
-- promised: the client must not promise one while a copy may be on its way.
local answers = {}
for i = 1, #KEYS do
    local field, lease = ARGV[2 * i - 1], tonumber(ARGV[2 * i])
    local held = redis.pcall('hexists', KEYS[i], field)
    if held == 1 then
        local left = redis.pcall('pttl', KEYS[i])
        if type(left) ~= 'number' then
            held = left
        elseif left == -1 and redis.pcall('hget', KEYS[i], 'mode') == 'read' and
            redis.pcall('hlen', KEYS[i]) ~= 2 then
            held = 1
        elseif lease > 0 and left < lease or lease < 0 and (left > -lease or left == -1) then
            local set = redis.pcall('pexpire', KEYS[i], string.format('%.0f', math.abs(lease)))
            if type(set) ~= 'number' then
                held = set
            end
        elseif left > math.abs(lease) or lease == 0 and left ~= -1 then
            held = math.max(left, 2)
        end
    end
    if type(held) == 'number' then
        answers[i] = held
    else
        answers[i] = held.err or 'ERR unknown'
    end
end
return answers
