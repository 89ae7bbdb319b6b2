// Live queries.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { WebSocket } from "ws";
import { type Db, type Handle, type MapHandle, MemoryStore, type SetHandle, type View, open } from "../src/index.js";
import { Gateways, until } from "./gateway.js";

async function setup(t: TestContext) {
  const g = await Gateways.start();
  t.after(() => g.stop());
  const client = async () => {
    const db = await open({ name: "n", endpoints: g.urls, WebSocket, store: new MemoryStore() });
    t.after(() => db.close());
    return db;
  };
  return { g, client };
}

const item = (db: Db, id: string): MapHandle<string> => db.map(`m:item:${id}`);
/** The items that a set names, which are maps of their own. */
const items = (db: Db, ids: SetHandle<string>) => (view: View) => view.all([...view.get(ids)].sort().map((id) => item(db, id))).map((fields) => fields.get("title"));

function add(db: Db, ids: SetHandle<string>, id: string): void {
  db.tx((t) => {
    t.insert(ids, id);
    t.put(item(db, id), "title", `title ${id}`);
  });
}

test("a query over the members of a set watches what it reads, and only that", async (t) => {
  const { client } = await setup(t);
  const [one, two] = [await client(), await client()];
  const ids = one.set("s:ids");
  await one.load([ids]);
  for (const id of ["a", "b", "c"]) add(one, ids, id);
  await until(() => one.status.pending === 0, "settled");
  const results: (string | undefined)[][] = [];
  let runs = 0;
  const query = items(two, ids);
  const end = two.live((view) => {
    runs++;
    return query(view);
  }, (titles) => results.push(titles));
  assert.equal(results.length, 0, "nothing is here yet");
  await until(() => results.length > 0, "loaded");
  assert.deepEqual(results, [["title a", "title b", "title c"]], "it never had a part of them");
  assert.ok(runs <= 6, `${runs} runs: the members are asked for together`);
  add(one, ids, "d");
  await until(() => results.at(-1)!.length === 4, "another member");
  assert.equal(results.at(-1)![3], "title d", "with what was written with it");
  one.tx((tx) => tx.put(item(one, "d"), "title", "changed"));
  await until(() => results.at(-1)![3] === "changed", "a field of it");
  two.tx((tx) => tx.remove(ids, "d"));
  assert.deepEqual(results.at(-1), ["title a", "title b", "title c"], "own transactions, at once");
  await until(() => !two.read(item(two, "d")).available, "what is not read any more is not kept");
  assert.equal(two.read(item(two, "a")).available, true);
  await until(() => two.status.pending === 0, "settled");
  await new Promise((resolve) => setTimeout(resolve, 100));
  const told = results.length;
  one.tx((tx) => tx.put(item(one, "d"), "title", "of no interest"));
  await until(() => one.status.pending === 0, "settled");
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(results.length, told);
  end();
  await until(() => ([ids, item(two, "a")] as Handle[]).every((handle) => !two.read(handle).available), "nothing is kept");
  add(two, ids, "e");
  assert.equal(results.length, told);
});

test("results are of one moment", async (t) => {
  const { client } = await setup(t);
  const [one, two] = [await client(), await client()];
  const accounts = one.set("s:accounts");
  const balance = (id: string) => one.counter(`c:balance:${id}`);
  await one.load([accounts]);
  const sums: number[] = [];
  two.live((view) => view.all([...view.get(accounts)].map(balance)).reduce((sum, one) => sum + one, 0), (sum) => sums.push(sum));
  await until(() => sums.length > 0, "loaded");
  for (let n = 0; n < 40; n++) {
    // A transfer to a new account, or between old ones.
    one.tx((t) => {
      t.insert(accounts, String(n % 12));
      t.add(balance(String(n % 12)), 10 + n);
      t.insert(accounts, "bank");
      t.add(balance("bank"), -10 - n);
    });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await until(() => two.read(balance("bank")).value === one.read(balance("bank")).value || one.status.pending === 0, "settled");
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.ok(sums.length > 5, `${sums.length} results`);
  assert.ok(sums.every((sum) => sum === 0), String(sums));
});

test("an error of a query is reported, and it runs again with the next change", async (t) => {
  const { client } = await setup(t);
  const db = await client();
  const word = db.register("r:word");
  const errors: unknown[] = [];
  globalThis.reportError = (error: unknown) => void errors.push(error);
  t.after(() => Reflect.deleteProperty(globalThis, "reportError"));
  const results: unknown[] = [];
  db.live((view) => JSON.parse(view.get(word) ?? "null") as unknown, (value) => results.push(value));
  await until(() => results.length === 1, "loaded");
  db.tx((t) => t.set(word, "{"));
  db.tx((t) => t.set(word, "[1]"));
  assert.deepEqual(results, [null, [1]]);
  assert.equal(errors.length, 1);
  assert.ok(errors[0] instanceof SyntaxError);
});

test("what `read` lacks is asked for, and does not hold a query up", async (t) => {
  const { client } = await setup(t);
  const db = await client();
  const word = db.register("r:word");
  const results: boolean[] = [];
  db.live((view) => view.read(word).available, (available) => results.push(available));
  assert.deepEqual(results, [false]);
  await until(() => results.at(-1) === true, "here");
});
