-- SPDX-License-Identifier: BSL-1.0
-- Renews or checks many holds at once, or lowers what is left of them.
--
-- KEYS[i]      a lock
-- ARGV[2i-1]   the token that it should have
-- ARGV[2i]     lease in ms, to which a lower TTL is raised; "0": only check; below 0: a longer TTL,
--              or none, is lowered to the lease without its sign
--
-- Reply: an array, for each key: 0 without this token; above 0 held (and renewed): a TTL that is
-- longer than the lease and stays so, in ms, at least 2; else 1; or the text of the error that this
-- key alone met.
-- Idempotent: sets no value, only a TTL. One that lowers it may run late, after a longer lease was
-- promised: the client must not promise one while a copy may be on its way.
local answers = {}
for i = 1, #KEYS do
    local token, lease = ARGV[2 * i - 1], tonumber(ARGV[2 * i])
    local answer = redis.pcall('get', KEYS[i])
    if type(answer) ~= 'table' then
        answer = answer == token and 1 or 0
    end
    if answer == 1 then
        local left = redis.pcall('pttl', KEYS[i])
        if type(left) ~= 'number' then
            answer = left
        elseif lease > 0 and left < lease or lease < 0 and (left > -lease or left == -1) then
            local set = redis.pcall('pexpire', KEYS[i], string.format('%.0f', math.abs(lease)))
            if type(set) ~= 'number' then
                answer = set
            end
        elseif left > math.abs(lease) or lease == 0 and left ~= -1 then
            answer = math.max(left, 2)
        end
    end
    answers[i] = type(answer) == 'number' and answer or answer.err or 'ERR unknown'
end
return answers
