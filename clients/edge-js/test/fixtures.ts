// The fixtures of the Rust client: both clients have to agree on every byte.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../../../../crates/edge/tests/fixtures");

export function lines(name: string): Record<string, any>[] {
  const text = readFileSync(join(root, name), "utf8");
  return text.split("\n").filter((line) => line && !line.startsWith("#")).map((line) => JSON.parse(line));
}

export function transcripts(): string[] {
  return readdirSync(join(root, "transcripts")).filter((name) => name.endsWith(".jsonl")).map((name) => `transcripts/${name}`);
}
