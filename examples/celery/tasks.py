"""Tasks of a shop. `TIDEMARK` is the address, such as 127.0.0.1:7001.

Celery's transactions span several keys, and all keys of a transaction must be in one partition. The braces in the prefix
see to that: they are a hash tag.
"""

import os

from celery import Celery

URL = f"redis://{os.environ.get('TIDEMARK', '127.0.0.1:7001')}/0"
PREFIX = {"global_keyprefix": "{celery}:"}

app = Celery("shop", broker=URL, backend=URL)
app.conf.update(
    broker_transport_options=PREFIX | {"visibility_timeout": 3},
    result_backend_transport_options=PREFIX,
    broker_connection_retry_on_startup=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
)


@app.task
def price(item):
    return {"book": 12, "lamp": 30, "pen": 2}[item]


@app.task
def total(prices):
    return sum(prices)


@app.task(bind=True, max_retries=3)
def charge(self, amount):
    """The bank is not reached at the first two attempts."""
    if self.request.retries < 2:
        raise self.retry(countdown=0.1, exc=ConnectionError("no bank"))
    return {"amount": amount, "attempts": self.request.retries + 1}


@app.task(bind=True, max_retries=1)
def refund(self, amount):
    """The bank is never reached."""
    raise self.retry(countdown=0.1, exc=ConnectionError("no bank"))


@app.task(bind=True)
def die_once(self, path):
    """Kills its worker process at the first delivery."""
    try:
        with open(path, "x"):
            pass
    except FileExistsError:
        return "delivered again"
    os.kill(os.getpid(), 9)
