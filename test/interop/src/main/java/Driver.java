// SPDX-License-Identifier: BSL-1.0

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RBucket;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RList;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;

/**
 * Redisson behind lines of text: {@code Driver URL WATCHDOG_TIMEOUT_MS}. Several URLs with commas
 * between them are nodes of a cluster. A request is
 * {@code ID THREAD COMMAND [ARGUMENT...]}; its answer is {@code ID ok VALUE} or
 * {@code ID error CLASS MESSAGE}, in the order in which they become known. Names have no blanks;
 * times are in milliseconds. Each THREAD is a Java thread of its own, as Redisson's owners are, and
 * does its requests one after the other. Says {@code 0 ok ready} first; ends with its input.
 */
public final class Driver {
    private static final long NO_LEASE = -1; // renewed by the watchdog

    private final RedissonClient redisson;
    private final Map<String, ExecutorService> threads = new HashMap<>();

    private Driver(String url, long watchdogTimeout) {
        Config config = new Config();
        config.setLockWatchdogTimeout(watchdogTimeout).setThreads(4).setNettyThreads(4);
        if (url.contains(",")) {
            // What "increment" has written need not have reached a replica when it reads.
            config.useClusterServers().addNodeAddress(url.split(",")).setReadMode(ReadMode.MASTER)
                .setScanInterval(500).setMasterConnectionMinimumIdleSize(2)
                .setSlaveConnectionMinimumIdleSize(1);
        } else {
            config.useSingleServer().setAddress(url).setConnectionMinimumIdleSize(2);
        }
        redisson = Redisson.create(config);
    }

    public static void main(String[] arguments) throws Exception {
        int status = 1;
        try {
            Driver driver = new Driver(arguments[0], Long.parseLong(arguments[1]));
            answer("0 ok ready");
            driver.serve();
            status = 0;
        } finally {
            Runtime.getRuntime().halt(status); // not waiting for anybody's lock
        }
    }

