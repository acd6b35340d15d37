package io.cephcsi.driver.fence;

import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import java.math.BigInteger;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A range of IPv4 or IPv6 addresses, as {@code 192.0.2.0/24} or {@code 2001:db8::1/128}. Pure; asks
 * no name server.
 *
 * @param network its lowest address
 * @param prefix how many bits all its addresses have in common
 */
public record Cidr(InetAddress network, int prefix) {
  private static final Pattern FORM = Pattern.compile("([0-9A-Fa-f.:]{2,45})/([0-9]{1,3})");
  private static final Pattern IP4 =
      Pattern.compile("(?:0|[1-9][0-9]{0,2})(?:\\.(?:0|[1-9][0-9]{0,2})){3}");

  /**
   * Reads a range of a request.
   *
   * @throws VolumeException INVALID_ARGUMENT when it is none, or its address is not its lowest
   */
  public static Cidr parse(String text) {
    Matcher form = FORM.matcher(text);
    Optional<InetAddress> address = form.matches() ? address(form.group(1)) : Optional.empty();
    if (address.isEmpty()) {
      throw VolumeException.invalid(
          "cidrs: " + PlainText.show(text) + " is not a range such as 192.0.2.0/24");
    }
    int prefix = Integer.parseInt(form.group(2));
    if (address.get() instanceof Inet4Address && form.group(1).indexOf(':') >= 0) {
      throw VolumeException.invalid(
          "cidrs: " + PlainText.show(text) + " is an IPv4 address in IPv6: write it as IPv4");
    }
    if (prefix > bits(address.get())) {
      throw VolumeException.invalid(
          "cidrs: "
              + PlainText.show(text)
              + " has a prefix of more than "
              + bits(address.get())
              + " bits");
    }
    Cidr range = new Cidr(address.get(), prefix);
    if (!range.suffixOf(range.network).equals(BigInteger.ZERO)) {
      throw VolumeException.invalid(
          "cidrs: "
              + PlainText.show(text)
              + " has bits set behind its prefix: write the lowest address of the range");
    }
    return range;
  }

  /** The range of one address. */
  public static Cidr of(InetAddress address) {
    return new Cidr(address, bits(address));
  }

  /**
   * Reads an address; names are none.
   *
   * @return empty when it is no address
   */
  static Optional<InetAddress> address(String text) {
    if (!IP4.matcher(text).matches() && text.indexOf(':') < 0) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          InetAddress.getByName(text)); // looks up nothing: it has colons, or is IPv4
    } catch (UnknownHostException e) {
      return Optional.empty();
    }
  }

  private static int bits(InetAddress address) {
    return address.getAddress().length * Byte.SIZE;
  }

  private BigInteger suffixOf(InetAddress address) {
    BigInteger mask = BigInteger.ONE.shiftLeft(bits(network) - prefix).subtract(BigInteger.ONE);
    return new BigInteger(1, address.getAddress()).and(mask);
  }

  /** Whether an address lies in the range. */
  public boolean contains(InetAddress address) {
    if (bits(address) != bits(network)) {
      return false;
    }
    int shift = bits(network) - prefix;
    return new BigInteger(1, address.getAddress())
        .shiftRight(shift)
        .equals(new BigInteger(1, network.getAddress()).shiftRight(shift));
  }

  /** Whether all addresses of another range lie in this one. */
  public boolean contains(Cidr other) {
    return other.prefix >= prefix && contains(other.network);
  }

  /** Whether its addresses are IPv4. */
  public boolean isIp4() {
    return network instanceof Inet4Address;
  }

  /** The range as commands and answers write it; parse reads it back. */
  @Override
  public String toString() {
    return network.getHostAddress() + "/" + prefix;
  }
}
