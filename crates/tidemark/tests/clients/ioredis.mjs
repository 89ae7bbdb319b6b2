// ioredis, as an application uses it: host, port and password are the arguments.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import Redis from 'ioredis';

const [host, port, password] = process.argv.slice(2);
const r = new Redis({ host, port: Number(port), password, connectionName: 'tester' });
const binary = Buffer.from([...Array(256).keys(), 13, 10, 36, 53, 13, 10]);

assert.equal(await r.ping(), 'PONG');
assert.equal(await r.flushall(), 'OK');
assert.equal(await r.set('a', '1'), 'OK');
assert.equal(await r.get('a'), '1');
assert.equal(await r.get('missing'), null);
assert.equal(await r.set('a', '2', 'NX'), null);
assert.equal(await r.set('a', '2', 'XX'), 'OK');
assert.equal(await r.set('a', '3', 'GET'), '2');
assert.equal(await r.setnx('a', '4'), 0);
assert.equal(await r.getset('a', '5'), '3');
assert.equal(await r.mset({ m1: '1', m2: '2' }), 'OK');
assert.deepEqual(await r.mget('m1', 'missing', 'm2'), ['1', null, '2']);
assert.equal(await r.exists('m1', 'm2', 'missing'), 2);
assert.equal(await r.del('m1', 'm2', 'missing'), 2);
await r.set(binary, binary);
assert.deepEqual(await r.getBuffer(binary), binary);
const large = 'x'.repeat(1_000_000);
await r.set('large', large);
assert.equal(await r.get('large'), large);

const pipeline = r.pipeline();
for (let n = 0; n < 500; n++) pipeline.set(`many:${n}`, n);
for (let n = 0; n < 500; n++) pipeline.get(`many:${n}`);
const replies = await pipeline.exec();
assert.ok(replies.every(([error]) => error === null));
assert.deepEqual(replies.slice(500).map(([, value]) => value), [...Array(500).keys()].map(String));
const found = [];
for await (const keys of r.scanStream({ match: 'many:*' })) found.push(...keys);
assert.deepEqual([...new Set(found)].length, 500);

// Transactions, on keys of any partitions.
await r.del('t:a', 't:b', 't:n', 't:s');
const done = await r.multi().set('t:a', 'x').get('t:a').incr('t:n').sadd('t:s', 'm', 'n').smembers('t:s').set('t:b', '0').exec();
assert.deepEqual(done, [[null, 'OK'], [null, 'x'], [null, 1], [null, 2], [null, ['m', 'n']], [null, 'OK']]);
assert.deepEqual(await r.multi([['set', 't:a', '1'], ['mget', 't:a', 't:b']]).exec(), [[null, 'OK'], [null, ['1', '0']]]);
const other = r.duplicate();
await r.watch('t:a', 't:b');
await other.set('t:b', 'other');
assert.equal(await r.multi().set('t:a', 'mine').exec(), null);
await r.watch('t:a');
assert.deepEqual(await r.multi().set('t:b', 'x').exec(), [[null, 'OK']]);
const [set, incremented] = await r.multi().set('t:a', 'x').incr('t:a').exec();
assert.equal(set[1], 'OK');
assert.match(incremented[0].message, /not an integer/);
await assert.rejects(r.multi().set('t:a', 'y').call('get').exec(), /EXECABORT/);
const queued = r.multi({ pipeline: false });
await queued;
assert.equal(await r.set('t:a', 'z'), 'QUEUED');
assert.equal(await r.discard(), 'OK');
assert.equal(await r.get('t:a'), 'x');
await other.quit();

await assert.rejects(r.call('NOSUCH'), /unknown command/);
await assert.rejects(r.call('GET'), /wrong number of arguments/);
await assert.rejects(r.set('a', '1', 'EX', 0), /invalid expire time/);
await r.set('a', '1', 'EX', 1000);
assert.ok((await r.ttl('a')) > 500);
assert.equal(await r.hset('h', { f: '1', g: '2' }), 2);
assert.equal(await r.hincrby('h', 'f', 4), 5);
assert.deepEqual(await r.hgetall('h'), { f: '5', g: '2' });
assert.equal(await r.zadd('z', 1.5, 'one', 2, 'two'), 2);
assert.deepEqual(await r.zrange('z', 0, -1, 'WITHSCORES'), ['one', '1.5', 'two', '2']);
assert.equal(await r.rpush('l', 'a', 'b'), 2);
assert.deepEqual(await r.blpop('l', 1), ['l', 'a']);
assert.equal(await r.client('GETNAME'), 'tester');
await r.quit();

const wrong = new Redis({ host, port: Number(port), password: 'wrong', retryStrategy: null, lazyConnect: true });
wrong.on('error', () => {});
await assert.rejects(async () => { await wrong.connect(); await wrong.get('a'); });
wrong.disconnect();
const { version } = JSON.parse(readFileSync(new URL('./node_modules/ioredis/package.json', import.meta.url)));
console.log(`ioredis ${version}: all is well`);
