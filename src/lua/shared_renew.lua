-- SPDX-License-Identifier: BSL-1.0
-- Renews or checks many read holds of read-write locks at once.
--
-- KEYS[2i-1]   a lock
-- KEYS[2i]     the timeout key of the hold
-- ARGV[2i-1]   the field that should hold it
-- ARGV[2i]     lease in ms, to which lower TTLs are raised; "0" or below: only check
--
-- Reply: an array, for each hold: 0 not held by this field, or its lease has ended; 1 held (and
-- renewed); or the text of the error that this lock alone met.
-- Idempotent: sets TTLs, never to less, and removes a field whose timeout key is gone. The TTL of
-- the lock is as long as the longest lease of its readers, so none of them can lower it.
local function error_of(answer)
    return type(answer) == 'table' and answer.err
end
local answers = {}
for i = 1, #KEYS / 2 do
    local lease = tonumber(ARGV[2 * i])
    local held = redis.pcall('hexists', KEYS[2 * i - 1], ARGV[2 * i - 1])
    local failed = error_of(held)
    local mine = held == 1 and redis.pcall('pttl', KEYS[2 * i])
    failed = failed or error_of(mine)
    if mine == -2 then
        held = 0
        failed = error_of(redis.pcall('hdel', KEYS[2 * i - 1], ARGV[2 * i - 1]))
        if redis.pcall('hlen', KEYS[2 * i - 1]) == 1 then
            redis.pcall('del', KEYS[2 * i - 1])
        end
    elseif held == 1 and not failed and lease > 0 then
        local text = string.format('%.0f', lease)
        if mine ~= -1 and mine < lease then
            failed = error_of(redis.pcall('set', KEYS[2 * i], '1', 'px', text))
        end
        local left = redis.pcall('pttl', KEYS[2 * i - 1])
        failed = failed or error_of(left)
        if not failed and left ~= -1 and left < lease then
            failed = error_of(redis.pcall('pexpire', KEYS[2 * i - 1], text))
        end
    end
    answers[i] = failed or held
end
return answers
