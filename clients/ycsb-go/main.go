// Command ycsb-go runs the YCSB workloads of go-ycsb through its Redis driver against a Tidemark cluster.
//
// It is go-ycsb without the drivers of other databases, which need some hundred modules: the same workloads, the same
// driver, the same report. Its own are the defaults that Tidemark needs, and that it says what failed and ends with 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/magiconair/properties"
	_ "github.com/pingcap/go-ycsb/db/redis" // registers "redis"
	"github.com/pingcap/go-ycsb/pkg/client"
	"github.com/pingcap/go-ycsb/pkg/measurement"
	"github.com/pingcap/go-ycsb/pkg/prop"
	_ "github.com/pingcap/go-ycsb/pkg/workload" // registers "core"
	"github.com/pingcap/go-ycsb/pkg/ycsb"
)

const usage = `usage: ycsb-go load|run [-P FILE]... [-p NAME=VALUE]... [-threads N] [-target N]

  load          inserts the records
  run           reads and changes them
  -P FILE       properties, one a line
  -p NAME=VALUE a property; wins over files
  -threads N    clients at once (1)
  -target N     operations a second, of all threads (as many as possible)

Most used properties: redis.addr (127.0.0.1:7001), redis.password, recordcount, operationcount, dataintegrity.
`

// What Tidemark needs, or a user of it expects, unless a property says otherwise.
var defaults = map[string]string{
	"redis.addr": "127.0.0.1:7001",
	// The driver's own default is "hash", and values are strings only.
	"redis.datatype": "string",
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ycsb-go:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	properties, err := parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print(usage)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w (ycsb-go help)", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	measurement.InitMeasure(properties)
	workload, err := ycsb.GetWorkloadCreator("core").Create(properties)
	if err != nil {
		return fmt.Errorf("the workload: %w", err)
	}
	defer workload.Close()
	driver, err := ycsb.GetDBCreator("redis").Create(properties)
	if err != nil {
		return fmt.Errorf("no session with %s: %w", properties.GetString("redis.addr", ""), err)
	}
	defer driver.Close()
	db := &watched{DbWrapper: client.DbWrapper{DB: driver}}
	begun := time.Now()
	client.NewClient(properties, workload, db).Run(ctx)
	fmt.Printf("Run finished, takes %s\n", time.Since(begun))
	measurement.Output()
	return db.verdict()
}

// parse makes properties of the command line.
func parse(arguments []string) (*properties.Properties, error) {
	if len(arguments) > 0 && (arguments[0] == "-h" || arguments[0] == "--help" || arguments[0] == "help") {
		return nil, flag.ErrHelp
	}
	if len(arguments) == 0 || (arguments[0] != "load" && arguments[0] != "run") {
		return nil, errors.New("say load or run first")
	}
	var files, values []string
	flags := flag.NewFlagSet("ycsb-go", flag.ContinueOnError)
	flags.SetOutput(new(strings.Builder))
	flags.Func("P", "", func(file string) error { files = append(files, file); return nil })
	flags.Func("p", "", func(value string) error { values = append(values, value); return nil })
	threads := flags.Int("threads", 0, "")
	target := flags.Int("target", 0, "")
	if err := flags.Parse(arguments[1:]); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is not understood", flags.Arg(0))
	}
	all := properties.NewProperties()
	if len(files) > 0 {
		read, err := properties.LoadFiles(files, properties.UTF8, false)
		if err != nil {
			return nil, err
		}
		all = read
	}
	for _, value := range values {
		name, text, found := strings.Cut(value, "=")
		if !found {
			return nil, fmt.Errorf("-p %s: a property is NAME=VALUE", value)
		}
		all.Set(name, text)
	}
	return all, complete(all, arguments[0], *threads, *target)
}

// complete adds what the command line says by other means than properties, and defaults.
func complete(all *properties.Properties, command string, threads, target int) error {
	for name, value := range defaults {
		if _, given := all.Get(name); !given {
			all.Set(name, value)
		}
	}
	if all.GetString("redis.datatype", "") != "string" {
		return errors.New("redis.datatype: Tidemark's values are strings; leave it out, or say string")
	}
	all.Set(prop.Command, command)
	all.Set(prop.DoTransactions, fmt.Sprint(command == "run"))
	if threads == 0 {
		threads = all.GetInt(prop.ThreadCount, 1)
	}
	count := prop.OperationCount
	if _, given := all.Get(prop.InsertCount); command == "load" && given {
		count = prop.InsertCount
	} else if command == "load" {
		count = prop.RecordCount
	}
	if threads < 1 || all.GetInt(count, 0) < threads {
		return fmt.Errorf("%s is %d: it has to be at least as many as threads, %d", count, all.GetInt(count, 0), threads)
	}
	if _, given := all.Get(prop.InsertCount); command == "run" && !given {
		// go-ycsb 1.0.1 takes the number of records for the last key of a zipfian workload, and nobody loads that one.
		records := all.GetInt64(prop.RecordCount, 0) - all.GetInt64(prop.InsertStart, 0)
		if all.GetString(prop.RequestDistribution, "") == "zipfian" && records > 0 {
			all.Set(prop.InsertCount, fmt.Sprint(records-1))
		}
	}
	all.Set(prop.ThreadCount, fmt.Sprint(threads))
	if target > 0 {
		all.Set(prop.Target, fmt.Sprint(target))
	}
	return nil
}
