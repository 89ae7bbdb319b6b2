// Sessions of one run: tabs of a browser, a client in this process, and Redis clients. All is recorded.

import assert from "node:assert/strict";
import type { BrowserContext, CDPSession, Page } from "playwright-core";
import { WebSocket } from "ws";
import { Rng } from "../../src/core/rng.js";
import { MemoryStore, open } from "../../src/index.js";
import { type Cluster, type Reply, Redis } from "../real/cluster.js";
import { History, type Session } from "./history.js";
import { type Outcome, type Plan, Worker } from "./workload.js";

export const REGISTERS = ["r0", "r1", "r2", "r3"];
const READABLE = [...REGISTERS, "left", "right"];

export const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** What the sessions of one test share. */
export class Run {
  readonly history = new History();
  readonly cluster: Cluster;
  readonly prefix: string;
  readonly rng: Rng;
  /** Tokens of transactions that were begun, and of those that were told to be stored. */
  readonly begun = new Set<string>();
  readonly stored = new Set<string>();
  readonly violations: string[] = [];
  #tokens = 0;

  constructor(cluster: Cluster, prefix: string, seed: number) {
    this.cluster = cluster;
    this.prefix = prefix;
    this.rng = new Rng(seed);
  }

  some(names: readonly string[], atMost: number): string[] {
    const count = this.rng.below(atMost + 1);
    return [...new Set(Array.from({ length: count }, () => names[this.rng.below(names.length)]))];
  }

  token(session: Session): string {
    const token = `${session.id}.${++this.#tokens}`;
    this.begun.add(token);
    return token;
  }

  /** A random transaction of an edge client. */
  async step(session: Session, run: (plan: Plan) => Promise<Outcome>, writing = this.rng.below(4) > 0): Promise<"done" | "failed" | "unknown"> {
    const plan = { reads: this.some(READABLE, 3), writes: writing ? [REGISTERS[this.rng.below(4)], ...this.some(REGISTERS, 1)] : [], token: writing ? this.token(session) : "" };
    const distinct = { ...plan, writes: [...new Set(plan.writes)] };
    const end = await session.step(distinct, run);
    if (writing && end === "done") this.stored.add(plan.token);
    if (writing && end === "failed") this.begun.delete(plan.token);
    return end;
  }

  /** Repeats until it is stopped, or something is over. */
  keep(step: () => Promise<unknown>, pauseMs: number, parallel = 1): () => Promise<void> {
    let on = true;
    const loop = async () => {
      while (on && (await step()) !== "unknown") await sleep(this.rng.below(pauseMs + 1));
    };
    const loops = Promise.all(Array.from({ length: parallel }, loop));
    return async () => {
      on = false;
      await loops;
    };
  }
}

/** A tab, and the session of its user: it goes on in the next page if this one dies. */
export class Tab {
  readonly page: Page;
  readonly session: Session;
  readonly #run: Run;
  readonly devtools: CDPSession;

  static async open(run: Run, context: BrowserContext, origin: string, session: Session, urls: readonly string[]): Promise<Tab> {
    const page = await context.newPage();
    const tab = new Tab(run, page, session, await context.newCDPSession(page));
    await tab.start(origin, urls);
    return tab;
  }

  private constructor(run: Run, page: Page, session: Session, devtools: CDPSession) {
    this.#run = run;
    this.page = page;
    this.session = session;
    this.devtools = devtools;
    page.on("console", (message) => message.text().startsWith("violation") && run.violations.push(message.text()));
    page.on("pageerror", (error) => run.violations.push(`page: ${error}`));
  }

