// In a real browser, against real servers: `npm run browser`. The browser is Chromium, from $CHROMIUM or the PATH; TIDEMARK names the servers' binary.
//
// In each test tabs, another edge client and a Redis client of each region work on the same keys. In the end nothing that was stored is lost, each
// transaction counts once, no view has shown half of one or an effect without its cause, and `tidemark check` finds the history of all of them causal.

import assert from "node:assert/strict";
import { join } from "node:path";
import test, { after, before } from "node:test";
import { Cluster, Wires, binary } from "../real/cluster.js";
import { until } from "../until.js";
import { type Tab, sleep } from "./clients.js";
import { type Line, check } from "./history.js";
import { Scene, Stage } from "./support.js";

let stage: Stage;
let cluster: Cluster;

before(async () => {
  [stage, cluster] = await Promise.all([Stage.start(), Cluster.start()]);
});

after(async () => {
  await stage?.stop();
  await cluster?.stop();
});

test("offline and back, over a reload", async (t) => {
  const scene = await Scene.set(t, stage, cluster, "offline");
  const wires = await Wires.lay(cluster);
  t.after(() => wires.close());
  const tab = await scene.tab({ urls: wires.urls });
  const stop = scene.work();
  for (let round = 0; round < 3; round++) {
    for (let n = 0; n < 5; n++) await tab.step();
    // Some are under way when the network goes.
    const last = Array.from({ length: 5 }, () => tab.step(true));
    await sleep(round * 20);
    wires.cut();
    await scene.context.setOffline(true);
    await Promise.all(last);
    await tab.reaches("offline");
    const { pending } = await tab.status();
    for (let n = 0; n < 20; n++) await tab.step(true);
    assert.ok((await tab.status()).pending >= pending + 20 - 5, "nothing of it goes anywhere");
    if (round === 1) {
      // What the page itself needs is here; no server is to be reached.
      await scene.context.setOffline(false);
      const shown = () => tab.page.evaluate(() => [window.db.get(window.worker.likes), window.db.base.join()]);
      const before = await shown();
      await tab.start(scene.origin, wires.urls);
      assert.equal((await tab.status()).unsent > 0, true, "the log outlives the page");
      assert.deepEqual([await shown(), await tab.page.evaluate(() => window.identities)], [before, []], "and so do the values");
      for (let n = 0; n < 10; n++) await tab.step();
    }
    await scene.context.setOffline(false);
    wires.mend();
    await tab.settle();
  }
  await stop();
  await scene.end();
});

test("a tab is killed during commits, again and again", async (t) => {
  const scene = await Scene.set(t, stage, cluster, "killed");
  const session = scene.run.history.session(0);
  const stop = scene.work();
  const seen = { kills: 0, during: 0 };
  for (; seen.kills < 12; seen.kills++) {
    const tab = await scene.tab({ session });
    let under = 0;
    const commit = async () => {
      under++;
      const end = await tab.step(true);
      if (end !== "unknown") under--;
      return end;
    };
    const commits = scene.run.keep(commit, 0, 4);
    await sleep(20 + scene.run.rng.below(120));
    if (under > 0) seen.during++;
    await scene.crash(tab);
    await commits();
  }
  await scene.tab({ session });
  await stop();
  assert.ok(seen.during > seen.kills / 2, JSON.stringify(seen));
  await scene.end();
  console.log(`${seen.kills} kills, ${seen.during} of them during commits; ${scene.run.begun.size - scene.run.stored.size} had no answer`);
});

