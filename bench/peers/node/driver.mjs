// SPDX-License-Identifier: BSL-1.0
// redlock and redis-semaphore behind the lines of bench/peers/driver.py, over ioredis.
//
//   node driver.mjs redlock|redis-semaphore URL
//
// Defaults, but for what a user sets who wants to wait until it is granted: how often, or for how
// long, to try. redlock then tries every 200 +- 100 ms, redis-semaphore every 10 ms. redlock asks
// for a time to live; its acquire() does not extend it, a Mutex of redis-semaphore is refreshed.
import Redis from "ioredis";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const leaseMs = 30_000;
const [library, url] = process.argv.slice(2);
const client = new Redis(url);
const now = () => process.hrtime.bigint(); // CLOCK_MONOTONIC
const makers = { redlock: makeRedlock, "redis-semaphore": makeSemaphore };

// A maker gives a function that makes a lock: its acquire() gives what has release().
async function makeRedlock() {
  const { default: Redlock } = await import("redlock");
  const redlock = new Redlock([client], { retryCount: -1 });
  return (name) => ({ acquire: () => redlock.acquire([name], leaseMs) });
}

async function makeSemaphore() {
  const { Mutex, Semaphore } = await import("redis-semaphore");
  return (name, locks) => {
    const options = { acquireTimeout: Infinity };
    const lock =
      locks === "permits"
        ? new Semaphore(client, name, 1, options)
        : new Mutex(client, name, options);
    return {
      acquire: async () => {
        await lock.acquire();
        return lock;
      },
    };
  };
}

function percentile(sorted, p) {
  return sorted.length ? sorted[Math.max(0, Math.ceil((p * sorted.length) / 100) - 1)] : 0;
}

async function loop(workers, locks, begin, end) {
  const got = new Array(workers).fill(0);
  const pairs = [];
  let longest = 0n;
  const work = async (i) => {
    const lock = makeLock(`conch-peers:${library}:${locks === "shared" ? locks : i}`, locks);
    let asked = now();
    while (asked < end) {
      const held = await lock.acquire();
      const granted = now();
      await held.release();
      const released = now();
      if (granted - asked > longest) longest = granted - asked;
      pairs.push(Number(released - asked) / 1e3);
      if (released <= end) ++got[i];
      asked = released;
    }
  };
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, Number(begin - now()) / 1e6)));
  await Promise.all(got.map((_, i) => work(i)));
  pairs.sort((a, b) => a - b);
  return {
    got,
    p50_us: percentile(pairs, 50),
    p99_us: percentile(pairs, 99),
    longest_wait_us: Number(longest) / 1e3,
  };
}

const answer = (value) => process.stdout.write(JSON.stringify(value) + "\n");
const makeLock = await makers[library]();
const passed = makeLock(`conch-peers:${library}:passed`);
const manifest = new URL(`node_modules/${library}/package.json`, import.meta.url);
// What a manifest calls its version may begin with a "v".
const version = JSON.parse(readFileSync(manifest, "utf8")).version.replace(/^v/, "");
let held;

await client.ping();
answer({ driver: `${library} ${version}` });
for await (const line of createInterface({ input: process.stdin })) {
  const [what, ...words] = line.split(" ");
  if (what === "lock") {
    held = await passed.acquire();
    answer({ at: Number(now()) });
  } else if (what === "unlock") {
    const begin = now();
    await held.release();
    answer({ at: Number(begin) });
  } else if (what === "loop") {
    const [workers, locks, begin, end] = words;
    answer(await loop(Number(workers), locks, BigInt(begin), BigInt(end)));
  } else {
    throw new Error(`not understood: ${what}`);
  }
}
process.exit(0);
