package dev.tidemark.ycsb;

import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import redis.clients.jedis.HostAndPort;
import site.ycsb.DBException;

/** Where the nodes are that threads connect to, from the properties. */
final class Regions {
  /** Nodes, {@code HOST:PORT}, with commas between them: the first thread takes the first, and so on, round and round. */
  static final String REGIONS = "tidemark.regions";

  /** Of the one node of all threads, unless {@link #REGIONS} is given. */
  static final String HOST = "tidemark.host";

  /** Of the one node of all threads, unless {@link #REGIONS} is given. */
  static final String PORT = "tidemark.port";

  private Regions() {}

  /** The nodes, at least one. */
  static List<HostAndPort> of(Properties properties) throws DBException {
    String list = properties.getProperty(REGIONS);
    if (list == null) {
      String host = properties.getProperty(HOST, "127.0.0.1").trim();
      return List.of(new HostAndPort(host, port(PORT, properties.getProperty(PORT, "7001"))));
    }
    for (String single : List.of(HOST, PORT)) {
      if (properties.getProperty(single) != null) {
        throw new DBException(REGIONS + " and " + single + " are both given: leave one out");
      }
    }
    List<HostAndPort> nodes = new ArrayList<>();
    for (String node : list.split(",", -1)) {
      nodes.add(node(node.trim()));
    }
    return nodes;
  }

  private static HostAndPort node(String text) throws DBException {
    int colon = text.lastIndexOf(':');
    if (colon < 1) {
      throw new DBException(REGIONS + ": \"" + text + "\" is not HOST:PORT, as in 127.0.0.1:7001,127.0.0.1:7002");
    }
    return new HostAndPort(text.substring(0, colon), port(REGIONS, text.substring(colon + 1)));
  }

  private static int port(String property, String text) throws DBException {
    return number(property, text, "a port", 65535);
  }

  /** A property that is a number of at least 1. */
  static int number(String property, String text, String what, int most) throws DBException {
    try {
      int number = Integer.parseInt(text.trim());
      if (number >= 1 && number <= most) {
        return number;
      }
    } catch (NumberFormatException error) {
      // Said below.
    }
    throw new DBException(property + ": \"" + text + "\" is not " + what + ", a number from 1 to " + most);
  }
}
