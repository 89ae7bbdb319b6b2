// The package as others get it: what is in it, its types, and the examples of the documents, which are compiled and run.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import test, { after, before } from "node:test";
import { until } from "../until.js";
import { Cluster } from "./cluster.js";

const dir = mkdtempSync(join(tmpdir(), "edge-package-"));
const installed = join(dir, "node_modules/@tidemark/edge");
let files: string[];

before(() => {
  const [{ filename, files: packed }] = JSON.parse(execFileSync("npm", ["pack", "--json", "--silent", "--pack-destination", dir], { encoding: "utf8" })) as [{ filename: string; files: { path: string }[] }];
  files = packed.map(({ path }) => path);
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", join(dir, filename.replace("@", "").replace("/", "-")), "--strip-components=1", "-C", installed]);
  for (const name of readdirSync("node_modules")) if (!name.startsWith(".")) symlinkSync(resolve("node_modules", name), join(dir, "node_modules", name));
  const compilerOptions = { target: "ES2022", module: "NodeNext", moduleResolution: "NodeNext", lib: ["ES2023", "DOM"], types: ["node"], strict: true };
  writeFileSync(join(dir, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  writeFileSync(join(dir, "package.json"), JSON.stringify({ private: true, type: "module" }));
});

after(() => rmSync(dir, { recursive: true, force: true }));

const tsc = () => execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", dir], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

test("it contains what it exports, and nothing else", () => {
  const { exports } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as { exports: Record<string, { types: string; default: string }> };
  for (const [name, { types, default: module }] of Object.entries(exports)) {
    assert.ok(existsSync(join(installed, types)) && existsSync(join(installed, module)), name);
  }
  assert.deepEqual(files.filter((file) => !/^dist\/.*\.(js|d\.ts)$/.test(file)).sort(), ["README.md", "package.json"]);
  const imports = Object.keys(exports).map((name, i) => `import * as _${i} from "@tidemark/edge${name.slice(1)}";\nexport { _${i} };`);
  writeFileSync(join(dir, "all.ts"), imports.join("\n"));
  writeFileSync(
    join(dir, "types.ts"),
    `import type { Commit, Counter, Db, Handle, Inspection, ListHandle, MapHandle, Options, Refusal, Register, SetHandle, Shown, Status, Store, Tx, View } from "@tidemark/edge";
     import type { DevtoolsOptions } from "@tidemark/edge/devtools";
     export type All = [Commit, Counter, Db, Handle, Inspection, ListHandle<string>, MapHandle<string>, Options, Refusal, Register<string>, SetHandle<string>, Shown<string>, Status, Store, Tx, View, DevtoolsOptions];
     // @ts-expect-error: a counter has no fields
     export const wrong = (t: Tx, counter: Counter) => t.put(counter, "a", "b");`,
  );
  tsc();
});

test("the examples of the documents compile, and run", async (t) => {
  const cluster = await Cluster.start();
  t.after(() => cluster.stop());
  const blocks = ["README.md", "../../docs/edge.md"].flatMap((path) => [...readFileSync(path, "utf8").matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) => code));
  assert.ok(blocks.length >= 4, `${blocks.length} examples`);
  const redis = cluster.redis(2);
  t.after(() => redis.close());
  await redis.call("SADD", "s:shops", "one");
  await redis.call("HSET", "m:cart:one", "pears", "2", "plums", "9");
  // Node has a global WebSocket from version 22 on.
  writeFileSync(join(dir, "prelude.mjs"), `import { WebSocket } from "ws";\nglobalThis.WebSocket ??= WebSocket;\n`);
  for (const [i, block] of blocks.entries()) {
    const code = block.replaceAll("/var/lib/shop/edge", join(dir, "store")).replace(/900([12])/g, (_, m) => String(cluster.edgePort(Number(m) - 1)));
    writeFileSync(join(dir, `example${i}.ts`), `${code}\nconsole.log(\`phase \${db.status.phase}\`);\nexport {};\n`);
  }
  tsc();
  const outputs = await Promise.all(blocks.map((_, i) => output(join(dir, `example${i}.js`), ["1 Map(1) { 'apples' => '3' }", "phase", "2 in all carts", "phase"][i] ?? "phase")));
  assert.ok(outputs.every((text) => text.includes("phase")));
  const counts = async () => [await redis.call("GET", "c:likes"), await redis.call("GET", "likes")];
  await until(async () => (await counts()).every((count) => count === "1"), "what the examples add has arrived");
  assert.equal((await redis.hash("m:cart")).get("apples"), "3");
});

/** What a program prints until it has printed `awaited`, and half a second later: it is ended then. */
async function output(path: string, awaited: string): Promise<string> {
  const program = spawn(process.execPath, ["--import", join(dir, "prelude.mjs"), path], { cwd: dir });
  let text = "";
  for (const stream of [program.stdout, program.stderr]) stream.on("data", (data) => (text += data));
  try {
    await until(() => text.includes(awaited) && text.includes("phase"), awaited, () => text);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  } finally {
    program.kill();
  }
  return text;
}
