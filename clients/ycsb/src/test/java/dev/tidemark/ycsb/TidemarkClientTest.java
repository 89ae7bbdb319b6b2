package dev.tidemark.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

class TidemarkClientTest {
  private Scripted server;

  @BeforeEach
  void start() throws IOException {
    server = new Scripted();
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  private TidemarkClient client(String... pairs) {
    TidemarkClient client = new TidemarkClient();
    client.getProperties().setProperty(Regions.PORT, Integer.toString(server.port()));
    for (int at = 0; at < pairs.length; at += 2) {
      client.getProperties().setProperty(pairs[at], pairs[at + 1]);
    }
    return client;
  }

  private TidemarkClient connected(String... pairs) throws DBException {
    TidemarkClient client = client(pairs);
    client.init();
    return client;
  }

  private static String why(TidemarkClient client) {
    return assertThrows(DBException.class, client::init).getMessage();
  }

  private static Status read(TidemarkClient client) {
    return client.read("t", "k", null, new HashMap<>());
  }

  private static Status insert(TidemarkClient client) {
    return client.insert("t", "k", Map.of("f", new StringByteIterator("v")));
  }

  private static Status update(TidemarkClient client) {
    return client.update("t", "k", Map.of("f", new StringByteIterator("v")));
  }

  @Test
  void aPortWhereNobodyListensIsNamed() throws IOException {
    server.close();
    String why = why(client());
    assertTrue(why.contains("cannot connect to 127.0.0.1:" + server.port()), why);
    assertTrue(why.contains("Connection refused") && why.contains("tidemark.port"), why);
  }

  @Test
  void aPasswordThatIsMissingOrWrongIsSaid() {
    server.answers.put("PING", "-NOAUTH Authentication required.\r\n");
    server.answers.put("HELLO", "-NOAUTH HELLO must be called with the client already authenticated\r\n");
    String missing = why(client());
    assertTrue(missing.contains("does not take tidemark.password: NOAUTH"), missing);
    server.answers.put("AUTH", "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    server.answers.put("HELLO", "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    String wrong = why(client(TidemarkClient.PASSWORD, "x"));
    assertTrue(wrong.contains("does not take tidemark.password: WRONGPASS"), wrong);
  }

  @Test
  void aTimeoutThatIsNoneIsRefused() {
    assertTrue(why(client(TidemarkClient.TIMEOUT, "0")).startsWith("tidemark.timeout.ms: \"0\" is not a time"));
  }

  @Test
  void errorsHaveTheirStatus() throws DBException {
    TidemarkClient client = connected();
    for (String kind : List.of("UNAVAILABLE", "STALESESSION", "MISCONF", "CLOCKSKEW")) {
      server.answers.put("SET", "-" + kind + " it did not happen\r\n");
      assertEquals(Status.SERVICE_UNAVAILABLE, insert(client), kind);
    }
    server.answers.put("SET", "-INDEFINITE nobody knows\r\n");
    assertEquals(Failures.INDEFINITE, insert(client));
    server.answers.put("SET", "-ERR Protocol error: invalid bulk length\r\n");
    assertEquals(Status.BAD_REQUEST, insert(client), "a record that is too long");
    server.answers.put("SET", "-ERR something else\r\n");
    assertEquals(Status.ERROR, insert(client));
    server.answers.put("SET", "+OK\r\n");
    assertEquals(Status.OK, insert(client), "an error that is an answer leaves the connection whole");
  }

  @Test
  void aWriteWithoutAnAnswerIsIndefiniteAndAReadIsNot() throws DBException {
    TidemarkClient client = connected();
    server.answers.put("GET", Scripted.CLOSE);
    server.answers.put("SET", Scripted.CLOSE);
    server.answers.put("DEL", Scripted.CLOSE);
    assertEquals(Failures.INDEFINITE, insert(client));
    assertEquals(Failures.INDEFINITE, client.delete("t", "k"));
    assertEquals(Status.SERVICE_UNAVAILABLE, read(client));
    assertEquals(Status.SERVICE_UNAVAILABLE, update(client), "its read failed, so that nothing was written");
    server.answers.remove("SET");
    assertEquals(Status.OK, insert(client), "on a new connection");
  }

  @Test
  void aServerThatIsGoneFailsOperationsAndNothingElse() throws DBException, IOException {
    TidemarkClient client = connected();
    server.answers.put("SET", Scripted.CLOSE);
    insert(client);
    server.close();
    assertEquals(Status.SERVICE_UNAVAILABLE, insert(client), "nothing was sent: it certainly did not happen");
    client.cleanup();
  }

  @Test
  void aRecordIsReadByField() throws DBException {
    TidemarkClient client = connected();
    server.answers.put("GET", "$9\r\n\1\1a\1x\1b\1y\r\n");
    Map<String, ByteIterator> result = new HashMap<>();
    assertEquals(Status.OK, client.read("t", "k", Set.of("b", "c"), result));
    assertEquals(Set.of("b"), result.keySet());
    assertEquals("y", result.get("b").toString());
    server.answers.put("GET", "_\r\n");
    assertEquals(Status.NOT_FOUND, read(client));
    assertEquals(Status.NOT_FOUND, update(client));
    server.answers.put("GET", "$2\r\n{}\r\n");
    assertEquals(Status.UNEXPECTED_STATE, read(client));
    assertEquals(Status.UNEXPECTED_STATE, update(client));
  }

  @Test
  void anUpdateOfAllFieldsDoesNotRead() throws DBException {
    TidemarkClient client = connected("writeallfields", "true");
    server.answers.put("GET", Scripted.CLOSE);
    assertEquals(Status.OK, update(client));
  }

  @Test
  void deletingSaysWhetherThereWasSomething() throws DBException {
    TidemarkClient client = connected();
    server.answers.put("DEL", ":1\r\n");
    assertEquals(Status.OK, client.delete("t", "k"));
    server.answers.put("DEL", ":0\r\n");
    assertEquals(Status.NOT_FOUND, client.delete("t", "k"));
  }

  @Test
  void withoutNamesInOrderThereIsNoScan() throws DBException {
    assertEquals(Status.NOT_IMPLEMENTED, connected().scan("t", "k", 3, null, new Vector<>()));
  }

  @Test
  void aScanReadsTheRecordsOfTheNamesThatFollow() throws DBException {
    TidemarkClient client = connected(TidemarkClient.SCANS, "true");
    server.answers.put("ZADD", ":1\r\n");
    assertEquals(Status.OK, insert(client));
    server.answers.put("ZRANGEBYLEX", "*2\r\n$1\r\nk\r\n$1\r\nl\r\n");
    server.answers.put("MGET", "*2\r\n$9\r\n\1\1a\1x\1b\1y\r\n_\r\n");
    Vector<HashMap<String, ByteIterator>> result = new Vector<>();
    assertEquals(Status.OK, client.scan("t", "k", 3, Set.of("b"), result));
    assertEquals(1, result.size(), "a record that is gone is left out");
    assertEquals("y", result.get(0).get("b").toString());
    server.answers.put("ZADD", "-UNAVAILABLE not now\r\n");
    assertEquals(Status.SERVICE_UNAVAILABLE, insert(client), "it would be missing in scans");
  }

  @Test
  void sessionsAreLeftInAFileAndTakenUpFromIt(@TempDir Path folder) throws DBException, IOException {
    Path file = folder.resolve("sessions");
    server.answers.put("TIDE.SESSION", "$5\r\ntoken\r\n");
    connected(TidemarkClient.SESSIONS, file.toString()).cleanup();
    assertEquals(List.of("token"), Files.readAllLines(file));
    Path other = folder.resolve("other");
    Files.write(other, List.of("of before"));
    server.answers.put("TIDE.SESSION", "-STALESESSION not yet\r\n");
    String why = why(client(TidemarkClient.SESSIONS, other.toString()));
    assertTrue(why.contains("no session with") && why.contains("STALESESSION not yet"), why);
  }
}
