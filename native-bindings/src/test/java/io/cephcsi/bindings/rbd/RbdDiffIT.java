package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.error.CephException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RbdDiffIT extends RbdCase {
  private record Extent(long offset, long length, boolean exists) {}

  private static Set<ImageFeature> features(boolean fast) {
    return fast ? MAPPED : PLAIN;
  }

  private static List<Extent> diff(RbdImage image, Optional<String> from, boolean wholeObject) {
    List<Extent> extents = new ArrayList<>();
    assertThat(
            image.diff(
                from,
                0,
                image.size(),
                true,
                wholeObject,
                (offset, length, exists) -> extents.add(new Extent(offset, length, exists))))
        .isTrue();
    return extents;
  }

  private List<Extent> commandLine(String... options) {
    List<String> args = new ArrayList<>(List.of("diff", spec()));
    args.addAll(List.of(options));
    List<Extent> extents = new ArrayList<>();
    for (JsonNode extent : rbdJson(args.toArray(new String[0]))) {
      extents.add(
          new Extent(
              extent.get("offset").asLong(),
              extent.get("length").asLong(),
              extent.get("exists").asBoolean()));
    }
    return extents;
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void extentsAreThoseOfTheCommandLine(boolean fast) {
    create(features(fast), 50);
    try (RbdImage image = pool.open(name)) {
      image.write(100_000, filled(50_000, 1));
      fill(image, 10, 3, 1);
      image.snapshots().create("s");
      image.discard(11L * OBJECT, OBJECT);
      fill(image, 30, 1, 1);

      assertThat(diff(image, Optional.empty(), false)).isEqualTo(commandLine()).isNotEmpty();
      assertThat(diff(image, Optional.empty(), true))
          .isEqualTo(commandLine("--whole-object"))
          .contains(new Extent(0, OBJECT, true));
      assertThat(diff(image, Optional.of("s"), true))
          .isEqualTo(commandLine("--whole-object", "--from-snap", "s"))
          .containsExactly(
              new Extent(11L * OBJECT, OBJECT, false), new Extent(30L * OBJECT, OBJECT, true));
      image.snapshots().setActive("s");
      assertThat(diff(image, Optional.empty(), true))
          .contains(new Extent(11L * OBJECT, OBJECT, true))
          .doesNotContain(new Extent(30L * OBJECT, OBJECT, true));
      assertThatThrownBy(() -> diff(image, Optional.of("missing"), true))
          .isInstanceOf(CephException.NotFound.class);
    }
  }

  @Test
  void anObjectCountsToItsEndAndHolesBeforeItAreNotSeen() {
    create(PLAIN, 2);
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, 2, 1);
      image.discard(0, OBJECT / 2);
      image.discard(OBJECT + OBJECT / 2, OBJECT / 2);
      image.flush();
      assertThat(image.read(0, 10)).isEqualTo(new byte[10]);
      assertThat(diff(image, Optional.empty(), false))
          .extracting(Extent::length)
          .satisfiesExactly(
              length -> assertThat(length).isEqualTo(OBJECT),
              length -> assertThat(length).isEqualTo(OBJECT / 2));
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void theVisitorEndsTheWalkAndItsExceptionsComeOut(boolean fast) {
    create(features(fast), 50);
    try (RbdImage image = pool.open(name)) {
      for (int i = 0; i < 50; i += 2) {
        fill(image, i, 1, 1);
      }
      List<Long> seen = new ArrayList<>();
      boolean whole =
          image.diff(
              Optional.empty(),
              0,
              image.size(),
              true,
              fast,
              (offset, length, exists) -> {
                seen.add(offset);
                return seen.size() < 5;
              });
      assertThat(whole).isFalse();
      assertThat(seen).containsExactly(0L, 2L << 20, 4L << 20, 6L << 20, 8L << 20);
      assertThatThrownBy(
              () ->
                  image.diff(
                      Optional.empty(),
                      0,
                      image.size(),
                      true,
                      fast,
                      (offset, length, exists) -> {
                        throw new UnsupportedOperationException("seen");
                      }))
          .isInstanceOf(UnsupportedOperationException.class);
      assertThat(diff(image, Optional.empty(), fast)).hasSize(25);
    }
  }
}
