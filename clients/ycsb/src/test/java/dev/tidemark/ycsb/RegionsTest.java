package dev.tidemark.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.HostAndPort;
import site.ycsb.DBException;

class RegionsTest {
  private static Properties properties(String... pairs) {
    Properties properties = new Properties();
    for (int at = 0; at < pairs.length; at += 2) {
      properties.setProperty(pairs[at], pairs[at + 1]);
    }
    return properties;
  }

  private static String why(String... pairs) {
    return assertThrows(DBException.class, () -> Regions.of(properties(pairs))).getMessage();
  }

  @Test
  void oneNodeOrAList() throws DBException {
    assertEquals(List.of(new HostAndPort("127.0.0.1", 7001)), Regions.of(properties()));
    assertEquals(
        List.of(new HostAndPort("virginia", 7)),
        Regions.of(properties("tidemark.host", " virginia", "tidemark.port", "7 ")));
    assertEquals(
        List.of(new HostAndPort("a", 1), new HostAndPort("::1", 65535)),
        Regions.of(properties("tidemark.regions", "a:1, ::1:65535")));
  }

  @Test
  void whatIsWrongIsNamed() {
    assertEquals("tidemark.port: \"0\" is not a port, a number from 1 to 65535", why("tidemark.port", "0"));
    assertTrue(why("tidemark.port", "redis").contains("\"redis\" is not a port"));
    assertTrue(why("tidemark.regions", "a:70000").contains("\"70000\" is not a port"));
    assertTrue(why("tidemark.regions", "").contains("\"\" is not HOST:PORT"));
    assertTrue(why("tidemark.regions", "a:1,,b:2").contains("\"\" is not HOST:PORT"));
    assertTrue(why("tidemark.regions", "7001").contains("\"7001\" is not HOST:PORT, as in 127.0.0.1:7001"));
    assertTrue(why("tidemark.regions", "a:1", "tidemark.host", "b").contains("both given"));
  }
}
