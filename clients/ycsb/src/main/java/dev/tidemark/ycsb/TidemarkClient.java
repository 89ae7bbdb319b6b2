package dev.tidemark.ycsb;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.atomic.AtomicInteger;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * YCSB's view of a Tidemark cluster. Each thread of YCSB has a connection of its own, which is a session.
 *
 * <p>A record is one string value, {@link Record}, under the key {@code TABLE:KEY}. An update reads the record, puts the
 * new fields in and writes it back, so of two concurrent updates of a record one is lost; with {@code writeallfields=true}
 * it writes without reading.
 *
 * <p>Keys have no order. With {@code tidemark.scans=true} the sorted set {@code TABLE} has the names of the records, and
 * {@link #scan} reads them from it. A record is written before its name, so that whoever sees the name sees the record.
 */
public class TidemarkClient extends DB {
  /** The cluster's password, if it has one. */
  static final String PASSWORD = "tidemark.password";

  /** How long to wait for a connection or an answer, in milliseconds. */
  static final String TIMEOUT = "tidemark.timeout.ms";

  /** A file that carries sessions from one run to the next; see {@link Sessions}. */
  static final String SESSIONS = "tidemark.sessions";

  /** Whether the names of records are kept in order. */
  static final String SCANS = "tidemark.scans";

  /** The end of every range of names. */
  private static final byte[] LAST = {'+'};

  private static final AtomicInteger THREADS = new AtomicInteger();

  private HostAndPort node;
  private DefaultJedisClientConfig config;
  private Sessions sessions;
  private boolean writesAllFields;
  private boolean scans;
  /** None after an error that left it unusable. */
  private Jedis connection;

  @Override
  public void init() throws DBException {
    List<HostAndPort> nodes = Regions.of(getProperties());
    node = nodes.get(THREADS.getAndIncrement() % nodes.size());
    int timeout = Regions.number(TIMEOUT, getProperties().getProperty(TIMEOUT, "10000"), "a time", Integer.MAX_VALUE);
    config =
        DefaultJedisClientConfig.builder()
            .password(getProperties().getProperty(PASSWORD))
            .timeoutMillis(timeout)
            .clientName("ycsb")
            .build();
    writesAllFields = Boolean.parseBoolean(getProperties().getProperty("writeallfields"));
    scans = Boolean.parseBoolean(getProperties().getProperty(SCANS));
    String file = getProperties().getProperty(SESSIONS);
    try {
      sessions = file == null ? null : Sessions.of(Path.of(file).toAbsolutePath());
    } catch (IOException error) {
      throw new DBException(SESSIONS + ": " + file + " cannot be read: " + Failures.describe(error), error);
    }
    try {
      connect();
    } catch (JedisException error) {
      // Without the cause: YCSB prints the whole of it four times a thread, and the message has what it says.
      throw new DBException(whyNot(error));
    }
  }

  @Override
  public void cleanup() throws DBException {
    if (connection == null) {
      return;
    }
    try {
      if (sessions != null) {
        sessions.leave(connection);
      }
    } catch (IOException | JedisException error) {
      throw new DBException(SESSIONS + ": the session is not left: " + Failures.describe(error), error);
    } finally {
      drop();
    }
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    return attempt(
        "READ",
        false,
        () -> {
          byte[] value = connection.get(name(table, key));
          if (value == null) {
            return Status.NOT_FOUND;
          }
          choose(value, fields, result);
          return Status.OK;
        });
  }

  /** The records that follow {@code start}, of one snapshot. Those that were deleted since their names were read are left out. */
  @Override
  public Status scan(
      String table, String start, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result) {
    if (!scans) {
      Failures.say("SCAN: keys have no order; with " + SCANS + "=true at load and at run their names are kept in order");
      return Status.NOT_IMPLEMENTED;
    }
    return attempt(
        "SCAN",
        false,
        () -> {
          byte[] from = ("[" + start).getBytes(StandardCharsets.UTF_8);
          List<byte[]> names = connection.zrangeByLex(index(table), from, LAST, 0, count);
          if (names.isEmpty()) {
            return Status.OK;
          }
          byte[][] keys = names.stream().map(name -> name(table, text(name))).toArray(byte[][]::new);
          for (byte[] value : connection.mget(keys)) {
            if (value != null) {
              HashMap<String, ByteIterator> record = new HashMap<>();
              choose(value, fields, record);
              result.add(record);
            }
          }
          return Status.OK;
        });
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    if (writesAllFields) {
      return set("UPDATE", table, key, bytes(values));
    }
    Map<String, byte[]> record = new LinkedHashMap<>();
    Status read =
        attempt(
            "UPDATE",
            false,
            () -> {
              byte[] value = connection.get(name(table, key));
              if (value == null) {
                return Status.NOT_FOUND;
              }
              record.putAll(Record.decode(value));
              return Status.OK;
            });
    record.putAll(bytes(values));
    return read.isOk() ? set("UPDATE", table, key, record) : read;
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    Status written = set("INSERT", table, key, bytes(values));
    if (!scans || !written.isOk()) {
      return written;
    }
    return attempt(
        "INSERT",
        true,
        () -> {
          connection.zadd(index(table), 0, key.getBytes(StandardCharsets.UTF_8));
          return Status.OK;
        });
  }

  @Override
  public Status delete(String table, String key) {
    return attempt(
        "DELETE",
        true,
        () -> {
          if (scans) {
            connection.zrem(index(table), key.getBytes(StandardCharsets.UTF_8));
          }
          return connection.del(name(table, key)) == 1 ? Status.OK : Status.NOT_FOUND;
        });
  }

  private Status set(String operation, String table, String key, Map<String, byte[]> record) {
    return attempt(
        operation,
        true,
        () -> {
          connection.set(name(table, key), Record.encode(record));
          return Status.OK;
        });
  }

  /** What is done with a connection. */
  private interface Attempt {
    Status run() throws Record.Malformed;
  }

  /** Runs it, on a new connection if the last one broke; no error leaves this. */
  private Status attempt(String operation, boolean write, Attempt attempt) {
    try {
      if (connection == null) {
        connect();
      }
    } catch (JedisException error) {
      Failures.say(operation + ": " + whyNot(error));
      // Nothing was sent: even a write has certainly not happened.
      return Failures.status(error, false);
    }
    try {
      return attempt.run();
    } catch (Record.Malformed error) {
      Failures.say(operation + ": a value is not a record of this binding: " + error.getMessage());
      return Status.UNEXPECTED_STATE;
    } catch (JedisDataException error) {
      Failures.say(operation + " at " + node + ": " + Failures.describe(error));
      return Failures.status(error, write);
    } catch (JedisException error) {
      Failures.say(operation + " at " + node + ": " + Failures.describe(error));
      drop();
      return Failures.status(error, write);
    }
  }

  private void connect() {
    Jedis opened = new Jedis(node, config);
    try {
      opened.ping();
      if (sessions != null) {
        sessions.resume(opened);
      }
    } catch (JedisException error) {
      opened.close();
      throw error;
    }
    connection = opened;
  }

  private void drop() {
    try {
      connection.close();
    } catch (JedisException error) {
      // It is gone, which is all that is wanted.
    }
    connection = null;
  }

  /** Why there is no connection, and which property to look at. */
  private String whyNot(JedisException error) {
    String why = Failures.describe(error);
    if (Failures.status(error, false).equals(Status.FORBIDDEN)) {
      return node + " does not take " + PASSWORD + ": " + why;
    }
    if (error instanceof JedisDataException) {
      return "no session with " + node + ": " + why;
    }
    return "cannot connect to " + node + ": " + why + "; does a node listen there (" + Regions.REGIONS + ", "
        + Regions.HOST + ", " + Regions.PORT + ")?";
  }

  /** Puts the fields of a record that are wanted into {@code result}. */
  private static void choose(byte[] value, Set<String> fields, Map<String, ByteIterator> result)
      throws Record.Malformed {
    Record.decode(value)
        .forEach(
            (field, bytes) -> {
              if (fields == null || fields.contains(field)) {
                result.put(field, new ByteArrayByteIterator(bytes));
              }
            });
  }

  /** The sorted set of the names of a table's records. */
  private static byte[] index(String table) {
    return table.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static byte[] name(String table, String key) {
    return (table + ":" + key).getBytes(StandardCharsets.UTF_8);
  }

  private static Map<String, byte[]> bytes(Map<String, ByteIterator> values) {
    Map<String, byte[]> bytes = new LinkedHashMap<>();
    values.forEach((field, value) -> bytes.put(field, value.toArray()));
    return bytes;
  }
}
