package dev.tidemark.ycsb;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class RecordTest {
  private static byte[] bytes(int... values) {
    byte[] bytes = new byte[values.length];
    for (int at = 0; at < values.length; at++) {
      bytes[at] = (byte) values[at];
    }
    return bytes;
  }

  private static String why(int... value) {
    return assertThrows(Record.Malformed.class, () -> Record.decode(bytes(value))).getMessage();
  }

  @Test
  void theBytesAreThoseThatAreDocumented() {
    Map<String, byte[]> fields = new LinkedHashMap<>();
    fields.put("a", "xyz".getBytes(StandardCharsets.US_ASCII));
    fields.put("ü", new byte[0]);
    fields.put("long", new byte[300]);
    byte[] value = Record.encode(fields);
    byte[] head = bytes(1, 1, 'a', 3, 'x', 'y', 'z', 2, 0xc3, 0xbc, 0, 4, 'l', 'o', 'n', 'g', 0xac, 0x02);
    assertEquals(head.length + 300, value.length);
    byte[] begin = new byte[head.length];
    System.arraycopy(value, 0, begin, 0, head.length);
    assertArrayEquals(head, begin);
  }

  @Test
  void aUsualRecordTakesAsManyBytesAsDocumented() {
    Map<String, byte[]> fields = new LinkedHashMap<>();
    for (int field = 0; field < 10; field++) {
      fields.put("field" + field, new byte[100]);
    }
    assertEquals(1081, Record.encode(fields).length);
  }

  @Test
  void whatIsEncodedIsDecoded() throws Record.Malformed {
    Random random = new Random(7);
    for (int length : List.of(0, 1, 127, 128, 16383, 16384, 2097151, 2097152)) {
      Map<String, byte[]> fields = new LinkedHashMap<>();
      byte[] value = new byte[length];
      random.nextBytes(value);
      fields.put("b", value);
      fields.put("", bytes(0, 13, 10, 255));
      fields.put("a".repeat(200), new byte[0]);
      Map<String, byte[]> read = Record.decode(Record.encode(fields));
      assertEquals(new ArrayList<>(fields.keySet()), new ArrayList<>(read.keySet()), "names, in their order");
      fields.forEach((name, expected) -> assertArrayEquals(expected, read.get(name)));
    }
    assertTrue(Record.decode(Record.encode(Map.of())).isEmpty());
  }

  @Test
  void whatIsNotARecordIsSaidToBeNone() {
    assertTrue(why().contains("something else"));
    assertTrue(why('{', '"').contains("something else"), "the JSON of go-ycsb");
    assertTrue(why(1, 1, 'a').contains("at byte 3 has no end"));
    assertTrue(why(1, 0x80).contains("has no end"));
    assertTrue(why(1, 0xff, 0xff, 0xff, 0xff, 0xff, 1).contains("has no end"));
    assertTrue(why(1, 1, 'a', 5, 'x').contains("5 bytes are announced where 1 are left"));
    assertTrue(why(1, 0xff, 0xff, 0xff, 0xff, 0x7f).contains("34359738367 bytes are announced"));
    assertTrue(why(1, 1, 'a', 0, 1, 'a', 0).contains("field a is there twice"));
  }

  @Test
  void everyTruncationOfARecordIsFoundOrIsAShorterRecord() throws Record.Malformed {
    byte[] value = Record.encode(Map.of("field0", new byte[200]));
    for (int length = 2; length < value.length; length++) {
      byte[] cut = new byte[length];
      System.arraycopy(value, 0, cut, 0, length);
      assertThrows(Record.Malformed.class, () -> Record.decode(cut));
    }
    assertTrue(Record.decode(bytes(1)).isEmpty());
  }
}