test("two tabs: one leads; when it is closed or killed, the other goes on", async (t) => {
  const scene = await Scene.set(t, stage, cluster, "tabs");
  const wires = await Wires.lay(cluster);
  t.after(() => wires.close());
  const urls = wires.urls;
  const stop = scene.work();
  let [leader, follower] = [await scene.tab({ urls }), await scene.tab({ urls })];
  for (let round = 0; round < 4; round++) {
    assert.deepEqual(await Promise.all([leader, follower].map((tab) => tab.page.evaluate(() => window.db.leading))), [true, false]);
    const commits = [leader, follower].map((tab) => scene.run.keep(() => tab.step(), 3, 2));
    await sleep(150 + scene.run.rng.below(200));
    // Without a network, too, the one that is left shows what both had.
    if (round >= 2) {
      wires.cut();
      await follower.reaches("offline");
    }
    if (round % 2 === 0) await scene.crash(leader);
    else await scene.close(leader);
    await follower.until(() => window.db.leading, undefined);
    await sleep(100);
    await Promise.all(commits.map((stop) => stop()));
    wires.mend();
    leader = follower;
    follower = await scene.tab({ urls });
  }
  const third = await scene.tab({ urls });
  for (const tab of [leader, follower, third]) await tab.step(true);
  await stop();
  await scene.end();
});

test("a frozen tab: whether it follows or leads, nothing is lost, and it catches up", async (t) => {
  const scene = await Scene.set(t, stage, cluster, "frozen", { context: await stage.bare(t) });
  const stop = scene.work();
  const [leader, follower] = [await scene.tab(), await scene.tab()];
  // What can be seen does not come back from being frozen.
  const freeze = async (tab: Tab, state: "frozen" | "active") => {
    const { windowId } = await tab.devtools.send("Browser.getWindowForTarget");
    const show = (windowState: "minimized" | "normal") => tab.devtools.send("Browser.setWindowBounds", { windowId, bounds: { windowState } });
    if (state === "frozen") await show("minimized");
    await tab.devtools.send("Page.setWebLifecycleState", { state });
    if (state === "active") await show("normal");
  };
  for (const tab of [leader, follower]) for (let n = 0; n < 5; n++) await tab.step(true);

  await freeze(follower, "frozen");
  for (let n = 0; n < 20; n++) await leader.step(true);
  await leader.settle();
  await freeze(follower, "active");
  await follower.settle();
  for (let n = 0; n < 5; n++) await follower.step();

  // The one with the connection: the other shows its own commits, and waits until they are stored.
  await freeze(leader, "frozen");
  const waiting = Array.from({ length: 10 }, () => follower.step(true));
  await sleep(500);
  const base = await leader.page.evaluate(() => window.db.base.join());
  const before = scene.run.stored.size;
  await until(() => scene.run.stored.size >= before + 10, "the others go on");
  assert.equal(await leader.page.evaluate(() => window.db.base.join()), base, "it does stand still");
  assert.ok(await follower.page.evaluate(() => window.db.read(window.worker.tokens).pending >= 10), "they are visible");
  await freeze(leader, "active");
  await Promise.all(waiting);
  await leader.settle();

  // It is frozen, and discarded: the other leads.
  await freeze(leader, "frozen");
  const more = Array.from({ length: 10 }, () => follower.step(true));
  await scene.crash(leader);
  await Promise.all(more);
  assert.equal(await follower.page.evaluate(() => window.db.leading), true);
  await stop();
  await scene.end();
});

