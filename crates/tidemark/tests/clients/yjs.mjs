// Two people edit one text in two regions, also while these are cut off from each other. The arguments are host and port of each
// region. What it prints in capitals it asks of its parent, which answers with a line when that is done.
import assert from 'node:assert/strict';
import { createInterface } from 'node:readline/promises';
import { createClient } from 'redis';
import * as Y from 'yjs';
import { TideDoc } from './tide-doc.mjs';

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const ask = async (what) => {
  console.log(what);
  assert.equal((await lines.next()).value, 'done');
};

const arguments_ = process.argv.slice(2);
const open = async (at) => {
  const [host, port] = arguments_.slice(2 * at, 2 * at + 2);
  const client = await createClient({ socket: { host, port: Number(port) } }).on('error', console.error).connect();
  const doc = new Y.Doc();
  return { client, doc, text: doc.getText('text'), shared: new TideDoc(client, 'notes', doc) };
};
const [a, b] = [await open(0), await open(1)];
// Waits as `clients/edge-js/test/until.ts` does, which node cannot load as it is.
const until = async (condition) => {
  const patience = AbortSignal.timeout(120_000);
  for (;;) {
    const last = patience.aborted;
    if (await condition()) return;
    assert.ok(!last, `A has ${JSON.stringify(a.text)}, B has ${JSON.stringify(b.text)}`);
    await new Promise((wake) => setTimeout(wake, 20));
  }
};
const same = async () => {
  await a.shared.sync();
  await b.shared.sync();
  return a.text.toString() === b.text.toString();
};
const reaches = (text) => until(async () => (await same()) && a.text.toString() === text);

a.text.insert(0, 'the tide');
await reaches('the tide');

await ask('CUT');
a.text.insert(0, 'today ');
b.text.insert(b.text.length, ' is high');
b.text.delete(0, 4);
await a.shared.sync();
await b.shared.sync();
assert.deepEqual([String(a.text), String(b.text)], ['today the tide', 'tide is high'], 'neither sees the other');
await ask('HEAL');
await reaches('today tide is high');

// One compacts while the other edits behind a cut: nothing is lost.
await ask('CUT');
b.text.insert(b.text.length, '!');
await b.shared.sync();
assert.ok((await a.shared.compact()) >= 3);
await ask('HEAL');
await reaches('today tide is high!');
await until(async () => {
  await a.shared.sync();
  const [, updates] = await a.client.sendCommand(['TIDE.DOC', 'READ', 'notes']);
  return updates.length === 2;
});

// Who comes later needs the result alone.
const late = await open(1);
await until(async () => {
  await late.shared.sync();
  return String(late.text) === 'today tide is high!';
});
assert.deepEqual(Y.encodeStateVector(late.doc), Y.encodeStateVector(a.doc));
for (const { client } of [a, b, late]) await client.close();
console.log('both regions have the same text');
process.exit(0);
