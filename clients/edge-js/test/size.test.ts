import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";

test("the browser bundle has at most 20 kB gzip", () => {
  const said = execFileSync(process.execPath, ["scripts/size.mjs"], { encoding: "utf8" });
  console.log(said.trim());
  assert.match(said, /bytes gzip/);
});
