package io.cephcsi.driver.node.machine;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** A module of the kernel that this node may have. */
public final class KernelModule {
  private KernelModule() {}

  /**
   * Loads a module unless it is there.
   *
   * @param sign exists when it is loaded, or built in
   * @return why it cannot be had; empty when it is there
   */
  public static Optional<String> load(String name, Path sign) {
    if (Files.exists(sign)) {
      return Optional.empty();
    }
    String said;
    try {
      said = Command.of("modprobe", "--").with(Argument.of("the module", name)).tryRun().said();
    } catch (CommandException e) {
      said = String.valueOf(e.getMessage());
    }
    return Files.exists(sign)
        ? Optional.empty()
        : Optional.of("the kernel has no module " + name + " (" + said + ")");
  }

  /** Why a program cannot be run; empty when it can. */
  public static Optional<String> missing(String program) {
    return Command.find(program).isPresent()
        ? Optional.empty()
        : Optional.of(program + " is not installed");
  }
}
