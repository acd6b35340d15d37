package io.cephcsi.driver.testing;

import io.cephcsi.testing.Commands;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A machine of its own for programs, as far as the network tells: a network namespace that reaches
 * this machine by a pair of virtual interfaces. Needs root.
 */
public final class OtherMachine implements AutoCloseable {
  private static final long PID = ProcessHandle.current().pid();
  private static final Pattern OWNED = Pattern.compile("\\bcsi(\\d{1,10})-(\\d{1,2}|a)\\b");

  static {
    removeWhatIsLeft();
  }

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

  /**
   * Gives this machine an address of {@link #address}. It is of no interface's network, and has a
   * label that tells whose it is.
   */
  public static void add(String address) {
    ip("address", "add", address + "/32", "dev", "lo", "label", "lo:csi" + PID + "-a");
  }

  /** Takes it away. */
  public static void remove(String address) {
    ip("address", "delete", address + "/32", "dev", "lo");
  }

  /** What JVMs left that were killed: their interfaces, namespaces and addresses. */
  private static void removeWhatIsLeft() {
    if (!System.getProperty("user.name").equals("root")) {
      return;
    }
    for (String line : lines("ip", "-o", "link")) {
      left(line).ifPresent(name -> tryIp("link", "delete", name));
    }
    for (String line : lines("ip", "netns")) {
      left(line).ifPresent(name -> tryIp("netns", "delete", name));
    }
    for (String line : lines("ip", "-o", "-4", "address", "show", "dev", "lo")) {
      left(line)
          .ifPresent(label -> tryIp("address", "delete", line.split("\\s+", -1)[3], "dev", "lo"));
    }
  }

  private static List<String> lines(String... command) {
    return Commands.run(List.of(command)).lines().toList();
  }

  /** The name in a line of what belongs to a process that is gone. */
  private static Optional<String> left(String line) {
    Matcher owned = OWNED.matcher(line);
    return owned.find() && ProcessHandle.of(Long.parseLong(owned.group(1))).isEmpty()
        ? Optional.of(owned.group())
        : Optional.empty();
  }

  /** Another JVM may remove it at the same time. */
  private static void tryIp(String... args) {
    try {
      ip(args);
    } catch (IllegalStateException e) {
      // it is gone
    }
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
