package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// Goes into the development server of a test, see shifted-server.ts. Shifts the server's wall clock by the milliseconds in a file,
// to the second, within 20 ms of a change.
func init() {
	file := os.Getenv("FARETRAIL_TEST_SERVER_CLOCK_FILE")
	read := func() {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		// A file that is just being written is empty.
		if ms, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			time.FaretrailAheadSeconds.Store(ms / 1000)
		}
	}
	read()
	go func() {
		for range time.Tick(20 * time.Millisecond) {
			read()
		}
	}()
}
