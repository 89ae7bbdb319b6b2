// A shop whose users have a cart: `POST /cart` replaces it, `GET /cart` shows it. `POST /lost` loses the connection on the way.
// `POST /order` takes one from the stock, if there is one.
//
// node shop.mjs HOST PORT session|plain ioredis|node-redis

import http from "node:http";
import { Sessions } from "./tidemark-session.mjs";

const [host, port, mode, library] = process.argv.slice(2);

async function connect() {
  if (library === "ioredis") {
    const { Redis } = await import("ioredis");
    return new Redis({ host, port: Number(port) });
  }
  const { createClient } = await import("redis");
  return createClient({ socket: { host, port: Number(port) } }).connect();
}

const client = await connect();
const get = (request) => (request.tide ? request.tide.run("GET", "cart") : client.get("cart"));
const set = (request, cart) => (request.tide ? request.tide.run("SET", "cart", cart) : client.set("cart", cart));

async function order(session) {
  const [stock, sold] = (await session.run("MGET", "stock", "sold")).map(Number);
  if (stock === 0) return "sold out";
  await session.run("MSET", "stock", stock - 1, "sold", sold + 1);
  return "ok";
}

async function shop(request, response) {
  if (request.url === "/order") {
    response.end(await request.tide.transact(order, { check: true }));
  } else if (request.method === "POST") {
    let cart = "";
    for await (const chunk of request) cart += chunk;
    if (request.url === "/lost") await new Sessions(client).open().then(async (other) => {
      await other.run("CLIENT", "KILL", "ID", await request.tide.run("CLIENT", "ID"));
      other.client.quit();
    });
    await set(request, cart);
    response.writeHead(200, { "Content-Type": "text/plain" });
    response.end("ok");
  } else {
    response.end((await get(request)) ?? "");
  }
}

const handle = (request, response) =>
  shop(request, response).catch((error) => {
    response.statusCode = 500;
    response.end(String(error));
  });
const sessions = new Sessions(client, { wait: 1000 }).middleware();
const serve = mode === "session" ? (request, response) => sessions(request, response, () => handle(request, response)) : handle;
const server = http.createServer(serve).listen(0, "127.0.0.1", () => console.log(`port ${server.address().port}`));
