// Package pin makes `go.mod` and `go.sum` pin the module whose own tests are run.
package pin

import _ "github.com/redis/go-redis/v9"