test("a quota that is exceeded: the commit fails as a whole, and later ones do not", async (t) => {
  const scene = await Scene.set(t, stage, cluster, "quota");
  const wires = await Wires.lay(cluster);
  t.after(() => wires.close());
  // Before the first write: Chromium remembers for a while how much room there is.
  const page = await scene.context.newPage();
  const devtools = await scene.context.newCDPSession(page);
  await devtools.send("Storage.overrideQuotaForOrigin", { origin: scene.origin, quotaSize: 1_000_000 });
  const tab = await scene.tab({ urls: wires.urls });
  const stop = scene.work();
  for (let n = 0; n < 5; n++) await tab.step(true);
  await tab.settle();
  wires.cut();
  await tab.reaches("offline");
  const fill = () =>
    tab.page.evaluate(async () => {
      // Storage compresses what it can.
      const random = () => Array.from(crypto.getRandomValues(new Uint8Array(50_000)), (byte) => String.fromCharCode(33 + (byte % 90))).join("");
      const { big, db } = window;
      for (let n = 0; ; n++) {
        const { pending } = db.status;
        const error = await db.tx((t) => t.set(big, random())).durable.then(() => undefined, (error: Error) => error.name);
        if (error || n > 1000) return { n, error, grew: db.status.pending - pending };
      }
    });
  const { n, error, grew } = await fill();
  assert.deepEqual({ error, grew }, { error: "QuotaExceededError", grew: 0 });
  // Now and then a small one has room: it is stored or fails, and is then there or not.
  const ends = [];
  for (let n = 0; n < 30; n++) ends.push(await tab.step(true));
  await devtools.send("Storage.overrideQuotaForOrigin", { origin: scene.origin });
  for (let n = 0; n < 5; n++) assert.equal(await tab.step(true), "done");
  wires.mend();
  await tab.settle();
  await tab.start(scene.origin, wires.urls);
  await stop();
  await scene.end();
  console.log(`full after ${n} transactions of 50 kB; then ${ends.filter((end) => end === "failed").length} of 30 small ones failed`);
});

test("storage is evicted under an open page: it goes on under a new identity", async (t) => {
  const scene = await Scene.set(t, stage, cluster, "evicted");
  const wires = await Wires.lay(cluster);
  t.after(() => wires.close());
  const tab = await scene.tab({ urls: wires.urls });
  const stop = scene.work();
  for (let n = 0; n < 5; n++) await tab.step();
  await tab.settle();
  wires.cut();
  await tab.reaches("offline");
  for (let n = 0; n < 10; n++) await tab.step(true);
  await tab.devtools.send("Storage.clearDataForOrigin", { origin: scene.origin, storageTypes: "indexeddb" });
  await tab.until(() => window.identities.includes("cleared"), undefined);
  for (let n = 0; n < 5; n++) await tab.step(true);
  wires.mend();
  await tab.settle();

  // While no page is open: what was sent is there once, and there is a client without a past.
  await scene.close(tab);
  const page = await scene.context.newPage();
  const devtools = await scene.context.newCDPSession(page);
  await devtools.send("Storage.clearDataForOrigin", { origin: scene.origin, storageTypes: "all" });
  const again = await scene.tab({ urls: wires.urls });
  assert.deepEqual(await again.page.evaluate(() => window.identities), ["created"]);
  for (let n = 0; n < 5; n++) await again.step();
  await stop();
  await scene.end();
});

test("clocks that are wrong, and change: later writes win, whatever a clock says", async (t) => {
  const scene = await Scene.set(t, stage, cluster, "clocks");
  await scene.context.addInitScript(() => {
    const now = Date.now.bind(Date);
    (window as unknown as { shift: number }).shift = Number(localStorage.getItem("shift") ?? 0);
    Date.now = () => now() + (window as unknown as { shift: number }).shift;
  });
  const YEAR = 365 * 86_400_000;
  const shift = (tab: Tab, ms: number) =>
    tab.page.evaluate((ms) => {
      (window as unknown as { shift: number }).shift = ms;
      localStorage.setItem("shift", String(ms));
      return Date.now();
    }, ms);
  const tab = await scene.tab();
  const stop = scene.work();
  for (const ms of [YEAR, -20 * YEAR, 3_600_000, 0]) {
    const before = Date.now();
    const shown = (await shift(tab, ms)) - ms;
    // Browsers round.
    assert.ok(before <= shown + 200 && shown <= Date.now() + 200, "the page's clock has changed");
    for (let n = 0; n < 10; n++) await tab.step();
    await tab.start(scene.origin, cluster.urls);
    for (let n = 0; n < 10; n++) await tab.step();
    await tab.settle();
  }
  // A server's clock is set, too.
  await cluster.order("skew", "a", "--by", "2s");
  for (let n = 0; n < 20; n++) await tab.step();
  await cluster.order("heal");
  for (let n = 0; n < 20; n++) await tab.step();
  await stop();
  await tab.settle();
  // One after the other: each overwrites what it sees, wherever it comes from.
  const redis = cluster.redis(1);
  t.after(() => redis.close());
  await tab.page.evaluate((name) => window.db.load([window.db.register(name)]), `${scene.run.prefix}last`);
  for (const ms of [-YEAR, YEAR]) {
    await shift(tab, ms);
    await tab.page.evaluate(([name, value]) => void window.db.tx((t) => t.set(window.db.register(name), value)), [`${scene.run.prefix}last`, `page ${ms}`]);
    await tab.settle();
    await until(async () => (await redis.call("GET", `${scene.run.prefix}last`)) === `page ${ms}`, `the page's write with ${ms} wins`);
    await redis.call("SET", `${scene.run.prefix}last`, `redis ${ms}`);
    await tab.until(([name, value]) => window.db.get(window.db.register(name)) === value, [`${scene.run.prefix}last`, `redis ${ms}`]);
  }
  await scene.end();
});