    private void serve() throws Exception {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            threads.computeIfAbsent(words[1], name -> Executors.newSingleThreadExecutor())
                .execute(() -> answer(words[0] + ' ' + outcome(words)));
        }
    }

    private static void answer(String line) {
        byte[] bytes = (line.replace('\n', ' ') + '\n').getBytes(StandardCharsets.UTF_8);
        synchronized (System.out) {
            System.out.write(bytes, 0, bytes.length);
            System.out.flush();
        }
    }

    private String outcome(String[] words) {
        try {
            return "ok " + run(words[2], Arrays.copyOfRange(words, 3, words.length));
        } catch (Throwable e) {
            return "error " + e.getClass().getSimpleName() + ' ' + e.getMessage();
        }
    }

    private Object run(String command, String[] of) throws Exception {
        switch (command) {
            case "lock":
                lockOf(of[0]).lock(number(of, 1, NO_LEASE), TimeUnit.MILLISECONDS);
                return "locked";
            case "tryLock":
                return tryLock(lockOf(of[0]), number(of, 1, 0), number(of, 2, NO_LEASE));
            case "unlock":
                lockOf(of[0]).unlock();
                return "unlocked";
            case "forceUnlock":
                return lockOf(of[0]).forceUnlock();
            case "isLocked":
                return lockOf(of[0]).isLocked();
            case "isHeldByCurrentThread":
                return lockOf(of[0]).isHeldByCurrentThread();
            case "holdCount":
                return lockOf(of[0]).getHoldCount();
            case "counts":
                return redisson.getMap(of[0], StringCodec.INSTANCE).readAllValues();
            case "remainTimeToLive":
                return lockOf(of[0]).remainTimeToLive();
            case "lockAndGetToken":
                return redisson.getFencedLock(of[0]).lockAndGetToken();
            case "getToken":
                return redisson.getFencedLock(of[0]).getToken();
            case "unlockFenced":
                redisson.getFencedLock(of[0]).unlock();
                return "unlocked";
            case "increment":
                return increment(of[0], of[1], Integer.parseInt(of[2]));
            case "trySetPermits":
                return semaphore(of).trySetPermits(Integer.parseInt(of[1]));
            case "acquirePermits":
                semaphore(of).acquire(Integer.parseInt(of[1]));
                return "acquired";
            case "tryAcquirePermits":
                return semaphore(of).tryAcquire(Integer.parseInt(of[1]));
            case "releasePermits":
                semaphore(of).release(Integer.parseInt(of[1]));
                return "released";
            case "addPermits":
                semaphore(of).addPermits(Integer.parseInt(of[1]));
                return "added";
            case "drainPermits":
                return semaphore(of).drainPermits();
            case "availablePermits":
                return semaphore(of).availablePermits();
            case "leased":
                return leased(redisson.getPermitExpirableSemaphore(of[0]), of[1],
                    Arrays.copyOfRange(of, 2, of.length));
            case "takeAndRelease":
                return takeAndRelease(semaphore(of), Integer.parseInt(of[1]));
            case "visit":
                return visit(of[0], of[1], of[2], Integer.parseInt(of[3]), Integer.parseInt(of[4]));
            case "trySetCount":
                return latch(of).trySetCount(Long.parseLong(of[1]));
            case "countDown":
                latch(of).countDown();
                return "counted";
            case "await":
                latch(of).await();
                return "open";
            case "getCount":
                return latch(of).getCount();
            case "delete":
                return latch(of).delete();
            case "crash":
                Runtime.getRuntime().halt(1);
                return null;
            default:
                throw new IllegalArgumentException(command);
        }
    }

    /** A lock of another kind than getLock's is "KIND:NAME", several at once "multi:NAME+NAME". */
    private RLock lockOf(String name) {
        String[] parts = name.split(":", 2);
        switch (parts[0]) {
            case "read":
                return redisson.getReadWriteLock(parts[1]).readLock();
            case "write":
                return redisson.getReadWriteLock(parts[1]).writeLock();
            case "fair":
                return redisson.getFairLock(parts[1]);
            case "spin":
                return redisson.getSpinLock(parts[1]);
            case "nonReentrant":
                return redisson.getNonReentrantLock(parts[1]);
            case "nonReentrantFair":
                return redisson.getNonReentrantFairLock(parts[1]);
            case "multi":
                return redisson.getMultiLock(
                    Arrays.stream(parts[1].split("\\+")).map(this::lockOf).toArray(RLock[]::new));
            default:
                return redisson.getLock(name);
        }
    }

    private RSemaphore semaphore(String[] of) {
        return redisson.getSemaphore(of[0]);
    }

    /** A call of a semaphore whose permits have leases. */
    private static Object leased(RPermitExpirableSemaphore semaphore, String call, String[] of)
        throws Exception {
        if (call.equals("release")) {
            semaphore.release(Arrays.asList(of[0].split(",")));
            return "released";
        }
        int permits = (int) number(of, 0, 1);
        switch (call) {
            case "trySetPermits":
                return semaphore.trySetPermits(permits);
            case "setPermits":
                semaphore.setPermits(permits);
                return "set";
            case "addPermits":
                semaphore.addPermits(permits);
                return "added";
            case "acquire":
                return String.join(",",
                    semaphore.acquire(permits, number(of, 1, 60000), TimeUnit.MILLISECONDS));
            case "tryAcquire":
                return String.join(",", semaphore.tryAcquire(permits, 0, number(of, 1, 60000),
                    TimeUnit.MILLISECONDS));
            case "counts":
                return semaphore.availablePermits() + " " + semaphore.acquiredPermits() + " "
                    + semaphore.getPermits();
            case "takeAndRelease":
                for (int i = 0; i < permits; i++) {
                    semaphore.release(semaphore.acquire());
                }
                return "done";
            default:
                throw new IllegalArgumentException(call);
        }
    }

    /** What worker/visitors.cpp says; how many times it met whom it should not have met. */
    private int visit(String kind, String name, String data, int limit, int times)
        throws Exception {
        RAtomicLong number = redisson.getAtomicLong(data);
        RList<String> visitors = redisson.getList(data + "/visitors", StringCodec.INSTANCE);
        int met = 0;
        redisson.getCountDownLatch(data + "/gate").await();
        for (int i = 0; i < times; i++) {
            if (kind.equals("latch")) {
                RCountDownLatch all = redisson.getCountDownLatch(name + '/' + i);
                number.incrementAndGet();
                all.countDown();
                all.await();
                met += number.get() < (long) limit * (i + 1) ? 1 : 0;
            } else if (kind.equals("permits")) {
                RSemaphore permits = redisson.getSemaphore(name);
                permits.acquire();
                met += crowd(number, limit);
                visitors.add("java");
                permits.release();
            } else if (kind.equals("leased")) {
                RPermitExpirableSemaphore permits = redisson.getPermitExpirableSemaphore(name);
                String id = permits.acquire();
                met += crowd(number, limit);
                visitors.add("java");
                permits.release(id);
            } else {
                RLock lock = lockOf(kind + ':' + name);
                lock.lock();
                met += kind.equals("read") ? look(number) : change(number);
                visitors.add("java");
                lock.unlock();
            }
        }
        return met;
    }

    private static int crowd(RAtomicLong number, int limit) {
        int met = number.incrementAndGet() > limit ? 1 : 0;
        number.decrementAndGet();
        return met;
    }

    private static int look(RAtomicLong number) {
        long seen = number.get();
        return seen % 2 != 0 || number.get() != seen ? 1 : 0;
    }

    private static int change(RAtomicLong number) {
        long seen = number.get();
        number.set(seen + 1);
        int met = seen % 2 != 0 || number.get() != seen + 1 ? 1 : 0;
        number.set(seen + 2);
        return met;
    }

    private RCountDownLatch latch(String[] of) {
        return redisson.getCountDownLatch(of[0]);
    }

    private static String takeAndRelease(RSemaphore semaphore, int times) throws Exception {
        for (int i = 0; i < times; i++) {
            semaphore.acquire();
            semaphore.release();
        }
        return "done";
    }

    private static long number(String[] of, int at, long otherwise) {
        return at < of.length ? Long.parseLong(of[at]) : otherwise;
    }

    /** "true" or "false", and after how many microseconds. */
    private static String tryLock(RLock lock, long wait, long lease) throws Exception {
        long began = System.nanoTime();
        boolean granted = lock.tryLock(wait, lease, TimeUnit.MILLISECONDS);
        return granted + " " + (System.nanoTime() - began) / 1000;
    }

    /** Adds one to a counter, so many times, by a read and a write; a lock named "-" is none. */
    private String increment(String name, String counter, int times) {
        RBucket<String> value = redisson.getBucket(counter, StringCodec.INSTANCE);
        RLock lock = name.equals("-") ? null : lockOf(name);
        for (int i = 0; i < times; i++) {
            if (lock != null) {
                lock.lock();
            }
            try {
                String seen = value.get();
                value.set(String.valueOf(1 + (seen == null ? 0 : Long.parseLong(seen))));
            } finally {
                if (lock != null) {
                    lock.unlock();
                }
            }
        }
        return "done";
    }
}
