// Package session lets a user's Tidemark session follow the user over requests, servers and regions, with go-redis.
//
//	http.ListenAndServe(address, session.Middleware{Client: client}.Wrap(handler))
//
//	session.Of(request.Context()).Conn.Set(ctx, "k", "v", 0) // in a handler: all commands on one connection
//
// The token of the session comes with the request, in the header Tide-Session or in a cookie, and goes out with the response.
package session

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Header is where tokens travel, unless a cookie is named.
const Header = "Tide-Session"

// TokenBytesMax is the length of the longest token that is taken or given: proxies allow 8 KiB of headers or more.
const TokenBytesMax = 4096

var (
	// ErrBadToken says that this is no session token of this cluster, or that it was damaged. It comes from the user, so
	// anything may be in it.
	ErrBadToken = errors.New("not a session token")
	// ErrStale says that this region has not received what the session depends on: try again later, or in the previous region.
	ErrStale = errors.New("the region has not caught up with the session")
	// ErrLost says that the connection broke within the session, and its successor does not know what the session has seen.
	ErrLost = errors.New("the connection broke within the session")
	// ErrContended says that what a transaction reads was changed again and again; nothing was written.
	ErrContended = errors.New("what the transaction reads was changed again and again")
	// ErrTooLong says that the token is too long for a header.
	ErrTooLong = errors.New("the session token is too long")
)

var token = regexp.MustCompile(`^tm[0-9]+\.[A-Za-z0-9_-]+$`)

// Session is a user's session on one connection.
type Session struct {
	// Conn runs commands on the connection of the session.
	Conn *redis.Conn
	id   int64
}

// Open begins a session that goes on where the token was exported; without one it is new. Open waits up to wait until the region
// has caught up; the server itself waits up to its wait_limit each time that it is asked.
func Open(ctx context.Context, client *redis.Client, from string, wait time.Duration) (*Session, error) {
	if from != "" && (len(from) > TokenBytesMax || !token.MatchString(from)) {
		return nil, ErrBadToken
	}
	session := &Session{Conn: client.Conn()}
	id, err := session.Conn.ClientID(ctx).Result()
	if err == nil && from != "" {
		err = session.resume(ctx, from, wait)
	}
	if err != nil {
		session.Close()
		return nil, err
	}
	session.id = id
	return session, nil
}

func (s *Session) resume(ctx context.Context, from string, wait time.Duration) error {
	for deadline := time.Now().Add(wait); ; {
		err := s.Conn.Process(ctx, redis.NewStatusCmd(ctx, "TIDE.SESSION", "IMPORT", from))
		switch {
		case err == nil:
			return nil
		case strings.Contains(err.Error(), "session token"), strings.HasPrefix(err.Error(), "CLOCKSKEW"):
			return fmt.Errorf("%w: %v", ErrBadToken, err)
		case !strings.HasPrefix(err.Error(), "STALESESSION"):
			return err
		case !time.Now().Before(deadline):
			return fmt.Errorf("%w: %v", ErrStale, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Transact runs work as one transaction: all that it reads on Conn is one snapshot, and its writes are seen at once. If it returns an
// error, nothing is written. With check it is run again, up to 100 times, if something that it has read was changed in this region
// meanwhile.
func (s *Session) Transact(ctx context.Context, check bool, work func(conn *redis.Conn) error) error {
	commit := []any{"TIDE.COMMIT"}
	if check {
		commit = append(commit, "CHECK")
	}
	for n := 0; n < 100; n++ {
		if err := s.do(ctx, "TIDE.BEGIN"); err != nil {
			return err
		}
		if err := work(s.Conn); err != nil {
			_ = s.do(context.WithoutCancel(ctx), "TIDE.ROLLBACK")
			return err
		}
		if err := s.do(ctx, commit...); err != redis.Nil {
			return err
		}
	}
	return ErrContended
}

func (s *Session) do(ctx context.Context, arguments ...any) error {
	return s.Conn.Process(ctx, redis.NewCmd(ctx, arguments...))
}

// Token returns the token of everything that the session has read and written.
func (s *Session) Token(ctx context.Context) (string, error) {
	pipeline := s.Conn.Pipeline()
	id, exported := pipeline.ClientID(ctx), pipeline.Do(ctx, "TIDE.SESSION", "EXPORT")
	if _, err := pipeline.Exec(ctx); err != nil {
		return "", err
	}
	if id.Val() != s.id {
		return "", ErrLost
	}
	text, err := exported.Text()
	if err == nil && len(text) > TokenBytesMax {
		err = ErrTooLong
	}
	return text, err
}

// Close gives the connection back to the pool.
func (s *Session) Close() {
	_ = s.Conn.Close()
}
