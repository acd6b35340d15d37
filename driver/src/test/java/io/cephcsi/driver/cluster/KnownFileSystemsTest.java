package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class KnownFileSystemsTest {
  private static final FileSystemInfo OLD = new FileSystemInfo(1, "fs", 2, List.of(3L));
  private static final FileSystemInfo NEW = new FileSystemInfo(7, "fs", 8, List.of(9L));

  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE); // it may overflow
  private final AtomicInteger questions = new AtomicInteger();
  private List<FileSystemInfo> there = List.of(OLD);
  private final KnownFileSystems known =
      new KnownFileSystems(
          () -> {
            questions.incrementAndGet();
            return there;
          },
          nanos::get);

  @Test
  void whatWasAskedIsRememberedForTenSeconds() {
    assertThat(known.find(info -> info.name().equals("fs"))).contains(OLD);
    there = List.of(NEW);
    nanos.addAndGet(Duration.ofSeconds(9).toNanos());
    assertThat(known.find(info -> info.id() == 1)).contains(OLD);
    assertThat(questions).hasValue(1);
    nanos.addAndGet(Duration.ofSeconds(2).toNanos());
    assertThat(known.find(info -> info.name().equals("fs"))).contains(NEW);
    assertThat(questions).hasValue(2);
  }

  @Test
  void whatIsNotKnownIsAskedForAgain() {
    assertThat(known.find(info -> info.id() == 7)).isEmpty();
    there = List.of(NEW);
    assertThat(known.find(info -> info.id() == 7)).contains(NEW);
    assertThat(known.find(info -> info.id() == 1)).isEmpty();
    assertThat(questions).hasValue(3);
  }

  @Test
  void whatIsForgottenIsAskedForAgain() {
    assertThat(known.find(info -> info.name().equals("fs"))).contains(OLD);
    there = List.of();
    known.forget();
    assertThat(known.find(info -> info.name().equals("fs"))).isEmpty();
  }
}
