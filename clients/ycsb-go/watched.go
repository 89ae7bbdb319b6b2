package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/pingcap/go-ycsb/pkg/client"
)

// How many different errors are told as they happen.
const told = 10

// watched is a database that counts what failed, and says every error once: the report only says how many there were.
type watched struct {
	client.DbWrapper
	mutex  sync.Mutex
	failed int
	said   map[string]bool
}

func (w *watched) note(operation, key string, err error) {
	if err == nil {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.failed++
	text := fmt.Sprintf("%s: %v", operation, err)
	if len(w.said) >= told || w.said[text] {
		return
	}
	if w.said == nil {
		w.said = make(map[string]bool)
	}
	w.said[text] = true
	fmt.Fprintf(os.Stderr, "%s %s of %s\n", time.Now().UTC().Format(time.RFC3339), text, key)
}

// verdict is an error if any operation failed.
func (w *watched) verdict() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.failed > 0 {
		return fmt.Errorf("%d operations failed", w.failed)
	}
	return nil
}

func (w *watched) Read(ctx context.Context, table, key string, fields []string) (map[string][]byte, error) {
	values, err := w.DbWrapper.Read(ctx, table, key, fields)
	w.note("READ", key, err)
	return values, err
}

func (w *watched) Scan(ctx context.Context, table, key string, count int, fields []string) ([]map[string][]byte, error) {
	rows, err := w.DbWrapper.Scan(ctx, table, key, count, fields)
	w.note("SCAN", key, err)
	return rows, err
}

func (w *watched) Update(ctx context.Context, table, key string, values map[string][]byte) error {
	err := w.DbWrapper.Update(ctx, table, key, values)
	w.note("UPDATE", key, err)
	return err
}

func (w *watched) Insert(ctx context.Context, table, key string, values map[string][]byte) error {
	err := w.DbWrapper.Insert(ctx, table, key, values)
	w.note("INSERT", key, err)
	return err
}

func (w *watched) Delete(ctx context.Context, table, key string) error {
	err := w.DbWrapper.Delete(ctx, table, key)
	w.note("DELETE", key, err)
	return err
}
