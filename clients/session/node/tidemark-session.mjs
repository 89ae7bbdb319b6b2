// Tidemark sessions for ioredis and node-redis: a user's session follows the user over requests, servers and regions.
//
//   const sessions = new Sessions(client);            // ioredis, or a node-redis client that is connected
//   app.use(sessions.middleware());                   // express, connect, or node:http
//   await request.tide.run("SET", "k", "v");          // in a handler: all commands on one connection
//
// The token of the session comes with the request, in the header Tide-Session or in a cookie, and goes out with the response.

export const HEADER = "tide-session";
export const TOKEN_BYTES_MAX = 4096; // node:http allows 16 KiB of headers, proxies 8 KiB or more
const TOKEN = /^tm[0-9]+\.[A-Za-z0-9_-]+$/;

/** The session cannot go on; `status` is what an HTTP server answers. */
export class SessionError extends Error {
  status = 503;
}
/** This is no session token of this cluster, or it was damaged. It comes from the user, so anything may be in it. */
export class BadToken extends SessionError {
  status = 400;
}
/** This region has not received what the session depends on: try again later, or in the previous region. */
export class StaleSession extends SessionError {}
/** The connection broke within the session, and its successor does not know what the session has seen. */
export class SessionLost extends SessionError {}
/** What the transaction reads was changed again and again; nothing was written. */
export class Contended extends SessionError {}

/** One user's session on one connection. */
class Session {
  constructor(client, connection) {
    this.client = client;
    this.connection = connection;
  }

  /** Runs a command on the connection of the session. */
  run(...command) {
    return send(this.client, command);
  }

  /** Runs `work` as one transaction, and returns what it returns: all that it reads is one snapshot, and its writes are seen at once.
   * If it throws, nothing is written. With `check` it is run again, up to so many times, if something that it has read was changed
   * in this region meanwhile. */
  async transact(work, { check = false, tries = 100 } = {}) {
    for (let n = 0; n < tries; n++) {
      await this.run("TIDE.BEGIN");
      let result;
      try {
        result = await work(this);
      } catch (error) {
        await this.run("TIDE.ROLLBACK");
        throw error;
      }
      if ((await this.run("TIDE.COMMIT", ...(check ? ["CHECK"] : []))) !== null) return result;
    }
    throw new Contended("what the transaction reads was changed again and again");
  }

  /** The token of everything that this session has read and written. */
  async token() {
    const [connection, token] = await Promise.all([this.run("CLIENT", "ID"), this.run("TIDE.SESSION", "EXPORT")]);
    if (connection !== this.connection) throw new SessionLost("the connection broke within the session");
    if (token.length > TOKEN_BYTES_MAX) throw new SessionError(`the session token has ${token.length} bytes`);
    return token;
  }
}

function send(client, command) {
  const [name, ...rest] = command.map(String);
  return typeof client.call === "function" ? client.call(name, ...rest) : client.sendCommand([name, ...rest]);
}

/** The sessions of an application: connections like `client`, one for each request that is being handled. */
export class Sessions {
  /** `wait` is how many milliseconds to wait until the region has caught up; the server itself waits up to its `wait_limit`
   * each time that it is asked. With `cookie`, tokens travel in a cookie of that name. A token that is none is answered 400,
   * or, with `fresh`, ignored: the user then starts anew. */
  constructor(client, { wait = 2000, cookie = null, fresh = false } = {}) {
    Object.assign(this, { client, wait, cookie, fresh, free: [] });
  }

  /** A session that goes on where `token` was exported. Give it back with `close`. */
  async open(token = null) {
    if (token && (token.length > TOKEN_BYTES_MAX || !TOKEN.test(token))) {
      throw new BadToken("this is not a session token");
    }
    const client = this.free.pop() ?? (await this.#connect());
    try {
      const session = new Session(client, await send(client, ["CLIENT", "ID"]));
      if (token) await this.#resume(client, token);
      return session;
    } catch (error) {
      this.free.push(client);
      throw error;
    }
  }

  /** The session is over: its connection serves another one. */
  close(session) {
    this.free.push(session.client);
  }

  async #connect() {
    const client = this.client.duplicate();
    client.on("error", () => {}); // the command that it concerns fails
    if (typeof client.call !== "function") await client.connect();
    return client;
  }

  async #resume(client, token) {
    const deadline = Date.now() + this.wait;
    for (;;) {
      try {
        await send(client, ["TIDE.SESSION", "IMPORT", token]);
        return;
      } catch (error) {
        const text = String(error.message);
        if (/session token|^CLOCKSKEW/.test(text)) throw new BadToken(text);
        if (!text.startsWith("STALESESSION")) throw error;
        if (Date.now() >= deadline) throw new StaleSession(text);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  }

  /** Middleware: `request.tide` is the user's session while the request is handled. The response leaves when the handler has
   * ended it, since its headers hold the token. */
  middleware() {
    return async (request, response, next) => {
      try {
        const token = this.#tokenOf(request);
        request.tide = await this.open(token).catch((error) => {
          if (error instanceof BadToken && this.fresh) return this.open();
          throw error;
        });
      } catch (error) {
        return refuse(response, error);
      }
      this.#hold(request.tide, response);
      next();
    };
  }

  #hold(session, response) {
    const { write, end, writeHead } = response;
    const chunks = [];
    let open = true;
    const give = () => {
      if (open) this.close(session);
      open = false;
    };
    response.on("close", give);
    const keep = (chunk, encoding) => {
      if (chunk !== undefined && chunk !== null && typeof chunk !== "function") {
        chunks.push(Buffer.from(chunk, typeof encoding === "string" ? encoding : undefined));
      }
    };
    response.writeHead = (status, ...rest) => {
      response.statusCode = status;
      for (const [name, value] of Object.entries(rest.at(-1) ?? {})) response.setHeader(name, value);
      return response;
    };
    response.write = (chunk, encoding) => (keep(chunk, encoding), true);
    response.end = (chunk, encoding) => {
      keep(chunk, encoding);
      Object.assign(response, { write, end, writeHead });
      session.token().then(
        (token) => {
          if (this.cookie) response.appendHeader("Set-Cookie", `${this.cookie}=${token}; Path=/; HttpOnly; SameSite=Lax`);
          else response.setHeader(HEADER, token);
          give();
          response.end(Buffer.concat(chunks));
        },
        (error) => (give(), refuse(response, error)),
      );
      return response;
    };
  }

  #tokenOf(request) {
    if (!this.cookie) return request.headers[HEADER];
    const pairs = (request.headers.cookie ?? "").split(";").map((pair) => pair.trim().split("="));
    return pairs.find(([name]) => name === this.cookie)?.[1];
  }
}

function refuse(response, error) {
  response.statusCode = error.status ?? 503;
  response.removeHeader("Content-Length");
  if (response.statusCode === 503) response.setHeader("Retry-After", "1");
  response.setHeader("Content-Type", "text/plain; charset=utf-8");
  response.end(`${error.message}\n`);
}
