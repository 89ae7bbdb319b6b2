"""Starts a worker, and runs each kind of task on it: host and port are the arguments."""

import os
import subprocess
import sys
import tempfile
import time

os.environ["TIDEMARK"] = f"{sys.argv[1]}:{sys.argv[2]}"

from celery import chain, chord, group  # noqa: E402
from tasks import app, charge, die_once, price, refund, total  # noqa: E402

PATIENCE = 120


def until(what, look):
    start = time.monotonic()
    while not (found := look()):
        assert time.monotonic() - start < PATIENCE, what
        time.sleep(0.2)
    return found


def tasks():
    assert price.delay("book").get(timeout=PATIENCE) == 12
    results = group(price.s(item) for item in ("book", "lamp", "pen") * 10)().get(timeout=PATIENCE)
    assert results == [12, 30, 2] * 10, results
    assert chain(price.s("pen"), charge.s())().get(timeout=PATIENCE)["amount"] == 2
    failed = price.delay("sofa")
    assert isinstance(failed.get(timeout=PATIENCE, propagate=False), KeyError)
    assert failed.state == "FAILURE"


def retries():
    assert charge.delay(5).get(timeout=PATIENCE) == {"amount": 5, "attempts": 3}
    refused = refund.delay(5)
    assert isinstance(refused.get(timeout=PATIENCE, propagate=False), ConnectionError)


def chords():
    for _ in range(5):
        items = [price.s(item) for item in ("book", "lamp", "pen") * 4]
        assert chord(items)(total.s()).get(timeout=PATIENCE) == 176
    broken = chord([price.s("book"), price.s("sofa")])(total.s())
    assert "ChordError" in repr(broken.get(timeout=PATIENCE, propagate=False))


def later():
    asked = time.time()
    result = price.apply_async(["lamp"], countdown=1)
    assert result.get(timeout=PATIENCE) == 30 and time.time() - asked >= 1
    stored = app.AsyncResult(result.id)
    assert stored.state == "SUCCESS" and stored.result == 30
    stored.forget()
    assert app.AsyncResult(result.id).state == "PENDING"


def a_worker_dies():
    with tempfile.TemporaryDirectory() as folder:
        result = die_once.delay(os.path.join(folder, "seen"))
        assert result.get(timeout=PATIENCE) == "delivered again"


def control():
    replies = until("the worker answers", lambda: app.control.inspect(timeout=5).ping())
    assert [list(reply.values()) for reply in replies.values()] == [["pong"]], replies
    with app.connection_for_read() as connection:
        # What waits is counted, and is gone when the queue is purged.
        until("the queue is empty", lambda: connection.default_channel.queue_declare("celery").message_count == 0)
        price.apply_async(["book"], queue="nobody")
        assert connection.default_channel.queue_declare("nobody").message_count == 1
        assert connection.default_channel.queue_purge("nobody") == 1


def main():
    worker = subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "tasks", "worker", "--concurrency", "2", "--loglevel", "WARNING"],
        cwd=os.path.dirname(os.path.abspath(__file__)),
    )
    try:
        until("the worker is ready", lambda: app.control.inspect(timeout=1).ping())
        for part in (tasks, retries, chords, later, a_worker_dies, control):
            part()
            print(f"{part.__name__}: as expected", flush=True)
    finally:
        worker.terminate()
        worker.wait(timeout=PATIENCE)


main()
