package dev.tidemark.ycsb;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import site.ycsb.Status;

/** What an error means to YCSB, and telling it to people: YCSB itself only counts. */
final class Failures {
  /** The write may or may not have happened. Tidemark says so itself, or the connection broke before it answered. */
  static final Status INDEFINITE = new Status("INDEFINITE", "It may or may not have happened.");

  /** How many different errors are told. */
  private static final int TOLD = 20;

  private static final Set<String> SAID = ConcurrentHashMap.newKeySet();

  private Failures() {}

  /** The status for an error of a request that was sent. */
  static Status status(RuntimeException error, boolean write) {
    String message = String.valueOf(error.getMessage());
    if (message.startsWith("ERR Protocol error")) {
      // As for a value that is too long: the server says so, closes, and has done nothing.
      return Status.BAD_REQUEST;
    }
    if (error instanceof JedisConnectionException) {
      return write ? INDEFINITE : Status.SERVICE_UNAVAILABLE;
    }
    if (!(error instanceof JedisDataException)) {
      return Status.ERROR;
    }
    switch (message.split(" ", 2)[0]) {
      case "INDEFINITE":
        return INDEFINITE;
      case "UNAVAILABLE":
      case "STALESESSION":
      case "MISCONF":
      case "CLOCKSKEW":
        return Status.SERVICE_UNAVAILABLE;
      case "NOAUTH":
      case "WRONGPASS":
        return Status.FORBIDDEN;
      default:
        return Status.ERROR;
    }
  }

  /** Says an error on standard error, once however often it happens. */
  static void say(String text) {
    if (SAID.size() < TOLD && SAID.add(text)) {
      System.err.println(text);
    }
  }

  /** An error and what caused it, on one line. */
  static String describe(Throwable error) {
    String text = error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
    if (text.endsWith(".")) {
      text = text.substring(0, text.length() - 1);
    }
    // Why a connection failed Jedis tells in this way.
    for (Throwable suppressed : error.getSuppressed()) {
      text += ": " + describe(suppressed);
    }
    Throwable cause = error.getCause();
    boolean said = cause == null || (cause.getMessage() != null && text.contains(cause.getMessage()));
    return said ? text : text + ": " + describe(cause);
  }
}
