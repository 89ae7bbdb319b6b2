// Runs these tests, which need a server. The environment variable TIDEMARK names its binary.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const binary = process.env.TIDEMARK;
if (!binary || !existsSync(binary)) {
  console.error(binary ? `TIDEMARK names ${binary}, which does not exist` : "TIDEMARK must name the server's binary, as in: TIDEMARK=../../target/debug/tidemark npm run real");
  process.exit(1);
}
const tests = process.argv.slice(2).map((name) => (name.startsWith("-") ? name : `build/test/${name}.test.js`));
const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-timeout=900000", ...tests], { stdio: "inherit" });
process.exit(status ?? 1);
