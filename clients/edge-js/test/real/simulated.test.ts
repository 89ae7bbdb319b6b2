// The simulator's schedules of whole nodes, whose edge clients are told the same here: cuts, crashes, full and restored disks, lost frames.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import test from "node:test";

const SEEDS = Number(process.env.SEEDS ?? 200);
const FIRST = Number(process.env.FIRST ?? 0);

const shapes = {
  "two regions": ["--dcs", "2", "--sessions", "4", "--ops", "30"],
  "three regions, and lists": ["--dcs", "3", "--sessions", "3", "--ops", "30", "--lists"],
  "a region is lost for good": ["--dcs", "2", "--sessions", "4", "--ops", "30", "--exclusions", "--lists"],
};

for (const [name, shape] of Object.entries(shapes)) {
  test(`it does what the Rust client does in simulated schedules: ${name}`, async () => {
    const sim = spawn(process.env.TIDEMARK!, ["sim", "--edge", "2", "--partitions", "2", ...shape, "--seeds", `${FIRST}..${FIRST + SEEDS}`, "--edge-transcripts"], { stdio: ["ignore", "pipe", "inherit"] });
    const played = spawn(process.execPath, ["--enable-source-maps", "build/test/follow.js"], { stdio: [sim.stdout, "pipe", "pipe"] });
    sim.stdout.destroy();
    const said = { stdout: "", stderr: "" };
    for (const way of ["stdout", "stderr"] as const) played[way].setEncoding("utf8").on("data", (text: string) => (said[way] += text));
    const ends = [sim, played].map((child) => new Promise((resolve) => child.on("close", resolve)));
    const [simEnd, playedEnd] = await Promise.all(ends);
    assert.equal(playedEnd, 0, said.stderr);
    assert.equal(simEnd, 0);
    assert.match(said.stdout, new RegExp(`^${SEEDS} schedules, \\d+ steps`));
    console.log(said.stdout.trim());
  });
}
