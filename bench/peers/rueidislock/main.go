// SPDX-License-Identifier: BSL-1.0

// rueidislock behind the lines of bench/peers/driver.py, for a single server. Its cancel functions
// return when the lock is released. NoLoopTracking, which is off unless asked for, would be a
// little faster; but with it nothing wakes a waiter whose own attempt was given up (TryNextAfter,
// 20 ms) and taken back: seen where the server pauses for 30 ms just after a release. Who still
// waits long after the end of a slice, when nobody holds the lock, is given up.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
	"golang.org/x/sys/unix"
)

const (
	module = "github.com/redis/rueidis"
	name   = "conch-peers:rueidislock"

	patience = 2 * time.Second // of who waits at the end of a slice
)

// The same instant by Go's clock and by CLOCK_MONOTONIC, which is that of time.Since.
var (
	origin   = time.Now()
	originNs = monotonic()
)

func monotonic() int64 {
	var t unix.Timespec
	check(unix.ClockGettime(unix.CLOCK_MONOTONIC, &t))
	return t.Nano()
}

func now() int64 { return originNs + int64(time.Since(origin)) }

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer(value any) {
	text, err := json.Marshal(value)
	check(err)
	fmt.Println(string(text))
}

func number(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	check(err)
	return n
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, d := range info.Deps {
		if d.Path == module {
			return strings.TrimPrefix(d.Version, "v")
		}
	}
	return "?"
}

func percentile(sorted []float64, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(p*len(sorted)+99)/100-1]
}

type worker struct {
	got     int64
	pairs   []float64
	longest float64
	left    int
}

func (w *worker) run(waiting context.Context, locker rueidislock.Locker, lock string, begin, end int64) {
	time.Sleep(time.Duration(begin - now()))
	for asked := now(); asked < end; {
		_, release, err := locker.WithContext(waiting, lock)
		granted := now()
		if waiting.Err() != nil && err != nil {
			w.longest = max(w.longest, float64(granted-asked)/1e3)
			w.left = 1
			return
		}
		check(err)
		release()
		released := now()
		w.longest = max(w.longest, float64(granted-asked)/1e3)
		w.pairs = append(w.pairs, float64(released-asked)/1e3)
		if released <= end {
			w.got++
		}
		asked = released
	}
}

func loop(locker rueidislock.Locker, count int64, shared bool, begin, end int64) {
	workers := make([]worker, count)
	var all sync.WaitGroup
	waiting, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	defer time.AfterFunc(time.Duration(end-now())+patience, giveUp).Stop()
	for i := range workers {
		lock := name + ":shared"
		if !shared {
			lock = name + ":" + strconv.Itoa(i)
		}
		all.Add(1)
		go func() {
			defer all.Done()
			workers[i].run(waiting, locker, lock, begin, end)
		}()
	}
	all.Wait()
	var got []int64
	var pairs []float64
	longest, left := 0.0, 0
	for _, w := range workers {
		got = append(got, w.got)
		pairs = append(pairs, w.pairs...)
		longest = max(longest, w.longest)
		left += w.left
	}
	sort.Float64s(pairs)
	answer(map[string]any{"got": got, "p50_us": percentile(pairs, 50),
		"p99_us": percentile(pairs, 99), "longest_wait_us": longest, "left_waiting": left})
}

func main() {
	options, err := rueidis.ParseURL(os.Args[1])
	check(err)
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: options, KeyMajority: 1})
	check(err)
	answer(map[string]any{"driver": "rueidislock " + version()})
	var release context.CancelFunc
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch words[0] {
		case "lock":
			_, release, err = locker.WithContext(context.Background(), name+":passed")
			check(err)
			answer(map[string]any{"at": now()})
		case "unlock":
			begin := now()
			release()
			answer(map[string]any{"at": begin})
		case "loop":
			loop(locker, number(words[1]), words[2] == "shared", number(words[3]), number(words[4]))
		default:
			check(fmt.Errorf("not understood: %s", words[0]))
		}
	}
}
