"""Tidemark sessions for redis-py: a user's session follows the user over requests, servers and regions.

    pool = redis.Redis(...)                           # any client with a connection pool
    app.wsgi_app = SessionMiddleware(app.wsgi_app, pool)

    request.environ["tidemark.session"].redis.set(...)   # in a handler: all commands on one connection

The token of the session comes with the request, in the header `Tide-Session` or in a cookie, and goes out with the response.
"""

import re
import time

import redis

HEADER = "Tide-Session"
TOKEN_BYTES_MAX = 4096  # proxies allow 8 KiB of headers or more
_TOKEN = re.compile(r"tm[0-9]+\.[A-Za-z0-9_-]+")


class SessionError(Exception):
    """The session cannot go on; `status` is what an HTTP server answers."""

    status = "503 Service Unavailable"


class BadToken(SessionError):
    """This is no session token of this cluster, or it was damaged. It comes from the user, so anything may be in it."""

    status = "400 Bad Request"


class StaleSession(SessionError):
    """This region has not received what the session depends on: try again later, or in the previous region."""


class SessionLost(SessionError):
    """The connection broke within the session, and its successor does not know what the session has seen."""


class Contended(SessionError):
    """What the transaction reads was changed again and again; nothing was written."""


class _OneConnection:
    """Looks like a pool to a client, and holds one connection of `pool`: pipelines use it too."""

    def __init__(self, pool):
        self._pool, self._connection = pool, pool.get_connection()

    def __getattr__(self, name):
        return getattr(self._pool, name)

    def get_connection(self, *_, **__):
        return self._connection

    def release(self, _):
        pass

    def give_back(self):
        self._pool.release(self._connection)


class Session:
    """Runs commands on one connection of a client's pool, as the session that `token` stands for: a context manager.

    `redis` is a client for that connection. `wait` is how many seconds to wait until the region has caught up; the server itself
    waits up to its `wait_limit` each time that it is asked.
    """

    def __init__(self, client, token=None, wait=2.0):
        self._client, self._token, self._wait = client, token, wait
        self.redis = self._pool = self._connection = None

    def __enter__(self):
        self._pool = _OneConnection(self._client.connection_pool)
        try:
            self.redis = redis.Redis(connection_pool=self._pool)
            self._connection = self.redis.client_id()
            if self._token:
                self._resume()
        except BaseException:
            self._pool.give_back()
            raise
        return self

    def __exit__(self, *_):
        self._pool.give_back()

    def _resume(self):
        if len(self._token) > TOKEN_BYTES_MAX or not _TOKEN.fullmatch(self._token):
            raise BadToken("this is not a session token")
        deadline = time.monotonic() + self._wait
        while True:
            try:
                self.redis.execute_command("TIDE.SESSION", "IMPORT", self._token)
                return
            except redis.ResponseError as error:
                text = str(error)
                if "STALESESSION" in text:
                    if time.monotonic() >= deadline:
                        raise StaleSession(text) from error
                    time.sleep(0.01)
                elif "session token" in text or "CLOCKSKEW" in text:
                    raise BadToken(text) from error
                else:
                    raise

    def transact(self, work, check=False, tries=100):
        """Runs `work(redis)` as one transaction, and returns what it returns: all that it reads is one snapshot, and its writes are seen at
        once. If it raises, nothing is written.

        With `check` it is run again, up to so many times, if something that it has read was changed in this region meanwhile.
        """
        for _ in range(tries):
            self.redis.execute_command("TIDE.BEGIN")
            try:
                result = work(self.redis)
            except BaseException:
                self.redis.execute_command("TIDE.ROLLBACK")
                raise
            if self.redis.execute_command("TIDE.COMMIT", *(["CHECK"] if check else [])) is not None:
                return result
        raise Contended("what the transaction reads was changed again and again")

    def token(self):
        """The token of everything that this session has read and written."""
        with self.redis.pipeline(transaction=False) as pipeline:
            pipeline.client_id()
            pipeline.execute_command("TIDE.SESSION", "EXPORT")
            connection, token = pipeline.execute()
        if connection != self._connection:
            raise SessionLost("the connection broke within the session")
        token = token.decode() if isinstance(token, bytes) else token
        if len(token) > TOKEN_BYTES_MAX:
            raise SessionError(f"the session token has {len(token)} bytes, too many for a header")
        return token


class SessionMiddleware:
    """WSGI middleware: `environ["tidemark.session"]` is the user's `Session` while the request is handled.

    The response leaves when the handler has ended, since its headers hold the token. With `cookie`, the token travels in a cookie
    of that name. A token that is none is answered 400, or, with `fresh`, ignored: the user then starts anew.
    """

    def __init__(self, app, client, cookie=None, wait=2.0, fresh=False):
        self.app, self.client, self.cookie, self.wait, self.fresh = app, client, cookie, wait, fresh

    def __call__(self, environ, start_response):
        try:
            try:
                return self._serve(environ, start_response, self._token_of(environ))
            except BadToken:
                if not self.fresh:
                    raise
                return self._serve(environ, start_response, None)
        except SessionError as error:
            headers = [("Content-Type", "text/plain; charset=utf-8")]
            if error.status.startswith("503"):
                headers.append(("Retry-After", "1"))
            start_response(error.status, headers)
            return [f"{error}\n".encode()]

    def _serve(self, environ, start_response, token):
        started = []
        body = []

        def start(status, headers, exc_info=None):
            started[:] = [status, list(headers)]
            return body.append

        with Session(self.client, token, self.wait) as session:
            environ["tidemark.session"] = session
            chunks = self.app(environ, start)
            try:
                body.extend(chunks)
            finally:
                getattr(chunks, "close", lambda: None)()
            token = session.token()
        status, headers = started
        if self.cookie:
            headers.append(("Set-Cookie", f"{self.cookie}={token}; Path=/; HttpOnly; SameSite=Lax"))
        else:
            headers.append((HEADER, token))
        start_response(status, headers)
        return body

    def _token_of(self, environ):
        if not self.cookie:
            return environ.get("HTTP_TIDE_SESSION")
        for pair in environ.get("HTTP_COOKIE", "").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == self.cookie:
                return value
        return None
