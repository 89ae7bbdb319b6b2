// In a real browser: IndexedDB, Web Locks, BroadcastChannel and WebSocket as they are. `npm run browser`; the browser is Chromium, from $CHROMIUM or the PATH.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import test, { type TestContext, after, before } from "node:test";
import { build } from "esbuild";
import { type Browser, type BrowserContext, type Page, chromium } from "playwright-core";
import type { Db, Handle } from "../../src/index.js";
import { Gateways, until } from "../gateway.js";

declare const edge: typeof import("../../src/index.js");
declare global {
  interface Window {
    db: Db;
    likes: Handle<number> & { kind: "counter" };
    big: { kind: "register" };
    log: string[];
    done(k: number): void;
  }
}

let browser: Browser;
let origin: string;
let stop: () => void;

before(async () => {
  const { outputFiles } = await build({ entryPoints: ["src/index.ts"], bundle: true, format: "iife", globalName: "edge", platform: "browser", target: "es2022", write: false });
  const script = outputFiles[0].text;
  const server = createServer((request, response) => {
    const isScript = request.url === "/edge.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : "<!doctype html><title>edge</title><script src=/edge.js></script>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  stop = () => server.close();
  const executablePath = process.env.CHROMIUM ?? execFileSync("sh", ["-c", "command -v chromium || command -v google-chrome || command -v chromium-browser"], { encoding: "utf8" }).trim();
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  console.log(browser.version());
});

after(async () => {
  await browser.close();
  stop();
});

async function setup(t: TestContext): Promise<{ g: Gateways; context: BrowserContext; tab: () => Promise<Page> }> {
  const g = await Gateways.start();
  const context = await browser.newContext();
  t.after(async () => {
    await context.close();
    await g.stop();
  });
  const tab = async () => {
    const page = await context.newPage();
    page.on("pageerror", (error) => console.error("page:", error));
    await start(page, g);
    return page;
  };
  return { g, context, tab };
}

async function start(page: Page, g: Gateways): Promise<void> {
  await page.goto(origin);
  await page.evaluate(async (endpoints) => {
    window.log = [];
    window.db = await edge.open({ name: "test", endpoints, k: 2 });
    window.db.on("identity", (reason) => window.log.push(reason));
    window.likes = window.db.counter("c:likes");
    window.db.watch([window.likes]);
  }, g.urls);
}

const add = (page: Page, times = 1) =>
  page.evaluate(async (times) => {
    await Promise.all(Array.from({ length: times }, () => window.db.tx((t) => t.add(window.likes, 1)).durable));
  }, times);

async function shows(page: Page, likes: number): Promise<void> {
  const condition = (likes: number) => window.db.read(window.likes).value === likes && window.db.status.phase === "live" && window.db.status.pending === 0;
  await page.waitForFunction(condition, likes, { timeout: 10_000 }).catch(async () => {
    assert.fail(`${likes}: ${await page.evaluate(() => JSON.stringify([window.db.read(window.likes).value, window.db.status]))}`);
  });
}

test("offline and back, over a reload", async (t) => {
  const { g, tab } = await setup(t);
  const page = await tab();
  await add(page, 3);
  await shows(page, 3);
  await g.downAll();
  await page.waitForFunction(() => window.db.status.phase === "offline");
  await add(page, 20);
  assert.equal(await page.evaluate(() => window.db.get(window.likes)), 23);
  await start(page, g);
  assert.equal(await page.evaluate(() => window.db.status.pending), 20, "the log outlives the page");
  assert.equal(await page.evaluate(() => window.db.identity), undefined);
  await g.upAll();
  await shows(page, 23);
  assert.equal(g.ops.length, 23);
});

test("two tabs: one leads, the other takes over", async (t) => {
  const { g, tab } = await setup(t);
  const [one, two] = [await tab(), await tab()];
  assert.equal(await one.evaluate(() => window.db.leading), true);
  assert.equal(await two.evaluate(() => window.db.leading), false);
  await add(two, 5);
  await add(one, 5);
  await shows(one, 10);
  await shows(two, 10);
  await one.close();
  await two.waitForFunction(() => window.db.leading);
  await add(two, 5);
  await shows(two, 15);
  const three = await tab();
  await shows(three, 15);
  assert.equal(g.ops.length, 15);
});

test("a tab that is killed during commits loses nothing that was durable", async (t) => {
  const { g, tab } = await setup(t);
  let durable = 0;
  let committed = 0;
  for (let round = 0; round < 5; round++) {
    const page = await tab();
    await page.exposeFunction("done", () => void durable++);
    await page.evaluate(() => {
      const more = () => {
        for (let i = 0; i < 5; i++) void window.db.tx((t) => t.add(window.likes, 1)).durable.then((k) => window.done(k!));
        setTimeout(more, 1);
      };
      more();
    });
    await until(() => durable >= (round + 1) * 40, "some");
    // The renderer dies, as if it had been killed.
    await page.goto("chrome://crash").catch(() => undefined);
    await page.close();
  }
  const page = await tab();
  await page.waitForFunction(() => window.db.status.phase === "live" && window.db.status.pending === 0 && window.db.read(window.likes).available);
  committed = await page.evaluate(() => window.db.get(window.likes));
  assert.ok(committed >= durable, `${committed} of ${durable}`);
  assert.equal(committed, g.ops.length, "each once");
  console.log(`${durable} were told to be durable, ${committed} are there`);
});

test("the leader of two tabs is killed while the other commits", async (t) => {
  const { g, tab } = await setup(t);
  let [leader, follower] = [await tab(), await tab()];
  let total = 0;
  for (let round = 0; round < 3; round++) {
    const commits = add(follower, 30);
    await leader.goto("chrome://crash").catch(() => undefined);
    await leader.close();
    await commits;
    total += 30;
    await shows(follower, total);
    leader = follower;
    follower = await tab();
    await shows(follower, total);
  }
  assert.equal(g.ops.length, total);
});

test("a quota that is exceeded: the commit fails, and nothing has changed", async (t) => {
  const { g, context } = await setup(t);
  const page = await context.newPage();
  // Before the first write: Chromium remembers for a while how much room there is.
  const devtools = await context.newCDPSession(page);
  await devtools.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: 1_000_000 });
  await start(page, g);
  await add(page, 2);
  await shows(page, 2);
  await g.downAll();
  await page.waitForFunction(() => window.db.status.phase === "offline");
  const outcome = await page.evaluate(async () => {
    const big = window.db.register("r:big");
    // Storage compresses what it can.
    const random = () => Array.from(crypto.getRandomValues(new Uint8Array(50_000)), (byte) => String.fromCharCode(33 + (byte % 90))).join("");
    let n = 0;
    try {
      for (; n < 1000; n++) {
        await window.db.tx((t) => {
          t.set(big, random());
          t.add(window.likes, 1);
        }).durable;
      }
      return { n, name: "none", likes: 0, pending: 0 };
    } catch (error) {
      return { n, name: (error as Error).name, likes: window.db.get(window.likes), pending: window.db.status.pending };
    }
  });
  assert.equal(outcome.name, "QuotaExceededError");
  assert.ok(outcome.n < 1000);
  assert.equal(outcome.likes, 2 + outcome.n);
  assert.equal(outcome.pending, outcome.n);
  console.log(`full after ${outcome.n} transactions of 50 kB`);
  await devtools.send("Storage.overrideQuotaForOrigin", { origin });
  await add(page, 1);
  await g.upAll();
  await shows(page, 2 + outcome.n + 1);
  await start(page, g);
  await shows(page, 2 + outcome.n + 1);
});

test("the site's data are cleared: a new identity, the application is told, and it goes on", async (t) => {
  const { g, context, tab } = await setup(t);
  const page = await tab();
  await add(page, 2);
  await shows(page, 2);
  await g.downAll();
  await page.waitForFunction(() => window.db.status.phase === "offline");
  await add(page, 3);
  const devtools = await context.newCDPSession(page);
  await devtools.send("Storage.clearDataForOrigin", { origin, storageTypes: "indexeddb" });
  await page.waitForFunction(() => window.log.includes("cleared"));
  await g.upAll();
  await shows(page, 5);
  await add(page, 1);
  await shows(page, 6);
  await start(page, g);
  assert.equal(await page.evaluate(() => window.db.identity), undefined);
  await shows(page, 6);
  assert.equal(g.ops.length, 6);
});
