// Runs the tests that need a server. The environment variable TIDEMARK names its binary.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const binary = process.env.TIDEMARK;
if (!binary || !existsSync(binary)) {
  console.error(binary ? `TIDEMARK names ${binary}, which does not exist` : "TIDEMARK must name the server's binary, as in: TIDEMARK=../../target/debug/tidemark npm run real");
  process.exit(1);
}
const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-timeout=180000", "build/test/real/real.test.js", "build/test/real/chaos.test.js", ...process.argv.slice(2)], { stdio: "inherit" });
process.exit(status ?? 1);
