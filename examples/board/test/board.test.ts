// The board in real browser windows at regions of a real cluster.

import assert from "node:assert/strict";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import test, { type TestContext, after, before } from "node:test";
import { type Browser, type BrowserContext, type Page, chromium } from "playwright-core";
import { chromiumPath } from "../../../clients/edge-js/test/browser/chromium.js";
import { Cluster } from "../../../clients/edge-js/test/real/cluster.js";
import { until } from "../../../clients/edge-js/test/until.js";
import type { Board, Model } from "../src/board.js";
// @ts-expect-error: plain JavaScript
import { serve } from "../serve.mjs";

interface Shared {
  db: { status: { phase: string; region?: string; isolated: boolean; unsent: number; pending: number } };
  board: Board;
  model: Model | undefined;
  views: number;
  orphans: number;
}
declare const window: Shared & typeof globalThis;

let browser: Browser;
let cluster: Cluster;
let server: Server;
let origin: string;

before(async () => {
  [browser, cluster] = await Promise.all([chromium.launch({ executablePath: chromiumPath(), args: ["--no-sandbox"] }), Cluster.start()]);
  server = await serve(0, cluster.urls);
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

after(async () => {
  await browser?.close();
  server?.close();
  await cluster?.stop();
});

async function windows(t: TestContext, name: string, count: number): Promise<Page[]> {
  const context: BrowserContext = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  context.setDefaultTimeout(180_000); // for what hangs
  t.after(() => context.close());
  const pages: Page[] = [];
  for (let m = 0; m < count; m++) {
    const page = await context.newPage();
    page.on("pageerror", (error) => console.error(`page ${m}:`, error));
    await page.goto(`${origin}/?region=${m}&board=${name}`);
    pages.push(page);
  }
  for (const [m, page] of pages.entries()) await page.waitForFunction((region) => window.model && window.db.status.phase === "live" && window.db.status.region === region, "abc"[m]);
  return pages;
}

const add = async (page: Page, column: string, title: string) => {
  await page.fill(`[data-column=${column}] .add input`, title);
  await page.press(`[data-column=${column}] .add input`, "Enter");
  await page.waitForSelector(`[data-column=${column}] li:has-text("${title}")`);
};
const comment = async (page: Page, title: string, text: string) => {
  await page.click(`li:has-text("${title}")`);
  await page.fill("#text", text);
  await page.press("#text", "Enter");
  await page.waitForSelector(`#comments :text("${text}")`);
  await page.click("#card .top button");
};
const toEnd = (page: Page, title: string, column: string) => page.dragAndDrop(`li:has-text("${title}")`, `[data-column=${column}] .add`);
const switchCut = (page: Page) => page.click(".switch");
const sees = (page: Page, title: string) => page.waitForSelector(`main li:has-text("${title}")`);

/** What a window shows, without what is pending. */
const plain = (page: Page) =>
  page.evaluate(() => {
    const { columns, comments, cheers, people } = window.model!;
    const shown = [...columns].map(([column, cards]) => [column, cards.map(({ id, value }) => [id, value])]);
    return JSON.stringify([shown, [...comments].map(([card, all]) => [card, all.map(({ value }) => value)]).sort(), cheers, people]);
  });

async function converge(pages: readonly Page[]): Promise<void> {
  for (const page of pages) await page.waitForFunction(() => window.db.status.phase === "live" && window.db.status.pending === 0);
  let all: string[] = [];
  await until(async () => {
    all = await Promise.all(pages.map(plain));
    return all.every((one) => one === all[0]);
  }, "all windows show the same", () => all.join("\n"));
}

async function noOrphans(pages: readonly Page[]): Promise<void> {
  const counts = await Promise.all(pages.map((page) => page.evaluate(() => [window.views, window.orphans])));
  console.log(`views: ${counts.map(([views]) => views).join(", ")}`);
  for (const [, orphans] of counts) assert.equal(orphans, 0);
}

const picture = async (page: Page, name: string) => {
  if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${name}.png` });
};

test("two windows at two regions: both cut off, both change, and back", async (t) => {
  const [a, b, c] = await windows(t, "two", 3);
  await add(a, "ideas", "Tide tables");
  await add(a, "ideas", "Harbour map");
  await add(a, "doing", "Lighthouse keeper's guide");
  await sees(b, "Lighthouse keeper's guide");
  await add(b, "done", "Buy paint for the buoys");
  await comment(b, "Tide tables", "For which ports?");
  await a.waitForSelector('li:has-text("Tide tables") .said:text-is("1")');
  await converge([a, b, c]);
  await picture(a, "live");

  await switchCut(a);
  await switchCut(b);
  for (const page of [a, b]) await page.waitForFunction(() => window.db.status.phase === "offline");
  await add(a, "ideas", "Charts for kayaks");
  await comment(a, "Charts for kayaks", "Shallow water first");
  await comment(a, "Charts for kayaks", "And with rocks");
  await a.dragAndDrop('li:has-text("Tide tables")', "[data-column=doing] ol");
  await a.waitForSelector('[data-column=doing] li.pending:has-text("Tide tables")');
  for (let n = 0; n < 3; n++) await a.click("#cheer");
  await add(b, "doing", "Paint the buoys");
  await comment(b, "Harbour map", "I have an old one");
  await comment(b, "Paint the buoys", "Green and red");
  await b.click('li:has-text("Tide tables")');
  await b.click('#moves button:text("Done")');
  await b.click("#card .top button");
  for (let n = 0; n < 4; n++) await b.click("#cheer");
  assert.equal(await a.locator("main li.pending").count(), 2);
  assert.equal(await a.locator("#cheer b").textContent(), "3");
  assert.match((await a.locator("#status").textContent())!, /Cut off.*7 unsent/);
  assert.equal(await c.locator('main li:has-text("kayaks")').count(), 0);
  await picture(a, "cut");
  await a.click('li:has-text("Charts for kayaks")');
  await picture(a, "card");
  await a.keyboard.press("Escape");

  await switchCut(a);
  await sees(c, "Charts for kayaks");
  assert.equal(await b.locator('main li:has-text("kayaks")').count(), 0);
  await switchCut(b);
  await converge([a, b, c]);
  for (const page of [a, b, c]) {
    assert.equal(await page.locator("#cheer b").textContent(), "7", "cheers of both add up");
    assert.equal(await page.locator("main li").count(), 6);
    assert.equal(await page.locator("main li.pending").count(), 0);
    assert.equal(await page.locator('[data-column=done] li:has-text("Tide tables")').count(), 1, "it was moved in both: the later one wins");
    assert.equal(await page.locator('li:has-text("Charts for kayaks") .said:text-is("2")').count(), 1);
  }
  await noOrphans([a, b, c]);
  await a.click("#theme");
  await picture(a, "dark");
  await a.setViewportSize({ width: 420, height: 800 });
  await picture(a, "narrow");
});

test("runs of cards stay together, a rename and a move both count, and a card is in one place", async (t) => {
  const [a, b, c] = await windows(t, "order", 3);
  for (const title of ["First", "Second", "Third"]) await add(a, "ideas", title);
  await sees(b, "Third");
  await converge([a, b, c]);
  const titles = (page: Page, column: string) => page.locator(`[data-column=${column}] .title`).allTextContents();
  await a.dragAndDrop('li:has-text("Third")', 'li:has-text("Second")', { targetPosition: { x: 40, y: 4 } });
  await c.waitForFunction(() => window.model!.columns.get("ideas")!.map(({ value }) => value.title).join() === "First,Third,Second");

  for (const page of [a, b]) await switchCut(page);
  for (const page of [a, b]) await page.waitForFunction(() => window.db.status.phase === "offline");
  for (const [page, name] of [[a, "A"], [b, "B"]] as const) for (const n of [1, 2, 3]) await add(page, "done", `${name}${n}`);
  await a.click('li:has-text("First")');
  await a.fill("#title", "The first");
  await a.press("#title", "Tab");
  await a.click("#card .top button");
  await toEnd(b, "First", "doing");
  // Both move one card, within a column and to others: the last to do it is b.
  await a.dragAndDrop('li:has-text("Second")', 'li:has-text("Third")', { targetPosition: { x: 40, y: 4 } });
  await toEnd(a, "Third", "doing");
  await toEnd(b, "Third", "ideas");
  await toEnd(b, "Second", "doing");
  for (const page of [b, a]) await switchCut(page);
  await converge([a, b, c]);
  for (const page of [a, b, c]) {
    const done = (await titles(page, "done")).join();
    assert.match(done, /^(A1,A2,A3,B1,B2,B3|B1,B2,B3,A1,A2,A3)$/);
    assert.deepEqual(await titles(page, "ideas"), ["Third"]);
    assert.deepEqual(await titles(page, "doing"), ["The first", "Second"]);
  }
  // A move takes out what the lost ones left.
  await c.evaluate(() => window.board.move(window.model!.columns.get("ideas")![0].id, "done"));
  await converge([a, b, c]);
  assert.deepEqual(await titles(a, "ideas"), []);
  assert.equal((await titles(a, "done")).at(-1), "Third");
  await noOrphans([a, b, c]);
});

test("devtools: what is pending, how far it is, and the base of each region", async (t) => {
  const [a] = await windows(t, "tools", 1);
  await a.click("#tools");
  const tools = a.locator("#devtools");
  // Shadow roots are seen through.
  await tools.locator(".top :text('live')").waitFor();
  await add(a, "ideas", "Tide tables");
  await tools.locator("svg .span.base").first().waitFor();
  assert.equal(await tools.locator(".regions tbody tr").count(), 3);
  await tools.locator(".regions tr:has-text('a ←') .has").waitFor();

  // Without a network it is stored; nothing goes on.
  await switchCut(a);
  await add(a, "ideas", "<b>Harbour</b> map");
  await a.click("#cheer");
  await a.click("#cheer");
  const stored = tools.locator(".scroll tr:has(.chip.stored)");
  await stored.nth(2).waitFor();
  assert.equal(await stored.count(), 3);
  assert.match((await stored.nth(0).textContent())!, /board:tools:cards · .*<b>Harbour<\/b> map/, "as text");
  assert.match((await stored.nth(2).textContent())!, /board:tools:cheers \+ 1/);
  await tools.locator(".top :text('offline')").waitFor();
  assert.equal(await tools.locator("svg .span.stored .waits").count(), 3);
  await picture(a, "tools-cut");

  // Regions that are cut off from each other take it, and K of them do not have it, wherever the window goes.
  await cluster.isolate(0);
  await cluster.isolate(1);
  await switchCut(a);
  await tools.locator(".scroll tr:has(.chip.accepted)").nth(2).waitFor();
  await tools.locator(".top :text('behind')").waitFor();
  await picture(a, "tools-behind");
  await cluster.heal();
  await tools.locator(".scroll :text('none: all that was committed is in the base')").waitFor();
  assert.ok((await tools.locator("svg .span.base").count()) >= 3);
  await picture(a, "tools");
  await a.click("#theme");
  await a.waitForTimeout(200); // time: colours change by and by, and nothing but a picture follows
  await picture(a, "tools-dark");
  await a.setViewportSize({ width: 420, height: 900 });
  await picture(a, "tools-narrow");

  // Another tab of this client sees the same, through the one that leads.
  await a.setViewportSize({ width: 1280, height: 800 });
  const follower = await a.context().newPage();
  await follower.addInitScript(() => {
    sessionStorage.setItem("seat", "0");
    // It is slow to open: until then nothing can be clicked, so that no click is lost.
    const request = navigator.locks.request.bind(navigator.locks) as (...given: unknown[]) => Promise<unknown>;
    navigator.locks.request = async (...given: unknown[]) => {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      return request(...given);
    };
  });
  await follower.goto(a.url());
  await follower.click("#tools");
  await follower.locator("#devtools .top :text('follows')").waitFor();
  await switchCut(a);
  await add(a, "done", "Of the other tab");
  await follower.locator("#devtools .scroll tr:has(.chip.stored)").first().waitFor();
  await switchCut(a);
  await follower.locator("#devtools .scroll :text('none: all')").waitFor();
  await a.click("#tools");
  assert.equal(await tools.isHidden(), true);
});

test("a window keeps what it was not able to send over a reload, and goes to another region", async (t) => {
  const [a, b] = await windows(t, "reload", 2);
  await add(a, "ideas", "First");
  await converge([a, b]);
  await switchCut(a);
  await add(a, "ideas", "Second");
  await a.click("#regions button:text('C')");
  await a.reload();
  await a.waitForFunction(() => window.db?.status.region === "c" && window.db.status.phase === "live");
  await sees(a, "Second");
  await sees(b, "Second");
  await converge([a, b]);
});

test("a comment is not shown before its card, also where the card comes late", async (t) => {
  const [a, b, c] = await windows(t, "cause", 3);
  // Cards are late at c, comments on them are not: whoever shows what has come shows comments on nothing.
  await cluster.order("slow", "a", "c", "--by", "1500ms");
  await b.evaluate(() => {
    const said = new Set<string>();
    setInterval(() => {
      for (const card of [...window.model!.columns.values()].flat()) {
        if (said.has(card.id)) continue;
        said.add(card.id);
        window.board.comment(card.id, `seen: ${card.value.title}`);
      }
    }, 10);
  });
  for (let n = 0; n < 30; n++) {
    await a.evaluate((n) => void window.board.add("ideas", `card ${n}`), n);
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  await b.waitForFunction(() => window.model!.comments.size === 30);
  await noOrphans([a, b, c]);
  console.log(`c shows ${await c.evaluate(() => window.model!.comments.size)} comments while a is slow`);
  await cluster.heal();
  await converge([a, b, c]);
  assert.equal(await c.evaluate(() => window.model!.comments.size), 30);
  await noOrphans([a, b, c]);
});

test("a region is cut off: its window goes elsewhere; where all are, it is behind, and goes on; a region is killed", async (t) => {
  const [a, b] = await windows(t, "cut", 2);
  await cluster.isolate(0);
  await a.waitForFunction(() => window.db.status.region !== "a" && window.db.status.phase === "live");
  await add(a, "ideas", "From elsewhere");
  await sees(b, "From elsewhere");

  await cluster.isolate(1);
  await a.waitForFunction(() => window.db.status.isolated);
  await add(a, "ideas", "Only here");
  await a.waitForSelector('li.pending:has-text("Only here")');
  // It looks around first.
  await a.waitForFunction(() => window.db.status.isolated && window.db.status.phase === "behind" && window.db.status.unsent === 0);
  await a.waitForFunction(() => /Behind.*on the way/.test(document.querySelector("#status")!.textContent!));
  await cluster.heal();
  await sees(b, "Only here");

  const region = (await a.evaluate(() => window.db.status.region))!;
  const node = "abc".indexOf(region);
  await cluster.kill(node);
  const began = Date.now();
  await a.waitForFunction((gone) => window.db.status.region !== gone && window.db.status.phase === "live", region);
  await add(b, "ideas", "Only there");
  await sees(a, "Only there");
  console.log(`elsewhere, with all of it, after ${Date.now() - began} ms`);
  await cluster.restart(node);
  await converge([a, b]);
  assert.equal(await a.locator("main li").count(), 3);
});
