-- What scripts find: globals that they cannot change, Redis's function table, and calls that no script can outlive.
local native = ...

local error, type, tostring, next, select = error, type, tostring, next, select
local rawget, rawset = rawget, rawset
local setmetatable, getmetatable, setfenv = setmetatable, getmetatable, setfenv
local pcall, xpcall, loadstring, resume = pcall, xpcall, loadstring, coroutine.resume
local concat, insert = table.concat, table.insert
local stopped = native.stopped

-- Tables that cannot be changed: an empty one before each.
local behind = setmetatable({}, { __mode = "k" })

local function refuse()
  error("Attempt to modify a readonly table", 2)
end

local sealed = setmetatable({}, { __newindex = refuse, __metatable = false })
behind[sealed] = {}

local function protect(inner)
  local outer = setmetatable({}, { __index = inner, __newindex = refuse, __metatable = sealed })
  behind[outer] = inner
  return outer
end

local real = {}
setmetatable(real, {
  __index = function(_, name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
  end,
})
local globals = protect(real)

for _, name in next, { "assert", "error", "gcinfo", "ipairs", "next", "rawequal", "select", "tonumber", "tostring", "type",
    "_VERSION" } do
  real[name] = _G[name]
end
real._G = globals

-- No more values than these can be given to a function that is not Lua's, unless they are numbers.
local unpack, many = unpack, 7000
function real.unpack(t, from, to)
  local first, last = from or 1, to or #t
  if last - first >= many then
    local others = 0
    for at = first, last do
      if type(t[at]) ~= "number" then others = others + 1 end
      if others > many then error("too many results to unpack", 2) end
    end
  end
  return unpack(t, from, to)
end

-- Whoever catches an error is stopped all the same. Errors of functions that are not Lua's become what scripts know.
local function caught(done, ...)
  if stopped() then error("the script was stopped", 0) end
  if done then return true, ... end
  return false, native.fault((...))
end
local function told(done, ...)
  if done then return true, ... end
  local fault = ...
  local text = type(fault) == "table" and fault.err
  if type(text) == "string" or type(text) == "number" then return false, text end
  return false, ...
end
function real.pcall(...) return told(caught(pcall(...))) end
function real.xpcall(run, handle)
  return caught(xpcall(run, function(fault) return handle(native.fault(fault)) end))
end

function real.rawset(t, key, value)
  if behind[t] then error("Attempt to modify a readonly table", 0) end
  return rawset(t, key, value)
end
function real.rawget(t, key)
  return rawget(behind[t] or t, key)
end
function real.setmetatable(t, meta)
  if behind[t] then error("Attempt to modify a readonly table", 0) end
  return setmetatable(t, meta)
end
real.getmetatable = getmetatable
getmetatable("").__metatable = sealed

-- Iterating gives what is behind, but not the table itself.
function real.pairs(t)
  local inner = behind[t]
  if not inner then return pairs(t) end
  local copy = {}
  for key, value in next, inner do copy[key] = value end
  return next, copy, nil
end

function real.loadstring(text, name)
  if type(text) == "string" and text:byte() == 27 then return nil, "attempt to load a compiled chunk" end
  local chunk, fault = loadstring(text, name)
  if chunk then setfenv(chunk, globals) end
  return chunk, fault
end
function real.load(reader, name)
  local parts = {}
  while true do
    local part = reader()
    if part == nil or part == "" then break end
    insert(parts, part)
  end
  return real.loadstring(concat(parts), name or "=(load)")
end
function real.collectgarbage(what)
  if what == "count" then return collectgarbage("count") end
  collectgarbage("collect")
  return 0
end

local function copy(from)
  local to = {}
  for key, value in next, from do to[key] = value end
  return to
end
real.string = protect(copy(string))
real.table = protect(copy(table))
local math = copy(math)
math.random, math.randomseed = native.random, native.randomseed
real.math = protect(math)
local coroutine = copy(coroutine)
function coroutine.resume(...) return caught(resume(...)) end
real.coroutine = protect(coroutine)
for name, library in next, native.libraries do real[name] = protect(library) end
real.redis = protect(native.redis)

-- A library of functions finds little while it is loaded, and what scripts find while one of its functions is called.
local registering = setmetatable({}, getmetatable(real))
registering.redis = protect(setmetatable(native.registering, getmetatable(real)))
local loading = false
local inside = setmetatable({}, {
  __index = function(_, name)
    local value = rawget(loading and registering or real, name)
    if value == nil then error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2) end
    return value
  end,
  __newindex = refuse,
  __metatable = sealed,
})
behind[inside] = real

local function handle(fault)
  local source, line = native.position()
  fault = native.fault(fault)
  if type(fault) ~= "table" then fault = { err = "ERR " .. tostring(fault) } end
  if source then
    rawset(fault, "source", source)
    rawset(fault, "line", line)
  end
  return fault
end

local function run(chunk, keys, arguments)
  rawset(real, "KEYS", keys)
  rawset(real, "ARGV", arguments)
  setfenv(chunk, globals)
  local done, value = xpcall(chunk, handle)
  rawset(real, "KEYS", nil)
  rawset(real, "ARGV", nil)
  return done, value
end

local function load(chunk)
  setfenv(chunk, inside)
  loading = true
  local done, value = xpcall(chunk, handle)
  loading = false
  return done, value
end

local function call(callback, keys, arguments)
  return xpcall(function() return callback(keys, arguments) end, handle)
end

return run, load, call
