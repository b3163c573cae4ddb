-- SPDX-License-Identifier: BSL-1.0
-- Renews or checks many read holds of read-write locks at once, or lowers what is left of them.
--
-- KEYS[2i-1]   a lock
-- KEYS[2i]     the timeout key of the hold
-- ARGV[2i-1]   the field that should hold it
-- ARGV[2i]     lease in ms, as of `renew`: of the timeout key. The TTL of the lock, which other
--              readers share, is raised as well. Only if there is no other reader, it is lowered,
--              or set where it was taken away.
--
-- Reply: as of `renew`; 0 also if the lease has ended, which removes the field.
-- Idempotent: as `renew`.
local answers = {}
for i = 1, #KEYS / 2 do
    local lock, deadline = KEYS[2 * i - 1], KEYS[2 * i]
    local field, lease = ARGV[2 * i - 1], tonumber(ARGV[2 * i])
    local text = string.format('%.0f', math.abs(lease))
    local failed
    local function try(...)
        local answer = redis.pcall(...)
        if type(answer) ~= 'number' then
            failed = failed or answer.err or 'ERR unknown'
            return 0
        end
        return answer
    end
    local held = try('hexists', lock, field)
    local left = held == 1 and not failed and try('pttl', deadline)
    if left == -2 then
        held = 0
        try('hdel', lock, field)
        if try('hlen', lock) == 1 then
            try('del', lock)
        end
    elseif left and not failed then
        if lease > 0 and left < lease or lease < 0 and (left > -lease or left == -1) then
            try('pexpire', deadline, text)
        elseif left > math.abs(lease) or lease == 0 and left ~= -1 then
            held = math.max(left, 2)
        end
        local whole = try('pttl', lock)
        local raises = lease > 0 and whole ~= -1 and whole < lease
        local limits = lease ~= 0 and whole == -1 or lease < 0 and whole > -lease
        if raises or limits and try('hlen', lock) == 2 then
            local wanted = lease < 0 and -lease or math.max(lease, left)
            try('pexpire', lock, string.format('%.0f', wanted))
        end
    end
    answers[i] = failed or held
end
return answers
