"""A shop whose users have a cart: `POST /cart` replaces it, `GET /cart` shows it. `POST /lost` loses the connection on the way.
`POST /order` takes one from the stock, if there is one.

python3 shop.py HOST PORT session|plain [COOKIE]
"""

import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server

import redis

from tidemark_session import SessionMiddleware

host, port, mode = sys.argv[1], int(sys.argv[2]), sys.argv[3]
client = redis.Redis(host=host, port=port)


def order(redis):
    stock = int(redis.get("stock"))
    if stock == 0:
        return b"sold out"
    redis.mset({"stock": stock - 1, "sold": int(redis.get("sold")) + 1})
    return b"ok"


def shop(environ, start_response):
    session = environ.get("tidemark.session")
    cart = session.redis if session else client
    if environ["PATH_INFO"] == "/order":
        body = session.transact(order, check=True)
    elif environ["REQUEST_METHOD"] == "POST":
        if environ["PATH_INFO"] == "/lost":
            client.client_kill_filter(_id=cart.client_id())
        cart.set("cart", environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        body = b"ok"
    else:
        body = cart.get("cart") or b""
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


cookie = sys.argv[4] if len(sys.argv) > 4 else None
app = SessionMiddleware(shop, client, cookie=cookie, wait=1.0) if mode == "session" else shop
server = make_server("127.0.0.1", 0, app, handler_class=Quiet)
print(f"port {server.server_port}", flush=True)
server.serve_forever()
