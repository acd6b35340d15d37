package io.cephcsi.driver.testing;

import io.cephcsi.testing.Commands;
import java.util.ArrayList;
import java.util.List;

/**
 * A machine of its own for programs, as far as the network tells: a network namespace that reaches
 * this machine by a pair of virtual interfaces. Needs root.
 */
public final class OtherMachine implements AutoCloseable {
  private static final long PID = ProcessHandle.current().pid();

  private final String name;
  private final int number;

  private OtherMachine(int number) {
    this.name = "csi" + PID + "-" + number;
    this.number = number;
  }

  /**
   * Makes one.
   *
   * @param number from 0 to 59; each JVM has at most one of a number at a time
   */
  public static OtherMachine up(int number) {
    OtherMachine machine = new OtherMachine(number);
    String name = machine.name;
    ip("netns", "add", name);
    ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name);
    ip("address", "add", machine.hostAddress() + "/30", "dev", name);
    ip("link", "set", name, "up");
    machine.ipThere("address", "add", machine.address() + "/30", "dev", "eth0");
    machine.ipThere("link", "set", "eth0", "up");
    machine.ipThere("link", "set", "lo", "up");
    machine.ipThere("route", "add", "default", "via", machine.hostAddress());
    return machine;
  }

  /** By which address it sees this machine. */
  public String hostAddress() {
    return address(4 * number + 1);
  }

  /** Its address. */
  public String address() {
    return address(4 * number + 2);
  }

  /**
   * An address in the network of this JVM's machines.
   *
   * @param last its last part; from 240 on none of a machine
   */
  public static String address(int last) {
    return "10.%d.%d.%d".formatted(200 + PID / 256 % 50, PID % 256, last);
  }

  /** Cuts its link: packets are lost, and no connection is refused. */
  public void cut() {
    ip("link", "set", name, "down");
  }

  /** Makes its link whole. */
  public void join() {
    ip("link", "set", name, "up");
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

  /** Not by {@code ip -n}, which makes mounts and so does not work below a chroot. */
  private void ipThere(String... args) {
    List<String> command = command("ip");
    command.addAll(List.of(args));
    Commands.run(command);
  }

  private static void ip(String... args) {
    List<String> command = new ArrayList<>(List.of("ip"));
    command.addAll(List.of(args));
    Commands.run(command);
  }
}
