package session

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"
)

// Middleware gives each request the session of its user.
type Middleware struct {
	// Client has the pool of connections.
	Client *redis.Client
	// Wait is how long to wait until the region has caught up; see Open.
	Wait time.Duration
	// Cookie is the name of the cookie in which tokens travel; without one they travel in Header.
	Cookie string
	// Fresh lets a user whose token is none start anew; otherwise the answer is 400.
	Fresh bool
}

type key struct{}

// Of returns the session of the request with this context; nil if there is none.
func Of(ctx context.Context) *Session {
	session, _ := ctx.Value(key{}).(*Session)
	return session
}

// Wrap returns a handler that calls next with the session of the user. The response leaves when next has ended, since its headers
// hold the token.
func (m Middleware) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		session, err := Open(ctx, m.Client, m.tokenOf(r), m.Wait)
		if errors.Is(err, ErrBadToken) && m.Fresh {
			session, err = Open(ctx, m.Client, "", m.Wait)
		}
		if err != nil {
			refuse(w, err)
			return
		}
		defer session.Close()
		held := &response{header: http.Header{}, status: http.StatusOK}
		next.ServeHTTP(held, r.WithContext(context.WithValue(ctx, key{}, session)))
		text, err := session.Token(ctx)
		if err != nil {
			refuse(w, err)
			return
		}
		for name, values := range held.header {
			w.Header()[name] = values
		}
		if m.Cookie == "" {
			w.Header().Set(Header, text)
		} else {
			http.SetCookie(w, &http.Cookie{
				Name: m.Cookie, Value: text, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
			})
		}
		w.WriteHeader(held.status)
		_, _ = w.Write(held.body.Bytes())
	})
}

func (m Middleware) tokenOf(r *http.Request) string {
	if m.Cookie == "" {
		return r.Header.Get(Header)
	}
	cookie, err := r.Cookie(m.Cookie)
	if err != nil {
		return ""
	}
	return cookie.Value
}

func refuse(w http.ResponseWriter, err error) {
	status := http.StatusServiceUnavailable
	if errors.Is(err, ErrBadToken) {
		status = http.StatusBadRequest
	} else {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, err.Error(), status)
}

// response holds what a handler writes.
type response struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

func (r *response) Header() http.Header { return r.header }

func (r *response) WriteHeader(status int) {
	if !r.wrote {
		r.status, r.wrote = status, true
	}
}

func (r *response) Write(bytes []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(bytes)
}
