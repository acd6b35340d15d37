package io.cephcsi.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/** What the flight recorder saw of the project's own events. */
public final class Recorded {
  private Recorded() {}

  /**
   * Records while something runs, in all threads of this JVM.
   *
   * @param settings says what is recorded
   * @return the events whose names begin with {@code io.cephcsi.}, by the time when they ended
   */
  public static List<RecordedEvent> during(Consumer<Recording> settings, Runnable work) {
    try (Recording recording = new Recording()) {
      settings.accept(recording);
      recording.start();
      work.run();
      recording.stop();
      Path file = Files.createTempFile("recorded", ".jfr");
      try {
        recording.dump(file);
        return of(file);
      } finally {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The project's events of a file. */
  public static List<RecordedEvent> of(Path file) {
    try {
      return RecordingFile.readAllEvents(file).stream()
          .filter(event -> event.getEventType().getName().startsWith("io.cephcsi."))
          .sorted(java.util.Comparator.comparing(RecordedEvent::getEndTime))
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Those of a kind, such as {@code Rpc}. */
  public static List<RecordedEvent> of(List<RecordedEvent> events, String kind) {
    return events.stream()
        .filter(event -> event.getEventType().getName().equals("io.cephcsi." + kind))
        .toList();
  }
}
