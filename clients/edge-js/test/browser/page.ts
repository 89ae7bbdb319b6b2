// What a page of these tests runs.

import { type Db, type IdentityReason, type Register, open } from "../../src/index.js";
import { Worker } from "./workload.js";

declare global {
  interface Window {
    db: Db;
    worker: Worker;
    big: Register<string>;
    identities: IdentityReason[];
    /** Opens the database, and is done once everything is there. */
    start(options: { endpoints: string[]; prefix: string; registers: string[] }): Promise<void>;
  }
}

window.start = async ({ endpoints, prefix, registers }) => {
  window.db = await open({ name: "test", endpoints, k: 2 });
  window.identities = window.db.identity ? [window.db.identity] : [];
  window.db.on("identity", (reason) => window.identities.push(reason));
  window.worker = new Worker(window.db, prefix, (what) => console.error(`violation: ${what}`));
  window.big = window.db.register(`${prefix}big`);
  await window.worker.load(registers);
};
