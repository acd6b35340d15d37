package io.cephcsi.benchmarks;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;

/** Does a shallow volume cost more when the snapshot has hundreds of them? */
final class ShallowQuestion implements Question {
  private static final String FIRST = "the first ones";
  private static final int WARM = 40;

  @Override
  public List<Finding> ask(BenchSetup setup) throws IOException, InterruptedException {
    DriverState driver = new DriverState();
    driver.start(setup.conf(), true);
    try {
      return measure(setup, ControllerCalls.cephFs(driver));
    } finally {
      driver.stop();
    }
  }

  private static List<Finding> measure(BenchSetup setup, ControllerCalls calls)
      throws IOException, InterruptedException {
    int volumes = setup.scaled(500, 150);
    int part = volumes / 5;
    String source = calls.create("bench-" + UUID.randomUUID(), "");
    String snapshot = calls.snapshot(source, "bench-" + UUID.randomUUID());
    for (int i = 0; i < WARM; i++) {
      calls.delete(calls.create("bench-" + UUID.randomUUID(), snapshot));
    }
    double[] create = new double[volumes];
    double[] delete = new double[volumes];
    List<String> made = new ArrayList<>();
    for (int i = 0; i < volumes; i++) {
      create[i] =
          1e3 * setup.seconds(() -> made.add(calls.create("bench-" + UUID.randomUUID(), snapshot)));
    }
    for (int i = 0; i < volumes; i++) {
      String volume = made.get(volumes - 1 - i); // the first deletion has all others beside it
      delete[i] = 1e3 * setup.seconds(() -> calls.delete(volume));
    }
    calls.deleteSnapshot(snapshot);
    calls.delete(source);
    String number = " of " + volumes;
    return List.of(
        Finding.time(
                "shallow-create",
                "making the last shallow volumes" + number,
                "ms",
                Arrays.copyOfRange(create, volumes - part, volumes))
            .beside(FIRST, Arrays.copyOf(create, part)),
        Finding.time(
                "shallow-delete",
                "deleting one while there are all" + number,
                "ms",
                Arrays.copyOf(delete, part))
            .beside("the last ones", Arrays.copyOfRange(delete, volumes - part, volumes)));
  }
}
