package io.cephcsi.driver.profile;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** A change of a reference tracker. Does not block. */
@Name("io.cephcsi.TrackerChange")
@Label("Tracker Change")
@Description("A change of a reference tracker, with the wait for changes of other threads")
@Category("Ceph CSI")
@Enabled(false)
@StackTrace(false)
public final class TrackerEvent extends Event {
  private static final TrackerEvent ANY = new TrackerEvent();

  @Label("Tracker")
  @Description("The name of its object")
  String tracker = "";

  @Label("Change")
  @Description("ADD, REMOVE or MASK")
  String change = "";

  @Label("Keys")
  int keys;

  @Label("Result")
  @Description("A word; the kind of error if it failed")
  String result = "";

  @Label("Errno")
  @Description("0, or the negative error number with which the cluster refused it")
  int errno;

  private TrackerEvent() {}

  /**
   * Begins an event.
   *
   * @return null while nobody records such events; then nothing is allocated
   */
  public static @Nullable TrackerEvent begun() {
    if (!ANY.isEnabled()) {
      return null;
    }
    TrackerEvent event = new TrackerEvent();
    event.begin();
    return event;
  }

  /**
   * Ends the event and writes it.
   *
   * @param tracker the name of its object
   * @param keys how many it concerns
   * @param errno 0 or negative
   */
  public void ended(String tracker, String change, int keys, String result, int errno) {
    this.tracker = tracker;
    this.change = change;
    this.keys = keys;
    this.result = result;
    this.errno = errno;
    commit();
  }
}
