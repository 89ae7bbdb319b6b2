// Runs the test in a browser against real servers. TIDEMARK names the server's binary; CHROMIUM the browser, or it is looked for in the PATH.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { build } from "esbuild";

const binary = process.env.TIDEMARK;
if (!binary || !existsSync(binary)) {
  console.error(binary ? `TIDEMARK names ${binary}, which does not exist` : "TIDEMARK must name the server's binary, as in: TIDEMARK=../../target/debug/tidemark npm run browser");
  process.exit(1);
}
await build({ entryPoints: ["test/board.test.ts"], bundle: true, format: "esm", platform: "node", target: "node20", external: ["playwright-core", "*/serve.mjs"], outfile: "build/board.test.js", sourcemap: true });
const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-timeout=900000", ...process.argv.slice(2), "build/board.test.js"], { stdio: "inherit" });
process.exit(status ?? 1);