  /** Loads the page, or loads it again. */
  async start(origin: string, urls: readonly string[]): Promise<void> {
    await this.page.goto(origin);
    await this.page.evaluate((options) => window.start(options), { endpoints: [...urls], prefix: this.#run.prefix, registers: REGISTERS });
  }

  step = (writing?: boolean) => this.#run.step(this.session, (plan) => this.page.evaluate((plan) => window.worker.step(plan), plan), writing);

  status() {
    return this.page.evaluate(() => window.db.status);
  }

  /** Waits in the page. A hidden page has no frames to wait by. */
  async until<T>(condition: (value: T) => boolean, value: T): Promise<void> {
    await this.page.waitForFunction(condition as (value: unknown) => boolean, value, { timeout: 180_000, polling: 20 }).catch(async (error) => {
      const { status, likes } = await this.page.evaluate(() => ({ status: window.db.status, likes: window.db.read(window.worker.likes).value }));
      assert.fail(`${error}\n${condition} with ${value}: ${JSON.stringify(status)}, ${likes} likes`);
    });
  }

  reaches(phase: string): Promise<void> {
    return this.until((phase) => window.db.status.phase === phase, phase);
  }

  /** Connected to this region. */
  at(region: string): Promise<void> {
    return this.until((region) => window.db.status.region === region && window.db.status.phase === "live", region);
  }

  /** The renderer dies, as if the system had killed it. */
  async crash(): Promise<void> {
    const crashed = new Promise((resolve) => this.page.once("crash", resolve));
    void this.devtools.send("Page.crash").catch(() => undefined);
    await crashed;
    await this.page.close();
  }

  /** Everything that was committed is in the base. */
  settle(): Promise<void> {
    return this.until(() => window.db.status.phase === "live" && window.db.status.pending === 0, undefined);
  }

  views(): Promise<number> {
    return this.page.evaluate(() => window.worker.views);
  }
}

/** A client in this process. */
export class Here {
  readonly #run: Run;
  readonly #session: Session;
  readonly worker: Worker;

  static async open(run: Run, dc: number, urls: readonly string[]): Promise<Here> {
    const here = new Here(run, dc, await open({ name: "here", endpoints: [...urls.slice(dc), ...urls.slice(0, dc)], k: 2, WebSocket, store: new MemoryStore() }));
    await here.worker.load(REGISTERS);
    return here;
  }

  private constructor(run: Run, dc: number, db: Awaited<ReturnType<typeof open>>) {
    this.#run = run;
    this.#session = run.history.session(dc);
    this.worker = new Worker(db, run.prefix, (what) => run.violations.push(what));
  }

  step = (writing?: boolean) => this.#run.step(this.#session, (plan) => this.worker.step(plan), writing);

  close(): Promise<void> {
    return this.worker.db.close();
  }
}

/** A Redis client of one region. */
export class RedisUser {
  readonly #run: Run;
  readonly #session: Session;
  readonly #redis: Redis;

  constructor(run: Run, dc: number) {
    this.#run = run;
    this.#session = run.history.session(dc);
    this.#redis = run.cluster.redis(dc);
  }

  step = async (): Promise<"done"> => {
    const { rng, prefix } = this.#run;
    const session = this.#session;
    const { txn, done } = session.slot();
    const key = REGISTERS[rng.below(4)];
    switch (rng.below(4)) {
      case 0:
        done(session.read([{ key, value: (await this.#redis.call("GET", prefix + key)) as string | null }]));
        break;
      case 1: {
        const keys = [...new Set([...this.#run.some(READABLE, 3), key])];
        const values = (await this.#redis.call("MGET", ...keys.map((key) => prefix + key))) as (string | null)[];
        done(session.read(keys.map((key, i) => ({ key, value: values[i] }))));
        break;
      }
      case 2: {
        const value = `${session.id}.s${txn}`;
        await this.#redis.call("SET", prefix + key, value);
        done(session.write([key], value));
        break;
      }
      default:
        await this.#all(txn, done);
    }
    return "done";
  };

  /** All that a transaction of an edge client writes. */
  async #all(txn: number, done: (lines: ReturnType<Session["write"]>) => void): Promise<void> {
    const { prefix } = this.#run;
    const token = this.#run.token(this.#session);
    const commands = [["SET", "left", token], ["SET", "right", token], ["INCRBY", "likes", "1"], ["SADD", "tokens", token], ["HSET", "causes", token, ""]];
    const replies = [this.#redis.call("MULTI"), ...commands.map(([command, key, ...rest]) => this.#redis.call(command, prefix + key, ...rest)), this.#redis.call("EXEC")];
    const last = (await Promise.all(replies)).at(-1) as Reply[];
    assert.equal(last.length, commands.length);
    this.#run.stored.add(token);
    done(this.#session.write(["left", "right"], token, txn));
  }

  close(): void {
    this.#redis.close();
  }
}
