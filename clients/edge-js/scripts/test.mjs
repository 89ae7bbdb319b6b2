// Runs the tests that tsc has compiled, without those that need a browser.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";

const files = readdirSync("build/test").filter((name) => name.endsWith(".test.js")).map((name) => `build/test/${name}`);
const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-timeout=600000", ...files, ...process.argv.slice(2)], { stdio: "inherit" });
process.exit(status ?? 1);
