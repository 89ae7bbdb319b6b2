"""redis-py, as an application uses it: host, port and password are the arguments."""

import sys

import redis

host, port, password = sys.argv[1], int(sys.argv[2]), sys.argv[3]
BINARY = bytes(range(256)) * 3 + b"\r\n$5\r\n"


def raises(kind, fragment, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as error:
        assert fragment in str(error), (fragment, str(error))
        return
    raise AssertionError(f"{fragment}: no error")


def strings(r):
    r.flushall()
    assert r.set("a", "1") is True
    assert r.get("a") == b"1"
    assert r.get("missing") is None
    assert r.set("a", "2", nx=True) is None
    assert r.set("a", "2", xx=True) is True
    assert r.set("a", "3", get=True) == b"2"
    assert r.setnx("a", "4") == 0 and r.setnx("b", "4") == 1
    assert r.getset("b", "5") == b"4"
    assert r.mset({"m1": "1", "m2": "2", "m3": "3"}) is True
    assert r.mget("m1", "missing", "m3") == [b"1", None, b"3"]
    assert r.exists("m1", "m2", "missing") == 2
    assert r.delete("m1", "m2", "missing") == 2
    assert r.strlen("a") == 1
    assert r.type("a") == b"string"
    r.set(BINARY, BINARY)
    assert r.get(BINARY) == BINARY
    large = b"x" * 1_000_000
    r.set("large", large)
    assert r.get("large") == large


def many(r):
    with r.pipeline(transaction=False) as pipe:
        for n in range(1000):
            pipe.set(f"many:{n}", n)
        for n in range(1000):
            pipe.get(f"many:{n}")
        replies = pipe.execute()
    assert replies[:1000] == [True] * 1000
    assert replies[1000:] == [str(n).encode() for n in range(1000)]
    assert sorted(r.scan_iter(match="many:*")) == sorted(f"many:{n}".encode() for n in range(1000))
    assert r.dbsize() >= 1000
    with r.pipeline(transaction=False) as pipe:
        pipe.set("p", 1)
        pipe.execute_command("NOSUCH")
        pipe.get("p")
        replies = pipe.execute(raise_on_error=False)
    assert replies[0] is True and replies[2] == b"1"
    assert isinstance(replies[1], redis.ResponseError), replies[1]


def types(r):
    r.delete("h", "s", "z", "l", "c")
    assert r.set("a", "1", ex=1000) and r.ttl("a") > 500
    assert r.hset("h", mapping={"f": "1", "g": "2"}) == 2
    assert r.hincrby("h", "f", 4) == 5 and r.hgetall("h")[b"f"] == b"5"
    assert r.sadd("s", "x", "y") == 2 and r.smembers("s") == {b"x", b"y"}
    assert r.zadd("z", {"one": 1.5, "two": 2}) == 2 and r.zscore("z", "one") == 1.5
    assert r.rpush("l", "a", "b") == 2 and tuple(r.blpop("l", 1)) == (b"l", b"a")
    assert r.incrbyfloat("c", 0.5) == 0.5


def errors(r):
    raises(redis.ResponseError, "unknown command", r.execute_command, "NOSUCH", "x")
    raises(redis.ResponseError, "wrong number of arguments", r.execute_command, "GET")
    raises(redis.ResponseError, "syntax error", r.execute_command, "SET", "a", "1", "FOO")
    raises(redis.ResponseError, "invalid expire time", r.set, "a", "1", ex=0)
    assert r.ping() is True


for protocol in (2, 3):
    r = redis.Redis(host, port, password=password, protocol=protocol, client_name="tester")
    assert r.ping() is True
    strings(r)
    many(r)
    types(r)
    errors(r)
    assert r.client_getname() in ("tester", b"tester")
    assert r.info()["redis_mode"] == "standalone"
    assert r.execute_command("HELLO") is not None
    token = r.execute_command("TIDE.SESSION", "EXPORT")
    other = redis.Redis(host, port, password=password, protocol=protocol)
    assert other.execute_command("TIDE.SESSION", "IMPORT", token) in (True, b"OK", "OK")
    r.close()

raises(redis.AuthenticationError, "", redis.Redis(host, port, password="wrong").ping)
raises(redis.AuthenticationError, "", redis.Redis(host, port).ping)
print(f"redis-py {redis.__version__}: all is well")
