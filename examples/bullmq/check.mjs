// BullMQ: queue, workers, retries, delayed and repeated jobs, flows. Host and port are the arguments.
//
// A script of BullMQ uses all keys of its queue, and all keys of a script must be in one partition. The braces in the
// prefix see to that: they are a hash tag.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { FlowProducer, Queue, QueueEvents, Worker } from 'bullmq';

const [host, port] = process.argv.slice(2);
const options = { connection: { host, port: Number(port), maxRetriesPerRequest: null }, prefix: '{bull}' };
const PATIENCE = 120_000;
const open = [];

async function queue(name) {
  const made = [new Queue(name, options), new QueueEvents(name, options)];
  open.push(...made);
  await made[0].obliterate({ force: true }); // what an earlier run has left
  return made;
}

function worker(name, process, more = {}) {
  const made = new Worker(name, process, { ...options, ...more });
  made.on('error', (error) => { throw error; });
  open.unshift(made);
  return made;
}

async function until(what, look) {
  for (const start = Date.now(); ; await sleep(50)) {
    const found = await look();
    if (found) return found;
    assert.ok(Date.now() - start < PATIENCE, what); // time: the patience of this program, which imports nothing of ours
  }
}

async function jobs() {
  const [mails, events] = await queue('mails');
  worker('mails', async (job) => {
    await job.updateProgress(50);
    return `sent to ${job.data.to}`;
  }, { concurrency: 4 });
  const added = await mails.addBulk([...Array(100).keys()].map((n) => ({ name: 'mail', data: { to: n } })));
  const results = await Promise.all(added.map((job) => job.waitUntilFinished(events, PATIENCE)));
  assert.deepEqual(results, [...Array(100).keys()].map((n) => `sent to ${n}`));
  assert.deepEqual(await mails.getJobCounts('completed', 'failed', 'waiting'), { completed: 100, failed: 0, waiting: 0 });
  assert.equal((await mails.getJob(added[7].id)).progress, 50);
}

async function retries() {
  const [calls, events] = await queue('calls');
  worker('calls', async (job) => {
    if (job.attemptsMade < job.data.fails) throw new Error('busy');
    return job.attemptsMade + 1;
  });
  const backoff = { type: 'fixed', delay: 50 };
  const third = await calls.add('call', { fails: 2 }, { attempts: 3, backoff });
  assert.equal(await third.waitUntilFinished(events, PATIENCE), 3);
  const never = await calls.add('call', { fails: 9 }, { attempts: 2, backoff });
  await assert.rejects(never.waitUntilFinished(events, PATIENCE), /busy/);
  assert.equal(await never.getState(), 'failed');
  await never.retry();
  await until('it failed again', async () => (await never.getState()) === 'failed');
}

async function order() {
  const [prints] = await queue('prints');
  for (const [page, priority] of [['late', 9], ['soon', 2], ['first', 1]]) await prints.add(page, {}, { priority });
  await prints.add('twice', {}, { jobId: 'only-one', priority: 10 });
  await prints.add('twice', {}, { jobId: 'only-one', priority: 10 });
  const done = [];
  worker('prints', async (job) => { done.push(job.name); });
  await until('all pages', () => done.length === 4);
  assert.deepEqual(done, ['first', 'soon', 'late', 'twice']);
}

async function later() {
  const [timers, events] = await queue('timers');
  worker('timers', async (job) => Date.now() - job.timestamp);
  const distant = await timers.add('wait', {}, { delay: 3_600_000 });
  assert.equal(await distant.getState(), 'delayed');
  const job = await timers.add('wait', {}, { delay: 800 });
  assert.ok((await job.waitUntilFinished(events, PATIENCE)) >= 800);
}

async function repeated() {
  const [ticks] = await queue('ticks');
  let count = 0;
  worker('ticks', async () => { count += 1; });
  await ticks.upsertJobScheduler('tick', { every: 200, limit: 4 }, { name: 'tick' });
  await until('four ticks', () => count >= 4);
  await sleep(600);
  assert.equal(count, 4, 'the limit holds');
  await ticks.upsertJobScheduler('more', { every: 100 }, { name: 'tick' });
  await until('more ticks', () => count >= 7);
  for (const scheduler of await ticks.getJobSchedulers()) assert.ok(await ticks.removeJobScheduler(scheduler.key));
  assert.equal((await ticks.getJobSchedulers()).length, 0);
}

async function flows() {
  const [rooms, events] = await queue('rooms');
  const [doors] = await queue('doors');
  worker('doors', async (job) => job.data.price);
  worker('rooms', async (job) => {
    const prices = Object.values(await job.getChildrenValues());
    return prices.reduce((sum, price) => sum + price, 0);
  });
  const producer = new FlowProducer(options);
  open.push(producer);
  const children = [1, 2, 3].map((price) => ({ name: 'door', queueName: 'doors', data: { price } }));
  const floor = { name: 'room', queueName: 'rooms', data: {}, children };
  const house = await producer.add({ name: 'house', queueName: 'rooms', data: {}, children: [floor, children[0]] });
  assert.equal(await house.job.waitUntilFinished(events, PATIENCE), 7);
  assert.equal(await doors.getCompletedCount(), 4);
}

async function pauses() {
  const [belt, events] = await queue('belt');
  worker('belt', async () => 'moved');
  await belt.pause();
  const job = await belt.add('box', {});
  await sleep(300);
  assert.equal(await belt.isPaused(), true);
  assert.equal(await job.isCompleted(), false);
  await belt.resume();
  assert.equal(await job.waitUntilFinished(events, PATIENCE), 'moved');
  await belt.obliterate({ force: true });
  assert.equal(await belt.getJobCountByTypes('completed', 'waiting'), 0);
}

for (const part of [jobs, retries, order, later, repeated, flows, pauses]) {
  await part();
  console.log(`${part.name}: as expected`);
}
for (const one of open) await one.close();
