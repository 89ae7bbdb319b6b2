// Gateways of a world over real WebSockets.

import { type WebSocket, WebSocketServer } from "ws";
import type { Op } from "../src/core/value.js";
import { Session, World } from "./world.js";

export { until } from "./until.js";

export class Gateways {
  readonly world: World;
  readonly #servers: (WebSocketServer | undefined)[];
  readonly #ports: number[] = [];
  readonly #timer: ReturnType<typeof setInterval>;
  /** Regions that are not cut off. */
  readonly linked: Set<number>;

  static async start(regions = 3, periodMs = 20): Promise<Gateways> {
    const gateways = new Gateways(regions, periodMs);
    for (let m = 0; m < regions; m++) await gateways.up(m);
    return gateways;
  }

  private constructor(regions: number, periodMs: number) {
    this.world = new World(regions);
    this.world.periodMs = periodMs;
    Object.defineProperty(this.world, "time", { get: () => Math.floor((performance.timeOrigin + performance.now()) * 1000) });
    this.#servers = new Array(regions).fill(undefined);
    this.linked = new Set(this.world.regions.keys());
    this.#timer = setInterval(() => this.#tick(), periodMs);
  }

  get urls(): string[] {
    return this.#ports.map((port) => `ws://127.0.0.1:${port}/edge`);
  }

  async up(m: number): Promise<void> {
    const server = new WebSocketServer({ port: this.#ports[m] ?? 0, host: "127.0.0.1" });
    await new Promise<void>((resolve, reject) => {
      server.on("listening", resolve);
      server.on("error", reject);
    });
    this.#ports[m] = (server.address() as { port: number }).port;
    this.#servers[m] = server;
    server.on("connection", (socket) => this.#accept(m, socket));
  }

  #accept(m: number, socket: WebSocket): void {
    const session = new Session(this.world.regions[m], (frame) => socket.send(frame));
    socket.on("message", (data: Buffer) => {
      try {
        session.receive(new Uint8Array(data));
      } catch (error) {
        console.error("gateway:", error);
        session.send({ type: "error", code: "MALFORMED", text: String(error) });
        socket.close();
      }
    });
    socket.on("close", () => session.close());
    socket.on("error", () => session.close());
  }

  async down(m: number): Promise<void> {
    const server = this.#servers[m];
    this.#servers[m] = undefined;
    if (!server) return;
    for (const socket of server.clients) socket.terminate();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  async downAll(): Promise<void> {
    await Promise.all(this.#servers.map((_, m) => this.down(m)));
  }

  async upAll(): Promise<void> {
    for (let m = 0; m < this.#servers.length; m++) if (!this.#servers[m]) await this.up(m);
  }

  #tick(): void {
    const { regions } = this.world;
    for (const a of regions) for (const b of regions) if (a !== b && this.linked.has(a.m) && this.linked.has(b.m)) a.sync(b);
    for (const region of regions) for (const session of region.sessions) session.tick();
  }

  /** Own transactions that any region has taken, by their operations. */
  get ops(): Op[] {
    return this.world.txs.flatMap(({ ops }) => ops);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.downAll();
  }
}
