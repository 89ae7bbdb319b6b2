// node-redis, as an application uses it: host, port and password are the arguments.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createClient, RESP_TYPES } from 'redis';

const [host, port, password] = process.argv.slice(2);
const socket = { host, port: Number(port) };
const binary = Buffer.from([...Array(256).keys(), 13, 10, 36, 53, 13, 10]);

for (const RESP of [2, 3]) {
  const r = await createClient({ socket, password, RESP, name: 'tester' }).on('error', console.error).connect();
  assert.equal(await r.ping(), 'PONG');
  assert.equal(await r.flushAll(), 'OK');
  assert.equal(await r.set('a', '1'), 'OK');
  assert.equal(await r.get('a'), '1');
  assert.equal(await r.get('missing'), null);
  assert.equal(await r.set('a', '2', { condition: 'NX' }), null);
  assert.equal(await r.set('a', '2', { condition: 'XX' }), 'OK');
  assert.equal(await r.set('a', '3', { GET: true }), '2');
  assert.equal(await r.setNX('a', '4'), 0);
  assert.equal(await r.mSet({ m1: '1', m2: '2' }), 'OK');
  assert.deepEqual(await r.mGet(['m1', 'missing', 'm2']), ['1', null, '2']);
  assert.equal(await r.exists(['m1', 'm2', 'missing']), 2);
  assert.equal(await r.del(['m1', 'm2', 'missing']), 2);
  const raw = r.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  await raw.set(binary, binary);
  assert.deepEqual(await raw.get(binary), binary);
  const large = 'x'.repeat(1_000_000);
  await r.set('large', large);
  assert.equal(await r.get('large'), large);

  // Calls of one tick leave as one pipeline.
  const numbers = [...Array(500).keys()];
  await Promise.all(numbers.map((n) => r.set(`many:${n}`, String(n))));
  assert.deepEqual(await Promise.all(numbers.map((n) => r.get(`many:${n}`))), numbers.map(String));
  const found = new Set();
  for await (const keys of r.scanIterator({ MATCH: 'many:*' })) for (const key of [keys].flat()) found.add(key);
  assert.equal(found.size, 500);

  await assert.rejects(r.sendCommand(['NOSUCH']), /unknown command/);
  await assert.rejects(r.sendCommand(['GET']), /wrong number of arguments/);
  await assert.rejects(r.set('a', '1', { expiration: { type: 'EX', value: 0 } }), /invalid expire time/);
  await r.set('a', '1', { expiration: { type: 'EX', value: 1000 } });
  assert.ok((await r.ttl('a')) > 500);
  await r.del(['h', 's']);
  assert.equal(await r.hSet('h', { f: '1', g: '2' }), 2);
  assert.equal((await r.hGetAll('h')).g, '2');
  assert.equal(await r.sAdd('s', ['x', 'y']), 2);
  assert.equal(await r.sCard('s'), 2);
  assert.equal(await r.clientGetName(), 'tester');
  await r.close();
}

const wrong = createClient({ socket: { ...socket, reconnectStrategy: false }, password: 'wrong' });
wrong.on('error', () => {});
await assert.rejects(wrong.connect(), /WRONGPASS/);
const { version } = JSON.parse(readFileSync(new URL('./node_modules/redis/package.json', import.meta.url)));
console.log(`node-redis ${version}: all is well`);
