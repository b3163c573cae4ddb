// SPDX-License-Identifier: BSL-1.0

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.redisson.Redisson;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson behind the lines of bench/peers/driver.py, with its default options: a lease of 30 s that
 * the watchdog renews, up to 64 connections, 16 threads and 32 of Netty. A thread for each worker.
 */
public final class Driver {
    private static final String NAME = "conch-peers:redisson:";
    /** Of a permit, which no watchdog renews. */
    private static final long LEASE_S = 30;
    /** So high that no latch opens. */
    private static final long HIGHEST_COUNT = Integer.MAX_VALUE;

    private final RedissonClient redisson;
    /** What each worker takes again and again, and how it gives that back. */
    private final Map<String, Callable<Runnable>> choices = new HashMap<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();

    /** What one thread did. */
    private static final class Outcome {
        long got = 0;
        long longestWait = 0;
        long[] pairs = new long[1024];
        int count = 0;

        void add(long pair) {
            if (count == pairs.length) {
                pairs = Arrays.copyOf(pairs, 2 * count);
            }
            pairs[count++] = pair;
        }
    }

    private Driver(String url) {
        Config config = new Config();
        config.useSingleServer().setAddress(url);
        redisson = Redisson.create(config);
    }

    public static void main(String[] arguments) throws Exception {
        int status = 1;
        try {
            Driver driver = new Driver(arguments[0]);
            answer("{\"driver\":\"redisson " + version() + "\"}");
            driver.serve();
            status = 0;
        } catch (Throwable e) {
            System.err.println(e);
        } finally {
            Runtime.getRuntime().halt(status);
        }
    }

    /** That of its jar's name. */
    private static String version() throws Exception {
        String jar = Path.of(Redisson.class.getProtectionDomain().getCodeSource().getLocation()
            .toURI()).getFileName().toString();
        return jar.replaceAll("^redisson-|\\.jar$", "");
    }

    private static void answer(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private void serve() throws Exception {
        RLock passed = null;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("lock")) {
                passed = words.length > 1 ? redisson.getFairLock(NAME + "passed:fair")
                    : redisson.getLock(NAME + "passed");
                passed.lock();
                answer("{\"at\":" + System.nanoTime() + "}");
            } else if (words[0].equals("unlock")) {
                long begin = System.nanoTime();
                passed.unlock();
                answer("{\"at\":" + begin + "}");
            } else if (words[0].equals("loop")) {
                answer(loop(Integer.parseInt(words[1]), words[2], Long.parseLong(words[3]),
                    Long.parseLong(words[4])));
            } else {
                throw new IllegalArgumentException("not understood: " + words[0]);
            }
        }
    }

    private static Runnable locked(RLock lock) {
        lock.lock();
        return lock::unlock;
    }

    private Callable<Runnable> choice(String locks, int worker) {
        String own = NAME + locks + ':' + worker;
        switch (locks) {
            case "own":
                RLock alone = redisson.getLock(own);
                return () -> locked(alone);
            case "shared":
                RLock shared = redisson.getLock(NAME + locks);
                return () -> locked(shared);
            case "readers":
                RReadWriteLock both = redisson.getReadWriteLock(NAME + locks);
                RLock reader = both.readLock();
                RLock writer = both.writeLock();
                int[] turn = {worker * 37};
                return () -> locked(++turn[0] % 100 == 0 ? writer : reader);
            case "only-readers":
                RLock only = redisson.getReadWriteLock(NAME + locks).readLock();
                return () -> locked(only);
            case "fair":
                RLock fair = redisson.getFairLock(NAME + locks);
                return () -> locked(fair);
            case "several":
                RLock several = redisson.getMultiLock(redisson.getLock(own),
                    redisson.getLock(own + ":second"), redisson.getLock(own + ":third"));
                return () -> locked(several);
            case "permits":
                RPermitExpirableSemaphore permits = redisson.getPermitExpirableSemaphore(own);
                permits.trySetPermits(1);
                return () -> {
                    String id = permits.acquire(LEASE_S, TimeUnit.SECONDS);
                    return () -> permits.release(id);
                };
            case "counters":
                RSemaphore counter = redisson.getSemaphore(own);
                counter.trySetPermits(1);
                return () -> {
                    counter.acquire();
                    return counter::release;
                };
            case "latches":
                RCountDownLatch latch = redisson.getCountDownLatch(own);
                latch.trySetCount(HIGHEST_COUNT);
                return () -> latch::countDown;
            default:
                throw new IllegalArgumentException("not understood: " + locks);
        }
    }

    private String loop(int workers, String locks, long begin, long end) throws Exception {
        List<Future<Outcome>> running = new ArrayList<>();
        for (int i = 0; i < workers; i++) {
            int worker = i;
            Callable<Runnable> next =
                choices.computeIfAbsent(locks + i, unused -> choice(locks, worker));
            running.add(threads.submit(() -> work(next, begin, end)));
        }
        List<Outcome> outcomes = new ArrayList<>();
        for (Future<Outcome> one : running) {
            outcomes.add(one.get());
        }
        long[] pairs =
            outcomes.stream().flatMapToLong(o -> Arrays.stream(o.pairs, 0, o.count)).toArray();
        Arrays.sort(pairs);
        String got = outcomes.stream().map(o -> String.valueOf(o.got))
            .collect(Collectors.joining(","));
        long longest = outcomes.stream().mapToLong(o -> o.longestWait).max().getAsLong();
        return "{\"got\":[" + got + "],\"p50_us\":" + percentile(pairs, 50) + ",\"p99_us\":"
            + percentile(pairs, 99) + ",\"longest_wait_us\":" + longest / 1e3 + "}";
    }

    private static Outcome work(Callable<Runnable> next, long begin, long end)
            throws Exception {
        Outcome o = new Outcome();
        while (System.nanoTime() < begin) {
            LockSupport.parkNanos(begin - System.nanoTime());
        }
        long asked = System.nanoTime();
        while (asked < end) {
            Runnable release = next.call();
            long granted = System.nanoTime();
            release.run();
            long released = System.nanoTime();
            o.longestWait = Math.max(o.longestWait, granted - asked);
            o.add(released - asked);
            o.got += released <= end ? 1 : 0;
            asked = released;
        }
        return o;
    }

    private static double percentile(long[] sorted, int p) {
        return sorted.length == 0 ? 0 : sorted[(p * sorted.length + 99) / 100 - 1] / 1e3;
    }
}
