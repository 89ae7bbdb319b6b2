"""Django's cache and sessions on its own RedisCache: host and port are the arguments.

`set_many` is a transaction over its keys, which must be in one partition. The braces in the prefix see to that: they are
a hash tag.
"""

import sys
import time

import django
from django.conf import settings
from django.http import HttpResponse, JsonResponse
from django.urls import path

settings.configure(
    ALLOWED_HOSTS=["*"],
    SECRET_KEY="only for this example",
    ROOT_URLCONF=__name__,
    CACHES={
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": f"redis://{sys.argv[1]}:{sys.argv[2]}",
            "KEY_PREFIX": "{shop}",
        }
    },
    SESSION_ENGINE="django.contrib.sessions.backends.cache",
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware"],
)
django.setup()

from django.core.cache import cache  # noqa: E402
from django.test import Client  # noqa: E402
from django.views.decorators.cache import cache_page  # noqa: E402

rendered = 0


def cart(request):
    items = request.session.get("items", [])
    if request.method == "POST":
        items.append(request.POST["item"])
        request.session["items"] = items
    return JsonResponse({"items": items})


def leave(request):
    request.session.flush()
    return HttpResponse("bye")


@cache_page(60)
def catalogue(request):
    global rendered
    rendered += 1
    return HttpResponse(f"page {rendered}")


urlpatterns = [path("cart", cart), path("leave", leave), path("catalogue", catalogue)]


def values():
    cache.clear()
    for value in (1, "two", [3, {"four": 5.5}], None, b"\x00\xff", True):
        cache.set("value", value)
        assert cache.get("value", "absent") == value, value
    assert cache.add("new", 1) is True and cache.add("new", 2) is False
    assert cache.incr("new", 5) == 6 and cache.decr("new") == 5
    assert cache.get_or_set("made", lambda: "once") == "once"
    assert cache.get_or_set("made", lambda: "twice") == "once"
    assert cache.set_many({"a": 1, "b": [2], "c": "3"}, timeout=60) == []
    assert cache.get_many(["a", "b", "c", "d"]) == {"a": 1, "b": [2], "c": "3"}
    cache.delete_many(["a", "b"])
    assert cache.has_key("c") and not cache.has_key("a") and cache.delete("c")
    cache.set("version", "first", version=1)
    assert cache.incr_version("version") == 2 and cache.get("version", version=2) == "first"
    try:
        cache.incr("absent")
    except ValueError:
        return
    raise AssertionError("incr of a key that is absent")


def timeouts():
    cache.set("kept", 1, timeout=600)
    cache.set("brief", 1, timeout=1)
    cache.set("touched", 1, timeout=600)
    cache.set("never", 1, timeout=0)
    assert cache.get("kept") == 1 and cache.get("never") is None
    assert cache.touch("touched", 1) and not cache.touch("absent", 60)
    start = time.monotonic()
    while cache.get("brief") is not None or cache.get("touched") is not None:
        assert time.monotonic() - start < 120, "keys expire"
        time.sleep(0.1)
    assert cache.get("kept") == 1


def sessions():
    ann, bob = Client(), Client()
    assert ann.post("/cart", {"item": "lamp"}).json() == {"items": ["lamp"]}
    assert ann.post("/cart", {"item": "book"}).json() == {"items": ["lamp", "book"]}
    assert bob.get("/cart").json() == {"items": []}
    # Another process of the application has the cookie, and nothing else.
    other = Client()
    other.cookies = ann.cookies
    assert other.get("/cart").json() == {"items": ["lamp", "book"]}
    ann.get("/leave")
    assert ann.get("/cart").json() == {"items": []}


def pages():
    first = Client().get("/catalogue").content
    assert Client().get("/catalogue").content == first and rendered == 1
    cache.clear()
    assert Client().get("/catalogue").content != first


for part in (values, timeouts, sessions, pages):
    part()
    print(f"{part.__name__}: as expected")
