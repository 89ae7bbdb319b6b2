package dev.tidemark.ycsb;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.commands.ProtocolCommand;

/**
 * A file of session tokens, one a line, that carries sessions from one run of YCSB to the next.
 *
 * <p>Every thread begins with what all threads of the run before had seen and done, in whichever region; so it finds every
 * record that was loaded. A thread that ends leaves its own token, which covers those that it began with.
 */
final class Sessions {
  private static final ProtocolCommand SESSION = () -> "TIDE.SESSION".getBytes(StandardCharsets.US_ASCII);
  private static final Map<Path, Sessions> FILES = new ConcurrentHashMap<>();

  private final Path file;
  private final List<String> inherited;
  private final List<String> left = new ArrayList<>();

  private Sessions(Path file) throws IOException {
    this.file = file;
    this.inherited = Files.exists(file) ? Files.readAllLines(file) : List.of();
  }

  /** The file as it was when the first thread of this process asked for it. */
  static Sessions of(Path file) throws IOException {
    synchronized (FILES) {
      Sessions known = FILES.get(file);
      if (known == null) {
        known = new Sessions(file);
        FILES.put(file, known);
      }
      return known;
    }
  }

  /** Continues the sessions of the run before on a connection. */
  void resume(Jedis connection) {
    for (String token : inherited) {
      connection.sendCommand(SESSION, "IMPORT", token);
    }
  }

  /** Leaves the session of a connection to the next run. */
  synchronized void leave(Jedis connection) throws IOException {
    byte[] token = (byte[]) connection.sendCommand(SESSION, "EXPORT");
    left.add(new String(token, StandardCharsets.US_ASCII));
    Path beside = file.resolveSibling(file.getFileName() + ".new");
    Files.write(beside, left);
    Files.move(beside, file, StandardCopyOption.REPLACE_EXISTING);
  }
}
