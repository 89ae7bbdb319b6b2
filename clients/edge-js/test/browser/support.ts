// One browser, one server of the page, one cluster; and how a test ends: everything is there once, and its history is causal.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { build } from "esbuild";
import { type Browser, type BrowserContext, chromium } from "playwright-core";
import { type Cluster, binary } from "../real/cluster.js";
import { until } from "../until.js";
import { Here, REGISTERS, RedisUser, Run, Tab, sleep } from "./clients.js";
import { chromiumPath } from "./chromium.js";
import { check } from "./history.js";

const SEED = Number(process.env.SEED ?? 1);

export class Stage {
  readonly browser: Browser;
  readonly origin: string;
  readonly dir = mkdtempSync(join(tmpdir(), "edge-browser-"));
  readonly stop: () => Promise<void>;

  static async start(): Promise<Stage> {
    const { outputFiles } = await build({ entryPoints: ["test/browser/page.ts"], bundle: true, format: "iife", platform: "browser", target: "es2022", write: false });
    const script = outputFiles[0].text;
    const server = createServer((request, response) => {
      const isScript = request.url === "/page.js";
      response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
      response.end(isScript ? script : "<!doctype html><title>edge</title><script src=/page.js></script>");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const browser = await chromium.launch({ executablePath: chromiumPath(), args: ["--no-sandbox"] });
    console.log(browser.version());
    return new Stage(browser, `http://127.0.0.1:${(server.address() as AddressInfo).port}`, () => void server.close());
  }

  /** A browser without what Playwright changes: there, pages are never hidden, and what is not hidden is not frozen. */
  async bare(t: TestContext): Promise<BrowserContext> {
    const dir = mkdtempSync(join(this.dir, "profile-"));
    const process = spawn(chromiumPath() ?? chromium.executablePath(), ["--headless=new", "--no-sandbox", "--no-first-run", "--remote-debugging-port=0", `--user-data-dir=${dir}`, "about:blank"], { stdio: "ignore" });
    const ended = new Promise((resolve) => process.once("exit", resolve));
    t.after(async () => {
      process.kill();
      await ended;
    });
    const told = join(dir, "DevToolsActivePort");
    await until(() => existsSync(told) && readFileSync(told, "utf8").includes("\n"), "a browser");
    const [port, path] = readFileSync(told, "utf8").split("\n");
    const browser = await chromium.connectOverCDP(`ws://127.0.0.1:${port}${path}`, { noDefaults: true, timeout: 180_000 });
    return browser.contexts()[0];
  }

  private constructor(browser: Browser, origin: string, close: () => void) {
    this.browser = browser;
    this.origin = origin;
    this.stop = async () => {
      await browser.close();
      close();
      rmSync(this.dir, { recursive: true, force: true });
    };
  }
}

/** A test: its run, a browser profile, a client in this process, and a Redis client in each region. */
export class Scene {
  readonly run: Run;
  readonly context: BrowserContext;
  readonly #stage: Stage;
  readonly #regions: readonly number[];
  readonly #tabs = new Set<Tab>();
  here!: Here;
  redis: RedisUser[] = [];

  /** `regions`: those whose Redis clients work. */
  static async set(t: TestContext, stage: Stage, cluster: Cluster, name: string, { regions = [0, 1, 2], context }: { regions?: number[]; context?: BrowserContext } = {}): Promise<Scene> {
    const own = context ?? (await stage.browser.newContext());
    own.setDefaultTimeout(180_000);
    const scene = new Scene(stage, own, new Run(cluster, `${name}:`, SEED), regions);
    scene.here = await Here.open(scene.run, regions.at(-1)!, cluster.urls);
    scene.redis = regions.map((dc) => new RedisUser(scene.run, dc));
    t.after(async () => {
      if (!context) await own.close();
      await scene.here.close();
      for (const user of scene.redis) user.close();
    });
    return scene;
  }

  private constructor(stage: Stage, context: BrowserContext, run: Run, regions: readonly number[]) {
    this.#regions = regions;
    this.#stage = stage;
    this.context = context;
    this.run = run;
  }

  get origin(): string {
    return this.#stage.origin;
  }

  /** A tab of a new user, or of one whose last tab is gone. */
  async tab({ urls = this.run.cluster.urls, session = this.run.history.session(0) } = {}): Promise<Tab> {
    const tab = await Tab.open(this.run, this.context, this.origin, session, urls);
    this.#tabs.add(tab);
    return tab;
  }

  async crash(tab: Tab): Promise<void> {
    this.#tabs.delete(tab);
    await tab.crash();
  }

  close(tab: Tab): Promise<void> {
    this.#tabs.delete(tab);
    return tab.page.close();
  }

  /** The others work, until the result is called. */
  work(): () => Promise<void> {
    const stops = [this.run.keep(() => this.here.step(), 40), ...this.redis.map((user) => this.run.keep(user.step, 60))];
    return async () => void (await Promise.all(stops.map((stop) => stop())));
  }

  /** Whatever was stored is there once, everywhere; and `tidemark check` finds no violation. */
  async end(): Promise<void> {
    const { run } = this;
    const regions = this.#regions;
    for (const tab of this.#tabs) {
      await tab.settle();
      for (let n = 0; n < 3; n++) await tab.step(false);
    }
    const clients = regions.map((dc) => run.cluster.redis(dc));
    const all = () => Promise.all(clients.map((redis) => Promise.all([redis.call("GET", `${run.prefix}likes`), redis.call("SMEMBERS", `${run.prefix}tokens`), ...[...REGISTERS, "left", "right"].map((name) => redis.call("GET", run.prefix + name))])));
    let found = await all();
    const words = () => found.map(([likes, tokens, ...rest]) => JSON.stringify([likes, [...(tokens as string[])].sort(), rest]));
    await until(async () => {
      found = await all();
      return new Set(words()).size === 1;
    }, "all regions have the same", () => words().join("\n"));
    for (const redis of clients) redis.close();
    const [likes, members, ...values] = found[0];
    const tokens = new Set(members as string[]);
    assert.deepEqual([...run.stored].filter((token) => !tokens.has(token)), [], "stored, and lost");
    assert.deepEqual([...tokens].filter((token) => !run.begun.has(token)), [], "never committed, and there");
    assert.equal(Number(likes), tokens.size, "each counts once");
    let views = this.here.worker.views;
    for (const tab of this.#tabs) {
      await tab.until((likes) => window.db.get(window.worker.likes) === likes, tokens.size);
      views += await tab.views();
    }
    assert.deepEqual(run.violations, []);
    [...REGISTERS, "left", "right"].forEach((key, i) => run.history.finals.push(...regions.map((dc) => ({ type: "final" as const, dc, key, value: values[i] as string | null }))));
    const path = join(this.#stage.dir, `${run.prefix.slice(0, -1)}.jsonl`);
    const { code, text } = await check(binary(), path, run.history.lines);
    if (code !== 0 && process.env.HISTORIES) execFileSync("cp", [path, process.env.HISTORIES]);
    assert.equal(code, 0, text);
    console.log(`${run.stored.size} transactions were stored, ${tokens.size} are there; ${run.history.lines.length} lines of history, ${views} views`);
  }
}
