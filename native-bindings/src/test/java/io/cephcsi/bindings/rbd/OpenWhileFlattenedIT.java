package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.error.CephException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** librbd opens all ancestors with an image, and they may go meanwhile. */
class OpenWhileFlattenedIT extends RbdCase {
  private static final int DEPTH = 6;
  private static final int TRIES = 12;
  private static final String SNAPSHOT = "s";
  private static final ImageOptions OPTIONS =
      ImageOptions.builder().features(MAPPED).objectSizeBytes(OBJECT).cloneFormat(2).build();

  private String generation(int number) {
    return name + "-" + number;
  }

  /** Makes an image, and generations of clones of it. */
  private void makeGenerations() {
    pool.create(generation(0), OBJECT, with(MAPPED));
    for (int i = 1; i <= DEPTH; i++) {
      try (RbdImage parent = pool.open(generation(i - 1))) {
        parent.snapshots().create(SNAPSHOT);
      }
      pool.cloneImage(generation(i - 1), SNAPSHOT, pool, generation(i), OPTIONS);
    }
  }

  /** Makes each generation independent of the one before, which is removed. */
  private void removeAncestors() {
    for (int i = 1; i <= DEPTH; i++) {
      try (RbdImage image = pool.open(generation(i))) {
        image.flatten(Progress.NONE);
      }
      remove(generation(i - 1));
    }
  }

  private void remove(String image) {
    try (RbdImage open = pool.open(image)) {
      if (open.snapshots().exists(SNAPSHOT)) {
        open.snapshots().remove(SNAPSHOT);
      }
    }
    pool.remove(image, Progress.NONE);
  }

  @Test
  void anImageIsOpenedWhateverBecomesOfItsAncestors() throws Exception {
    ExecutorService other = Executors.newSingleThreadExecutor();
    int opened = 0;
    try {
      for (int i = 0; i < TRIES; i++) {
        makeGenerations();
        Future<?> removal = other.submit(this::removeAncestors);
        while (!removal.isDone()) {
          pool.openReadOnly(generation(DEPTH)).close();
          opened++;
        }
        removal.get();
        remove(generation(DEPTH));
      }
    } finally {
      other.shutdownNow();
    }
    assertThat(opened).isGreaterThan(TRIES);
  }

  @Test
  void anImageWhoseAncestorIsGoneForGoodIsNotOpened() {
    pool.create(generation(0), OBJECT, with(MAPPED));
    try (RbdImage parent = pool.open(generation(0))) {
      parent.snapshots().create(SNAPSHOT);
    }
    pool.cloneImage(generation(0), SNAPSHOT, pool, generation(1), OPTIONS);
    String header = "rbd_header." + ImageId.find(pool, generation(0)).orElseThrow();
    io.remove(header);
    assertThatThrownBy(() -> pool.openReadOnly(generation(1)))
        .isInstanceOf(CephException.NotFound.class);
  }
}
