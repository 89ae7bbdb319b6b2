// Command beside-etcd writes keys as fast as a number of clients can, one after the other each, to etcd or to a server
// that speaks the Redis protocol, and prints how many a second were acknowledged: the same loop for both.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redis/redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// put writes one key.
type put func(ctx context.Context, key, value string) error

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "beside-etcd:", err)
		os.Exit(1)
	}
}

func run() error {
	kind := flag.String("server", "redis", "redis or etcd")
	address := flag.String("address", "127.0.0.1:7001", "where it listens; of etcd's members, all, with commas")
	clients := flag.Int("clients", 64, "how many write at once")
	operations := flag.Int64("operations", 20000, "how many writes, of all clients together")
	size := flag.Int("value", 64, "bytes of a value")
	flag.Parse()
	ctx := context.Background()
	write, err := connect(ctx, *kind, strings.Split(*address, ","), *clients)
	if err != nil {
		return err
	}
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	value := strings.Repeat("v", *size)
	begun := time.Now()
	for range *clients {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := next.Add(1); n <= *operations && failed.Load() == nil; n = next.Add(1) {
				if err := write(ctx, fmt.Sprintf("key%016d", n), value); err != nil {
					failed.Store(&err)
				}
			}
		}()
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	fmt.Printf("%.1f\n", float64(*operations)/time.Since(begun).Seconds())
	return nil
}

// connect returns what writes a key; for etcd, at the member that leads.
func connect(ctx context.Context, kind string, addresses []string, clients int) (put, error) {
	switch kind {
	case "redis":
		client := redis.NewClient(&redis.Options{Addr: addresses[0], PoolSize: clients})
		return func(ctx context.Context, key, value string) error {
			return client.Set(ctx, key, value, 0).Err()
		}, client.Ping(ctx).Err()
	case "etcd":
		leader, err := leader(ctx, addresses)
		if err != nil {
			return nil, err
		}
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{leader}, DialTimeout: 10 * time.Second})
		return func(ctx context.Context, key, value string) error {
			_, err := client.Put(ctx, key, value)
			return err
		}, err
	}
	return nil, fmt.Errorf("%q is no kind of server: redis or etcd", kind)
}

func leader(ctx context.Context, addresses []string) (string, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: addresses, DialTimeout: 10 * time.Second})
	if err != nil {
		return "", err
	}
	defer client.Close()
	for _, address := range addresses {
		status, err := client.Status(ctx, address)
		if err != nil {
			return "", err
		}
		if status.Leader == status.Header.MemberId {
			return address, nil
		}
	}
	return "", errors.New("no member leads")
}
