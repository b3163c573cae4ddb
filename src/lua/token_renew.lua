-- SPDX-License-Identifier: BSL-1.0
-- Renews or checks many holds at once.
--
-- KEYS[i]      a lock
-- ARGV[2i-1]   the token that it should have
-- ARGV[2i]     lease in ms; "0": only check
--
-- Reply: an array, for each key: 1 held (and renewed), 0 without this token, or the text of the
-- error that this key alone met.
-- Idempotent: sets no value, only raises a TTL that is lower than the lease, or was lost.
local answers = {}
for i = 1, #KEYS do
    local token, lease = ARGV[2 * i - 1], tonumber(ARGV[2 * i])
    local answer = redis.pcall('get', KEYS[i])
    if type(answer) ~= 'table' then
        answer = answer == token and 1 or 0
    end
    if answer == 1 and lease > 0 then
        local left = redis.pcall('pttl', KEYS[i])
        if type(left) == 'number' and left < lease then
            local set = redis.pcall('pexpire', KEYS[i], ARGV[2 * i])
            if type(set) ~= 'number' then
                answer = set
            end
        elseif type(left) ~= 'number' then
            answer = left
        end
    end
    answers[i] = type(answer) == 'number' and answer or answer.err or 'ERR unknown'
end
return answers
