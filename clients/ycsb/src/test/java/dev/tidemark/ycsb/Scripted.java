package dev.tidemark.ycsb;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A server on loopback that gives one answer to each command; to those that it has none for, OK. */
final class Scripted implements AutoCloseable {
  /** Instead of an answer: the connection is closed. */
  static final String CLOSE = "";

  final Map<String, String> answers = new ConcurrentHashMap<>();
  private final ServerSocket socket;
  private final Thread thread;
  private volatile Socket served = new Socket();

  Scripted() throws IOException {
    socket = new ServerSocket(0, 8, InetAddress.getLoopbackAddress());
    answers.put("HELLO", "%1\r\n+proto\r\n:3\r\n");
    answers.put("PING", "+PONG\r\n");
    thread = new Thread(this::accept, "scripted");
    thread.setDaemon(true);
    thread.start();
  }

  int port() {
    return socket.getLocalPort();
  }

  @Override
  public void close() throws IOException {
    socket.close();
    served.close();
    try {
      // Until then a connection may still be taken.
      thread.join();
    } catch (InterruptedException error) {
      throw new IOException(error);
    }
  }

  private void accept() {
    while (!socket.isClosed()) {
      try (Socket client = socket.accept()) {
        served = client;
        if (!socket.isClosed()) {
          serve(client);
        }
      } catch (IOException error) {
        // The next one, or the end.
      }
    }
  }

  private void serve(Socket client) throws IOException {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(client.getInputStream(), StandardCharsets.ISO_8859_1));
    OutputStream out = client.getOutputStream();
    while (true) {
      List<String> request = request(in);
      String answer = request.isEmpty() ? CLOSE : answers.getOrDefault(request.get(0), "+OK\r\n");
      if (answer.equals(CLOSE)) {
        return;
      }
      out.write(answer.getBytes(StandardCharsets.ISO_8859_1));
      out.flush();
    }
  }

  /** The words of the next request; none at the end. */
  private static List<String> request(BufferedReader in) throws IOException {
    List<String> words = new ArrayList<>();
    String head = in.readLine();
    int count = head == null ? 0 : Integer.parseInt(head.substring(1));
    for (int word = 0; word < count; word++) {
      char[] text = new char[Integer.parseInt(in.readLine().substring(1))];
      for (int had = 0; had < text.length; had++) {
        text[had] = (char) in.read();
      }
      in.readLine();
      words.add(new String(text));
    }
    return words;
  }
}