test("a server is replaced: restarted at the same address, then lost for good with its disk", async (t) => {
  const cluster = await Cluster.start();
  t.after(() => cluster.stop());
  // Region a is the one that goes: Redis clients there would lose what it alone has.
  const scene = await Scene.set(t, stage, cluster, "replaced", { regions: [1, 2] });
  const tabs = [await scene.tab(), await scene.tab()];
  await tabs[0].at("a");
  const stop = scene.work();
  for (let round = 0; round < 2; round++) {
    const commits = tabs.map((tab) => scene.run.keep(() => tab.step(), 10, 2));
    await sleep(400);
    await cluster.kill(0);
    await tabs[0].at("b");
    await sleep(200);
    await Promise.all(commits.map((stop) => stop()));
    if (round === 0) await cluster.restart(0);
    else cluster.wipe(0);
    await tabs[0].settle();
    if (round > 0) break;
    await tabs[0].page.evaluate(() => window.db.prefer(0));
    await tabs[0].at("a");
  }
  await stop();
  await scene.end();
  for (const tab of tabs) assert.deepEqual(await tab.page.evaluate(() => [window.db.status.lost, window.identities.includes("forked")]), [false, false]);
});

test("a history that is not causal is rejected", async (t) => {
  const scene = await Scene.set(t, stage, cluster, "corrupt");
  const tab = await scene.tab();
  const stop = scene.work();
  for (let n = 0; n < 40; n++) await tab.step();
  await stop();
  await scene.end();
  const { lines } = scene.run.history;
  const seen = new Set(lines.flatMap((line) => (line.type === "read" ? line.reads : [])).flatMap(({ key, value }) => (key === "left" ? [value] : [])));
  const write = lines.find((line) => line.type === "write" && line.session === tab.session.id && line.key === "left" && seen.has(line.value)) as Extract<Line, { type: "write" }>;
  const after = (reads: { key: string; value: string | null }[], session = tab.session.id) => [...lines, { type: "read", session, dc: 0, kind: "rotx", reads } as Line];
  const rejected = async (name: string, changed: Line[], why: RegExp) => {
    const { code, text } = await check(binary(), join(stage.dir, `corrupt-${name}.jsonl`), changed);
    assert.equal(code, 1, `${name}: ${text}`);
    assert.match(text, why);
  };
  await rejected("lost", after([{ key: "left", value: null }]), /causal/);
  await rejected("invented", after([{ key: "left", value: "nobody's" }]), /well-formed/);
  await rejected("torn", after([{ key: "left", value: write.value }, { key: "right", value: null }], 999), /snapshot|atomic/);
  // A transaction took place, of which somebody has seen one half, and then the other half without it.
  const half = lines.filter((line) => line !== write);
  await rejected("half", half, /well-formed/);
});
