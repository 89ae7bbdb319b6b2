// Plays what the simulator's edge clients are told, as `tidemark sim --edge-transcripts` writes it, and compares what they do. Ends with 1 at the first difference.

import { createInterface } from "node:readline";
import { Player } from "./player.js";

let about = "";
let schedules = 0;
let number = 0;
let steps = 0;
let skipped = 0;
const clients = new Map<number, Player>();
for await (const text of createInterface({ input: process.stdin })) {
  const line = JSON.parse(text);
  number++;
  if (line.about) {
    about = line.about;
    schedules++;
    clients.clear();
  } else if (line.start) {
    clients.set(line.client, new Player(line.start));
  } else {
    try {
      if (clients.get(line.client)!.play(line)) steps++;
      else skipped++;
    } catch (error) {
      console.error(`${about}, client ${line.client}, line ${number}: ${(error as Error).message}`);
      process.exit(1);
    }
  }
}
console.log(`${schedules} schedules, ${steps} steps: the same; ${skipped} steps after a full disk were not compared`);
process.exit(schedules > 0 && steps > 0 ? 0 : 1);
