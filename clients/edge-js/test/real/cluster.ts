// A cluster of real processes, run by the binary that TIDEMARK names; Redis clients; and wires that can be cut between a client and its gateways.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { type Socket as Claim, createSocket } from "node:dgram";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type Server, type Socket, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { until } from "../until.js";

const run = promisify(execFile);

export function binary(): string {
  const path = process.env.TIDEMARK;
  if (!path) throw new Error("TIDEMARK must name the binary, as in TIDEMARK=../../target/debug/tidemark npm run real");
  return path;
}

interface Node {
  readonly name: string;
  readonly letter: string;
  readonly pid: number | null;
  readonly state: string;
}

export class Cluster {
  readonly #dir = mkdtempSync(join(tmpdir(), "edge-js-"));
  readonly #process: ChildProcess;
  readonly #ports: Ports;
  readonly regions: number;
  #output = "";

  static async start({ regions = 3, password, params = [] }: { regions?: number; password?: string; params?: string[] } = {}): Promise<Cluster> {
    const cluster = new Cluster(regions, await claimPorts(regions), password, params);
    await until(() => cluster.#output.includes("\nready"), "ready", () => cluster.#output);
    return cluster;
  }

  private constructor(regions: number, ports: Ports, password: string | undefined, params: string[]) {
    this.regions = regions;
    this.#ports = ports;
    if (password) this.#write(password);
    const { first } = ports;
    const flags = ["--base-port", String(first), "--http-port", String(first + 200), "--edge", String(first + 300), ...params.flatMap((param) => ["--param", param])];
    this.#process = spawn(binary(), ["up", ...(password ? [] : ["--regions", String(regions), ...flags]), "--dir", this.#dir]);
    for (const stream of [this.#process.stdout!, this.#process.stderr!]) stream.on("data", (data) => (this.#output += data));
    this.#process.on("exit", (code) => (this.#output += `\nended with ${code}`));
  }

  /** A configuration with a password, which `up` has no flag for. */
  #write(password: string): void {
    const nodes = Array.from({ length: this.regions }, (_, m) => {
      const name = "abc"[m];
      const address = (kind: string, offset: number) => `${kind} = "127.0.0.1:${this.#ports.first + offset + m}"\n`;
      return `[[region]]\nname = "${name}"\n[[node]]\nname = "${name}"\nregion = "${name}"\npartitions = "all"\n${address("listen", 0)}${address("peer_listen", 100)}${address("admin_listen", 200)}${address("edge_listen", 300)}`;
    });
    writeFileSync(join(this.#dir, "cluster.toml"), `[cluster]\nname = "up"\npartitions = 2\nrequirepass = "${password}"\n${nodes.join("")}`);
  }

  get urls(): string[] {
    return Array.from({ length: this.regions }, (_, m) => `ws://127.0.0.1:${this.edgePort(m)}/edge`);
  }

  edgePort(m: number): number {
    return this.#ports.first + 300 + m;
  }

  redis(m: number): Redis {
    return new Redis(this.#ports.first + m);
  }

  async tidemark(...args: string[]): Promise<string> {
    const { stdout } = await run(binary(), [...args, "--dir", this.#dir], { maxBuffer: 64 << 20 });
    return stdout;
  }

  /** Gives an order that is carried out once however often it is given: a node may be too busy to hear it. */
  async order(...args: string[]): Promise<void> {
    const told = () => this.tidemark(...args).then(() => true, (error: Error) => {
      if (!error.message.includes("could not be told: try again")) throw error;
      return false;
    });
    await until(told, args.join(" "));
  }

  /** Cuts a region off from all others. */
  async isolate(m: number): Promise<void> {
    for (let other = 0; other < this.regions; other++) if (other !== m) await this.order("cut", "abc"[m], "abc"[other]);
  }

  async heal(): Promise<void> {
    await this.order("heal");
  }

  /** SIGKILL, from outside. */
  async kill(m: number): Promise<void> {
    const pid = async () => (JSON.parse(await this.tidemark("status", "--json")) as { nodes: Node[] }).nodes[m].pid;
    process.kill((await pid())!, "SIGKILL");
    await until(async () => (await pid()) === null, "its end is noticed");
  }

  /** The disk of a region that was killed is gone, too. */
  wipe(m: number): void {
    rmSync(join(this.#dir, "data", "abc"[m]), { recursive: true });
  }

  async restart(m: number): Promise<void> {
    await this.tidemark("restart", "abc"[m]);
  }

  logOf(m: number): string {
    return readFileSync(join(this.#dir, `${"abc"[m]}.log`), "utf8");
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null) {
      const ended = new Promise((resolve) => this.#process.once("exit", resolve));
      this.#process.kill("SIGINT");
      await ended;
    }
    this.#ports.claims.forEach((claim) => claim.close());
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

interface Ports {
  readonly first: number;
  readonly claims: Claim[];
}

/** Takes ports that no other test of this machine takes meanwhile: as in Rust's tests, who holds the UDP port has claimed the TCP port of the same number. */
async function claimPorts(regions: number): Promise<Ports> {
  for (;;) {
    const first = 20_000 + Math.floor(Math.random() * 11_000);
    const ports = [0, 100, 200, 300].flatMap((offset) => Array.from({ length: regions }, (_, m) => first + offset + m));
    const claims = (await Promise.all(ports.map(claim))).filter((claim) => claim !== undefined);
    if (claims.length === ports.length && (await Promise.all(ports.map(isFree))).every(Boolean)) return { first, claims };
    claims.forEach((claim) => claim.close());
  }
}

function claim(port: number): Promise<Claim | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket("udp4");
    socket.on("error", () => resolve(undefined));
    // It keeps no process alive.
    socket.unref().bind(port, "127.0.0.1", () => resolve(socket));
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

export type Reply = string | number | null | Reply[];

/** One connection; commands are answered in their order. */
export class Redis {
  readonly #socket: Socket;
  #received = "";
  readonly #waiting: { resolve(reply: Reply): void; reject(error: Error): void }[] = [];

  constructor(port: number) {
    this.#socket = connect(port, "127.0.0.1");
    this.#socket.setEncoding("latin1");
    this.#socket.on("data", (data) => {
      this.#received += data;
      this.#replies();
    });
    this.#socket.on("error", (error) => {
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    });
  }

  call(...command: (string | number)[]): Promise<Reply> {
    const parts = command.map((part) => Buffer.from(String(part), "utf8").toString("latin1"));
    this.#socket.write(`*${parts.length}\r\n${parts.map((part) => `$${part.length}\r\n${part}\r\n`).join("")}`, "latin1");
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Fields of a hash. */
  async hash(key: string): Promise<Map<string, string>> {
    const flat = (await this.call("HGETALL", key)) as string[];
    return new Map(flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1]] as const] : [])));
  }

  close(): void {
    this.#socket.destroy();
  }

  #replies(): void {
    for (;;) {
      const parsed = parse(this.#received, 0);
      if (!parsed) return;
      this.#received = this.#received.slice(parsed.end);
      const waiting = this.#waiting.shift()!;
      if (parsed.reply instanceof Error) waiting.reject(parsed.reply);
      else waiting.resolve(parsed.reply);
    }
  }
}

function parse(bytes: string, at: number): { reply: Reply | Error; end: number } | undefined {
  const line = bytes.indexOf("\r\n", at);
  if (line < 0) return undefined;
  const rest = bytes.slice(at + 1, line);
  const end = line + 2;
  const text = (latin1: string) => Buffer.from(latin1, "latin1").toString("utf8");
  switch (bytes[at]) {
    case "+":
      return { reply: text(rest), end };
    case "-":
      return { reply: new Error(text(rest)), end };
    case ":":
      return { reply: Number(rest), end };
    case "$": {
      const length = Number(rest);
      if (length < 0) return { reply: null, end };
      return bytes.length < end + length + 2 ? undefined : { reply: text(bytes.slice(end, end + length)), end: end + length + 2 };
    }
    case "*": {
      const replies: Reply[] = [];
      let next = end;
      for (let n = Number(rest); n > 0; n--) {
        const item = parse(bytes, next);
        if (!item) return undefined;
        replies.push(item.reply as Reply);
        next = item.end;
      }
      return { reply: replies, end: next };
    }
    default:
      throw new Error(`not RESP: ${bytes.slice(at, at + 40)}`);
  }
}

/** What lies between one client and the gateways. */
export class Wires {
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  readonly urls: string[] = [];
  isCut = false;
  /** What clients send is swallowed, and answers still come. */
  isDeaf = false;

  static async lay(cluster: Cluster): Promise<Wires> {
    const wires = new Wires();
    for (let m = 0; m < cluster.regions; m++) await wires.#lay(cluster.edgePort(m));
    return wires;
  }

  async #lay(to: number): Promise<void> {
    const server = createServer((socket) => {
      if (this.isCut) return socket.destroy();
      const other = connect(to, "127.0.0.1");
      for (const [one, two] of [[socket, other], [other, socket]]) {
        this.#sockets.add(one);
        one.on("error", () => two.destroy());
        one.on("close", () => {
          this.#sockets.delete(one);
          two.destroy();
        });
        one.on("data", (data) => {
          if (!(one === socket && this.isDeaf) && !two.destroyed) two.write(data);
        });
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.#servers.push(server);
    this.urls.push(`ws://127.0.0.1:${(server.address() as { port: number }).port}/edge`);
  }

  cut(): void {
    this.isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    if (this.isDeaf) this.cut();
    this.isCut = this.isDeaf = false;
  }

  close(): void {
    this.cut();
    for (const server of this.#servers) server.close();
  }
}
