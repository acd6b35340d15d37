package io.cephcsi.driver.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.volume.Json;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A reservation of a name that the cluster may carry out after it was given up. Immutable.
 *
 * @param namespace of both pools
 * @param directoryPool the id of the pool of the directory
 * @param directory the object whose key takes the name
 * @param key that key
 * @param value what it leads to: a random uuid
 * @param takesName whether this reservation takes the name; else another one has, and this one only
 *     makes the entry
 * @param entryPool the id of the pool of the entry
 * @param entry the entry's object
 * @param attributes of the entry; {@link #MAKER} is among them as long as no other call went on
 *     with it. Without that nothing is undone
 */
public record LateReservation(
    String namespace,
    long directoryPool,
    String directory,
    String key,
    String value,
    boolean takesName,
    long entryPool,
    String entry,
    Map<String, String> attributes) {
  /** The key of an incomplete entry that tells which attempt makes it. */
  public static final String MAKER = "csi.java.maker";

  /** Behind the number of an attempt that has given its entry up. */
  public static final String GIVEN_UP = "-given-up";

  /** The key of an entry that is being deleted. */
  public static final String DELETING = "csi.java.deleting";

  /** How many texts it is written as. */
  static final int TEXTS = 9;

  private static final Logger LOG = LoggerFactory.getLogger(LateReservation.class);

  /** Copies the attributes. */
  public LateReservation {
    attributes = Map.copyOf(attributes);
  }

  /** Which attempt made it; empty for an entry that does not say so. */
  Optional<String> maker() {
    return Optional.ofNullable(attributes.get(MAKER));
  }

  /** As texts, for a file. */
  List<String> texts() {
    try {
      return List.of(
          namespace,
          Long.toString(directoryPool),
          directory,
          key,
          value,
          Boolean.toString(takesName),
          Long.toString(entryPool),
          entry,
          Json.mapper().writeValueAsString(attributes));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a map of strings is always JSON", e);
    }
  }

  /** Reads {@link #texts()}; empty if these are none. */
  static Optional<LateReservation> parse(List<String> texts) {
    try {
      return Optional.of(
          new LateReservation(
              texts.get(0),
              Long.parseLong(texts.get(1)),
              texts.get(2),
              texts.get(3),
              texts.get(4),
              texts.get(5).equals(Boolean.toString(true)),
              Long.parseLong(texts.get(6)),
              texts.get(7),
              Json.mapper().readValue(texts.get(8), new TypeReference<Map<String, String>>() {})));
    } catch (NumberFormatException | JsonProcessingException e) {
      return Optional.empty();
    }
  }

  /**
   * Frees the name if it leads to no entry, and removes the entry if no name leads to it and no
   * other call went on with it. A name is freed in three steps, as any of them may come late, too:
   *
   * <ol>
   *   <li>the entry is made, marked as being deleted by an attempt that gave up: so whoever finds
   *       the name from now on takes another entry for it, and nobody makes this one
   *   <li>the name is freed if it still leads there
   *   <li>the entry is removed if it still has that mark
   * </ol>
   *
   * <p>What a call leaves that is cut off between them, the next one ends. Two to five round trips.
   *
   * @throws CephException.NotFound if a pool is gone
   */
  void undo(RadosCluster cluster) {
    if (maker().isEmpty()) {
      return;
    }
    try (IoContext names = cluster.openPool(directoryPool, namespace).tryWhenFull();
        IoContext entries = cluster.openPool(entryPool, namespace).tryWhenFull()) {
      if (!leadsToEntry(names)) {
        removeEntry(entries, maker().get());
        removeEntry(entries, givenUp());
      } else if (takesName && isGivenUp(entries)) {
        freeName(names);
        removeEntry(entries, givenUp());
      }
    }
  }

  private String givenUp() {
    return maker().orElseThrow() + GIVEN_UP;
  }

  private boolean leadsToEntry(IoContext names) {
    return Arrays.equals(read(names, directory, key), value.getBytes(UTF_8));
  }

  private static byte[] read(IoContext io, String object, String key) {
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetSmallByKeys(List.of(key));
      io.operate(object, read);
      return values.get().getOrDefault(key, new byte[0]);
    } catch (CephException.NotFound e) {
      return new byte[0];
    }
  }

  /** Whether the entry is marked; one that is not there is made so. */
  private boolean isGivenUp(IoContext entries) {
    if (entries.exists(entry)) {
      return Arrays.equals(read(entries, entry, MAKER), givenUp().getBytes(UTF_8));
    }
    Map<String, byte[]> marked = new HashMap<>();
    attributes.forEach((name, text) -> marked.put(name, text.getBytes(UTF_8)));
    marked.put(MAKER, givenUp().getBytes(UTF_8));
    marked.put(DELETING, (Instant.now() + " " + value).getBytes(UTF_8));
    try (WriteOperation write = new WriteOperation()) {
      entries.operate(entry, write.createExclusive().omapSet(marked));
      return true;
    } catch (CephException.AlreadyExists e) {
      return false; // another call goes on with it
    }
  }

  private void freeName(IoContext names) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists().omapCompare(key, value.getBytes(UTF_8)).omapRemove(List.of(key));
      names.operate(directory, write);
      LOG.info("freed {} of {}: its reservation came late, and had no entry", key, directory);
    } catch (CephException.NotFound | CephException.Canceled e) {
      LOG.debug("{} of {} leads elsewhere by now", key, directory);
    }
  }

  private void removeEntry(IoContext entries, String number) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists().omapCompare(MAKER, number.getBytes(UTF_8)).remove();
      entries.operate(entry, write);
      LOG.info("removed {}: it was made late, and no name leads to it", entry);
    } catch (CephException.NotFound | CephException.Canceled e) {
      LOG.debug("{} does not exist, or is another call's", entry);
    }
  }
}
