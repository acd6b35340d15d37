package io.cephcsi.driver.testing;

import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;

/** All bytes of a RADOS object: extended attributes, data, omap. Equal by content. */
@SuppressWarnings("ArrayRecordComponent") // it has its own equality
public record RawObject(Map<String, byte[]> xattrs, byte[] data, Map<String, byte[]> omap) {
  @Override
  public boolean equals(Object other) {
    return other instanceof RawObject && toString().equals(other.toString());
  }

  @Override
  public int hashCode() {
    return toString().hashCode();
  }

  @Override
  public String toString() {
    return "xattrs " + hex(xattrs) + " data " + hex(data) + " omap " + hex(omap);
  }

  private static Map<String, String> hex(Map<String, byte[]> values) {
    Map<String, String> texts = new TreeMap<>();
    values.forEach((key, value) -> texts.put(key, hex(value)));
    return texts;
  }

  private static String hex(byte[] value) {
    return "0x" + HexFormat.of().formatHex(value);
  }
}
