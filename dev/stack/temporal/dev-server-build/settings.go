package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
)

type settings struct {
	ip               string
	port             int
	headless         bool
	uiPort           int
	metricsPort      int
	namespaces       []string
	databaseFile     string
	pragmas          map[string]string
	searchAttributes map[string]enumspb.IndexedValueType
	dynamicConfig    map[string]any
	logLevel         slog.Level
}

func readSettings(words []string) (settings, error) {
	read := settings{
		namespaces:       []string{"default"},
		pragmas:          map[string]string{},
		searchAttributes: map[string]enumspb.IndexedValueType{},
		dynamicConfig:    map[string]any{},
	}
	flags := newFlags("server start-dev")
	flags.StringVar(&read.ip, "ip", "127.0.0.1", "")
	flags.IntVar(&read.port, "port", 7233, "")
	flags.BoolVar(&read.headless, "headless", false, "")
	flags.IntVar(&read.uiPort, "ui-port", 0, "")
	flags.IntVar(&read.metricsPort, "metrics-port", 0, "")
	flags.StringVar(&read.databaseFile, "db-filename", "", "")
	flags.TextVar(&read.logLevel, "log-level", slog.LevelWarn, "")
	flags.Func("namespace", "", func(name string) error {
		read.namespaces = append(read.namespaces, name)
		return nil
	})
	flags.Func("sqlite-pragma", "", pair(func(key, text string) (err error) {
		read.pragmas[key] = text
		return nil
	}))
	flags.Func("search-attribute", "", pair(func(key, text string) (err error) {
		read.searchAttributes[key], err = enumspb.IndexedValueTypeFromString(text)
		return err
	}))
	flags.Func("dynamic-config-value", "", pair(func(key, text string) (err error) {
		read.dynamicConfig[key], err = parseValue(text)
		return err
	}))
	if err := parse(flags, words); err != nil {
		return read, err
	}
	if read.databaseFile == "" {
		return read, errors.New("--db-filename is missing: this build keeps no database in memory")
	}
	if read.uiPort == 0 {
		read.uiPort = read.port + 1_000 // as the Temporal CLI does
	}
	return read, nil
}

func newFlags(command string) *flag.FlagSet {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // main prints the error
	return flags
}

func parse(flags *flag.FlagSet, words []string) error {
	if err := flags.Parse(words); err != nil {
		return fmt.Errorf("%s: %w", flags.Name(), err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s: unknown word %q", flags.Name(), flags.Arg(0))
	}
	return nil
}

func pair(set func(key, text string) error) func(string) error {
	return func(word string) error {
		key, text, isPair := strings.Cut(word, "=")
		if !isPair {
			return errors.New("not KEY=VALUE")
		}
		return set(key, text)
	}
}

// parseValue reads a value of dynamic config. The server knows whole numbers only as int.
func parseValue(text string) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	number, isNumber := value.(json.Number)
	if !isNumber {
		return value, nil
	}
	if whole, err := number.Int64(); err == nil {
		return int(whole), nil
	}
	return number.Float64()
}
