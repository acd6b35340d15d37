package io.cephcsi.driver.cli;

import io.cephcsi.bindings.profile.LibrbdCall;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/**
 * Records how long the calls of librbd take, by the flight recorder of this JVM. Used by one
 * thread.
 */
final class CallRecording implements AutoCloseable {
  private final Recording recording = new Recording();

  private CallRecording() {}

  /** Begins. */
  static CallRecording start() {
    CallRecording calls = new CallRecording();
    calls.recording.enable(LibrbdCall.class).withThreshold(Duration.ZERO).withoutStackTrace();
    calls.recording.start();
    return calls;
  }

  /**
   * Ends, and tells how long one kind of call took.
   *
   * @param operation the C function
   * @param image the image's name
   * @return empty if there was no such call that succeeded
   */
  Optional<Latencies> stop(String operation, String image) throws IOException {
    recording.stop();
    Path file = Files.createTempFile("ceph-csi-bench", ".jfr");
    try {
      recording.dump(file);
      return read(file, operation, image);
    } finally {
      Files.delete(file);
    }
  }

  private static Optional<Latencies> read(Path file, String operation, String image)
      throws IOException {
    long[] nanos = new long[1024];
    int count = 0;
    try (RecordingFile events = new RecordingFile(file)) {
      while (events.hasMoreEvents()) {
        RecordedEvent event = events.readEvent();
        if (event.getEventType().getName().equals("io.cephcsi.LibrbdCall")
            && operation.equals(event.getString("operation"))
            && image.equals(event.getString("image"))
            && event.getInt("errno") == 0) {
          if (count == nanos.length) {
            nanos = Arrays.copyOf(nanos, 2 * count);
          }
          nanos[count++] = event.getDuration().toNanos();
        }
      }
    }
    return count == 0 ? Optional.empty() : Optional.of(Latencies.of(Arrays.copyOf(nanos, count)));
  }

  @Override
  public void close() {
    recording.close();
  }
}
