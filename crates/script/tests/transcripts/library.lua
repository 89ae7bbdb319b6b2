#!lua name=lib
local n = 0
local own = redis
local function inc() n = n + 1 return n end
redis.register_function('f', inc)
redis.register_function{function_name='g', callback=function(k, a) return {#k, #a} end, description='gd', flags={'allow-stale', 'no-writes'}}
redis.register_function('err', function(k)
  error('boo') end)
redis.register_function('err2', function() return redis.error_reply('boo') end)
redis.register_function('glob', function() x = 1 end)
redis.register_function('keys', function() return KEYS end)
redis.register_function('reg', function() redis.register_function('z', function() end) end)
redis.register_function('kept', function() own.register_function('z', function() end) end)
redis.register_function('args', function() own.redis = redis end)
redis.register_function('meta', function() return getmetatable(_G) end)
redis.register_function('callerr', function() return redis.call('foo') end)
redis.register_function('str', function() return tostring(math.floor(1.5)) .. type(_G) .. redis.sha1hex('') end)
redis.register_function('ping', function() return redis.call('ping') end)
