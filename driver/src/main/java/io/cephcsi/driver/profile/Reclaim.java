package io.cephcsi.driver.profile;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** A reclaim of a volume. Does not block. */
@Name("io.cephcsi.Reclaim")
@Label("Reclaim")
@Description("A reclaim of a volume, with the waits for its turn and for the cluster")
@Category("Ceph CSI")
@Enabled(false)
@StackTrace(false)
public final class Reclaim extends Event {
  private static final Reclaim ANY = new Reclaim();

  @Label("Volume")
  @Description("The volume's id, or the image's name with its pool")
  String volume = "";

  @Label("Outcome")
  @Description("As a word; the kind of error if it failed")
  String outcome = "";

  @Label("Freed")
  @Description("Usage before less usage after; 0 where one is not known")
  @DataAmount
  long freed;

  @Label("Discarded")
  @DataAmount
  long discarded;

  @Label("Errno")
  @Description("0, or the negative error number with which the cluster refused it")
  int errno;

  private Reclaim() {}

  /**
   * Begins an event.
   *
   * @return null while nobody records such events; then nothing is allocated
   */
  public static @Nullable Reclaim begun() {
    if (!ANY.isEnabled()) {
      return null;
    }
    Reclaim event = new Reclaim();
    event.begin();
    return event;
  }

  /**
   * Ends the event and writes it.
   *
   * @param volume its id, or the image's name with its pool
   * @param outcome as a word
   * @param freed in bytes
   * @param discarded in bytes
   * @param errno 0 or negative
   */
  public void ended(String volume, String outcome, long freed, long discarded, int errno) {
    this.volume = volume;
    this.outcome = outcome;
    this.freed = freed;
    this.discarded = discarded;
    this.errno = errno;
    commit();
  }
}
