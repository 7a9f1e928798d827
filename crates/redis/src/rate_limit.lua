-- Takes units from a token bucket, or returns the microseconds until they are available (GCRA).
-- A bucket is stored as the time at which it is full again; a bucket without a key is full.
-- Its capacity is the number of units that one minute allows.
local a_minute = 60000000
local units_a_minute, units = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- If the clock was set back, the stored time may be further ahead than any bucket takes to fill.
local full_at = math.min(math.max(now, tonumber(redis.call('GET', KEYS[1]) or now)), now + a_minute)
full_at = full_at + units * a_minute / units_a_minute
local wait = full_at - now - a_minute
-- Numbers of this size are exact to a quarter of a microsecond.
if wait >= 1 then
  return math.ceil(wait)
end
local ttl_ms = math.max(1, math.ceil((full_at - now) / 1000))
redis.call('SET', KEYS[1], string.format('%.2f', full_at), 'PX', ttl_ms)
return 0
