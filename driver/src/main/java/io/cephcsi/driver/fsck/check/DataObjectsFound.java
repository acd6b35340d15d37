package io.cephcsi.driver.fsck.check;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The data objects that a list of objects had, by their prefix: how many, some of their names, and
 * for some images which. Filled by one thread; then safe for several.
 */
final class DataObjectsFound {
  private static final Pattern NAME =
      Pattern.compile("rbd_data\\.(?:(\\d{1,18})\\.)?([A-Za-z0-9_-]{1,64})\\.([0-9a-f]{16})");
  private static final int SAMPLE = 32;
  private static final int MAX_PREFIXES = 2_000_000;
  private static final long MAX_BITS = 1L << 30; // 128 MiB
  private static final int ONE_OF = 16;

  private final boolean all;
  private final Map<String, Found> found = new HashMap<>();
  private long bits;

  /**
   * @param all whether to note of all images which objects they have, instead of one in 16
   */
  DataObjectsFound(boolean all) {
    this.all = all;
  }

  /** The data objects of one image in one pool. */
  static final class Found {
    private final String prefix;
    private final OptionalLong poolId;
    private final String imageId;
    private final List<String> sample = new ArrayList<>(1);
    private final Optional<BitSet> which;
    private long count;

    Found(String prefix, OptionalLong poolId, String imageId, Optional<BitSet> which) {
      this.prefix = prefix;
      this.poolId = poolId;
      this.imageId = imageId;
      this.which = which;
    }

    /** What their names begin with. */
    String prefix() {
      return prefix;
    }

    /** The pool of the image, where it is another one than that of the data. */
    OptionalLong poolId() {
      return poolId;
    }

    String imageId() {
      return imageId;
    }

    List<String> sample() {
      return sample;
    }

    /** The numbers of the objects; empty if they were not noted. */
    Optional<BitSet> which() {
      return which;
    }

    long count() {
      return count;
    }
  }

  /** Notes an object; false if it is not one of data. */
  boolean add(String object) {
    if (!object.startsWith("rbd_data.")) {
      return false;
    }
    Matcher name = NAME.matcher(object);
    if (!name.matches()) {
      return true; // others may put anything here
    }
    String prefix = object.substring(0, object.length() - 17);
    Found of = found.get(prefix);
    if (of == null) {
      if (found.size() == MAX_PREFIXES) {
        throw new IllegalStateException(
            "there are data objects of more than " + MAX_PREFIXES + " images in one pool");
      }
      String pool = name.group(1);
      String imageId = name.group(2);
      boolean noted = all || Math.floorMod(imageId.hashCode(), ONE_OF) == 0;
      of =
          new Found(
              prefix,
              pool == null ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(pool)),
              imageId,
              noted ? Optional.of(new BitSet()) : Optional.empty());
      found.put(prefix, of);
    }
    of.count++;
    if (of.sample.size() < SAMPLE) {
      of.sample.add(object);
    }
    long number = Long.parseUnsignedLong(name.group(3), 16);
    if (of.which.isPresent() && number >= 0 && number < Integer.MAX_VALUE) {
      BitSet which = of.which.get();
      long before = which.size();
      if (number < before || bits + number - before < MAX_BITS) {
        which.set((int) number);
        bits += which.size() - before;
      }
    }
    return true;
  }

  /** All of them, by prefix. */
  Map<String, Found> byPrefix() {
    return found;
  }
}
