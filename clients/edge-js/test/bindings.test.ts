// The bindings for React and Svelte.

import assert from "node:assert/strict";
import test from "node:test";
import { createElement } from "react";
import { act, create } from "react-test-renderer";
import { WebSocket } from "ws";
import { MemoryStore, open } from "../src/index.js";
import { useLive, useStatus, useValue } from "../src/react.js";
import { live, status, value, writable } from "../src/svelte.js";
import { Gateways, until } from "./gateway.js";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

async function setup(t: { after(then: () => unknown): void }) {
  const g = await Gateways.start();
  t.after(() => g.stop());
  const db = await open({ name: "n", endpoints: g.urls, WebSocket, store: new MemoryStore() });
  t.after(() => db.close());
  return { g, db };
}

test("React: useValue and useStatus", async (t) => {
  const { db } = await setup(t);
  const cart = db.map("m:cart");
  await db.load([cart]);
  let renders = 0;
  const Cart = () => {
    renders++;
    const fields = useValue(db, cart);
    const { pending } = useStatus(db);
    return createElement("p", null, `${[...(fields ?? [])].join(" ")} ${pending === 0 ? "saved" : "unsaved"}`);
  };
  let root!: ReturnType<typeof create>;
  await act(async () => {
    root = create(createElement(Cart));
  });
  const shown = () => (root.toJSON() as unknown as { children: string[] }).children.join("");
  assert.equal(shown(), " saved");
  await act(async () => {
    db.tx((tx) => tx.put(cart, "apples", "3"));
  });
  assert.ok(shown().startsWith("apples,3"));
  await act(() => until(() => db.status.pending === 0, "settled"));
  assert.equal(shown(), "apples,3 saved");
  const before = renders;
  await act(() => new Promise((resolve) => setTimeout(resolve, 100)));
  assert.ok(renders - before <= 1, "ticks without a change render nothing");
  await act(async () => root.unmount());
});

test("React: useLive", async (t) => {
  const { db } = await setup(t);
  const ids = db.set("s:ids");
  const title = (id: string) => db.register(`r:title:${id}`);
  const List = ({ upper }: { upper: boolean }) => {
    const titles = useLive(db, (view) => view.all([...view.get(ids)].sort().map(title)).map((text) => (upper ? text?.toUpperCase() : text)), [upper]);
    return createElement("p", null, titles?.join(" ") ?? "loading");
  };
  let root!: ReturnType<typeof create>;
  await act(async () => {
    root = create(createElement(List, { upper: false }));
  });
  const shown = () => (root.toJSON() as unknown as { children?: string[] }).children?.join("") ?? "";
  await act(() => until(() => shown() !== "loading", "loaded"));
  assert.equal(shown(), "");
  await act(async () => {
    for (const id of ["a", "b"])
      db.tx((tx) => {
        tx.insert(ids, id);
        tx.set(title(id), `title ${id}`);
      });
  });
  await act(() => until(() => shown() !== "", "the titles are loaded, too"));
  assert.equal(shown(), "title a title b");
  await act(async () => root.update(createElement(List, { upper: true })));
  assert.equal(shown(), "TITLE A TITLE B", "at once: all is here");
  await act(async () => root.unmount());
  await until(() => !db.read(ids).available, "it is kept for what is pending, and no longer");
});

test("Svelte: live", async (t) => {
  const { db } = await setup(t);
  const [left, right] = [db.counter("c:left"), db.counter("c:right")];
  const seen: (number | undefined)[] = [];
  const end = live(db, (view) => view.get(left) + view.get(right)).subscribe((sum) => seen.push(sum));
  assert.deepEqual(seen, [undefined]);
  await until(() => seen.at(-1) === 0, "loaded");
  db.tx((tx) => tx.add(right, 2));
  assert.equal(seen.at(-1), 2);
  end();
});

test("Svelte: value, writable, status", async (t) => {
  const { db } = await setup(t);
  const name = db.register("r:name");
  const seen: (string | undefined)[] = [];
  const end = value(db, name).subscribe((now) => seen.push(now));
  assert.deepEqual(seen, [undefined], "a store says at once what it has");
  const store = writable(db, name);
  await db.load([name]);
  store.set("Ada");
  assert.equal(seen.at(-1), "Ada");
  store.set(undefined);
  assert.equal(seen.at(-1), undefined);
  end();
  store.set("Bob");
  assert.equal(seen.at(-1), undefined);
  const phases: string[] = [];
  const endStatus = status(db).subscribe(({ phase }) => phases.push(phase));
  assert.equal(phases.length, 1);
  endStatus();
});
