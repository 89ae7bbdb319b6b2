// A shop whose users have a cart: `POST /cart` replaces it, `GET /cart` shows it. `POST /lost` loses the
// connection on the way. `POST /order` takes one from the stock, if there is one.
//
//	shop HOST PORT session|plain
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"tidemark/clients/session"
)

func main() {
	client := redis.NewClient(&redis.Options{Addr: net.JoinHostPort(os.Args[1], os.Args[2])})
	shop := func(w http.ResponseWriter, r *http.Request) {
		var cart redis.Cmdable = client
		if session := session.Of(r.Context()); session != nil {
			cart = session.Conn
		}
		if r.URL.Path == "/order" {
			answer := "ok"
			err := session.Of(r.Context()).Transact(r.Context(), true, func(conn *redis.Conn) error {
				stock, err := conn.Get(r.Context(), "stock").Int()
				if err != nil || stock == 0 {
					answer = "sold out"
					return err
				}
				sold, err := conn.Get(r.Context(), "sold").Int()
				if err != nil {
					return err
				}
				return conn.MSet(r.Context(), "stock", stock-1, "sold", sold+1).Err()
			})
			if err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			fmt.Fprint(w, answer)
			return
		}
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			if r.URL.Path == "/lost" {
				id := cart.(*redis.Conn).ClientID(r.Context()).Val()
				client.ClientKillByFilter(r.Context(), "ID", strconv.FormatInt(id, 10))
			}
			if err := cart.Set(r.Context(), "cart", body, 0).Err(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			fmt.Fprint(w, "ok")
			return
		}
		text, err := cart.Get(r.Context(), "cart").Result()
		if err != nil && err != redis.Nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, text)
	}
	var handler http.Handler = http.HandlerFunc(shop)
	if os.Args[3] == "session" {
		handler = session.Middleware{Client: client, Wait: time.Second}.Wrap(handler)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("port %d\n", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, handler))
}
