package io.cephcsi.driver.testing;

import io.cephcsi.testing.Commands;
import java.util.ArrayList;
import java.util.List;

/**
 * A machine of its own for programs, as far as the network tells: a network namespace that reaches
 * this machine by a pair of virtual interfaces. Needs root.
 */
public final class OtherMachine implements AutoCloseable {
  private final String name;
  private final String subnet;

  private OtherMachine(String name, String subnet) {
    this.name = name;
    this.subnet = subnet;
  }

  /** Makes one; each JVM may have one at a time. */
  public static OtherMachine up() {
    long pid = ProcessHandle.current().pid();
    String name = "csi" + pid;
    OtherMachine machine =
        new OtherMachine(name, "10.%d.%d".formatted(200 + pid / 256 % 50, pid % 256));
    ip("netns", "add", name);
    ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name);
    ip("address", "add", machine.hostAddress() + "/24", "dev", name);
    ip("link", "set", name, "up");
    ip("-n", name, "address", "add", machine.address() + "/24", "dev", "eth0");
    ip("-n", name, "link", "set", "eth0", "up");
    ip("-n", name, "link", "set", "lo", "up");
    return machine;
  }

  /** By which address it sees this machine. */
  public String hostAddress() {
    return subnet + ".1";
  }

  /** Its address. */
  public String address() {
    return subnet + ".2";
  }

  /** The command that runs a program there. */
  public List<String> command(String... program) {
    List<String> command = new ArrayList<>(List.of("nsenter", "--net=/run/netns/" + name));
    command.addAll(List.of(program));
    return command;
  }

  /** Removes it; what runs there loses its network. */
  @Override
  public void close() {
    ip("link", "delete", name);
    ip("netns", "delete", name);
  }

  private static void ip(String... args) {
    List<String> command = new ArrayList<>(List.of("ip"));
    command.addAll(List.of(args));
    Commands.run(command);
  }
}
