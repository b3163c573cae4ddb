-- SPDX-License-Identifier: BSL-1.0
-- Renews or checks many holds at once.
--
-- KEYS[i]      a lock
-- ARGV[2i-1]   the field that should hold it
-- ARGV[2i]     lease in ms; "0": only check
--
-- Reply: an array, for each key: 1 held (and renewed), 0 not held by this field, or the text of the
-- error that this key alone met.
-- Idempotent: sets no value, only raises a TTL that is lower than the lease, or was lost.
local answers = {}
for i = 1, #KEYS do
    local field, lease = ARGV[2 * i - 1], tonumber(ARGV[2 * i])
    local held = redis.pcall('hexists', KEYS[i], field)
    if held == 1 and lease > 0 then
        local left = redis.pcall('pttl', KEYS[i])
        if type(left) == 'number' and left < lease then
            local set = redis.pcall('pexpire', KEYS[i], ARGV[2 * i])
            if type(set) ~= 'number' then
                held = set
            end
        elseif type(left) ~= 'number' then
            held = left
        end
    end
    if type(held) == 'number' then
        answers[i] = held
    else
        answers[i] = held.err or 'ERR unknown'
    end
end
return answers
