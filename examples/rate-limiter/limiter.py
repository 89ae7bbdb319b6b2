"""A sliding window: at most LIMIT requests of a user in WINDOW seconds.

    limiter.py HOST PORT multi|script take USER TIMES     how many of TIMES requests are admitted
    limiter.py HOST PORT multi|script count USER          how many requests the window holds

A window is one sorted set: a member for each admitted request, with its time as the score. So one key is enough, and it
does not matter into how many partitions a region is divided.
"""

import os
import sys
import time
import uuid

import redis

LIMIT = int(os.environ.get("LIMIT", "10"))
WINDOW = float(os.environ.get("WINDOW", "60"))

SCRIPT = """
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1] - ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then
    return 0
end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])
redis.call('PEXPIRE', KEYS[1], math.ceil(ARGV[2] * 1000))
return 1
"""


def with_multi(client, key):
    """Enters the request, and takes it out again if it was one too many."""
    now, request = time.time(), str(uuid.uuid4())
    with client.pipeline(transaction=True) as pipe:
        pipe.zremrangebyscore(key, "-inf", now - WINDOW)
        pipe.zadd(key, {request: now})
        pipe.zcard(key)
        pipe.pexpire(key, int(WINDOW * 1000))
        count = pipe.execute()[2]
    if count > LIMIT:
        client.zrem(key, request)
    return count <= LIMIT


def with_script(client, key):
    script = client.register_script(SCRIPT)
    return script(keys=[key], args=[time.time(), WINDOW, LIMIT, str(uuid.uuid4())]) == 1


def main(host, port, way, verb, user, times="1"):
    client = redis.Redis(host, int(port))
    key = f"limit:{way}:{user}"
    if verb == "count":
        return client.zcount(key, time.time() - WINDOW, "+inf")
    admit = {"multi": with_multi, "script": with_script}[way]
    return sum(admit(client, key) for _ in range(int(times)))


print(main(*sys.argv[1:]))
