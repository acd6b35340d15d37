package io.cephcsi.driver.node.rbd;

import io.cephcsi.bindings.cls.MirrorDaemons;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.Watcher;
import io.cephcsi.driver.node.attach.AttachRequest;
import io.cephcsi.driver.node.attach.AttachedDevice;
import io.cephcsi.driver.node.attach.Attacher;
import io.cephcsi.driver.node.attach.AttacherKind;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.rbd.session.OpenImage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts a new rbd-nbd for a device in use whose process died, before anything is unmounted. As
 * long as the kernel waits for one, nothing that was written is lost, whoever has it mounted.
 */
final class NbdReattachment {
  private static final Logger LOG = LoggerFactory.getLogger(NbdReattachment.class);

  /** Such as {@code 10.0.0.5:0/123} and {@code v1:[fd00::5]:0/123}. */
  private static final Pattern WATCHER =
      Pattern.compile("(?:[a-z]+\\d*:)?\\[?([0-9.]+|[0-9a-fA-F:.]+)]?:\\d+/\\d+");

  private NbdReattachment() {}

  /**
   * Starts the process again if it can be.
   *
   * @param found the device of the image; empty when it has none
   * @return the device as it is now
   */
  static Optional<AttachedDevice> attempt(
      AttachRequest request, Attacher attacher, OpenImage volume, Optional<AttachedDevice> found) {
    Optional<AttachedDevice> dead =
        found
            .filter(device -> attacher.kind() == AttacherKind.NBD && !device.alive())
            .filter(device -> !device.uses().isEmpty())
            .filter(
                device -> BlockDevice.require(device.device()).isReadOnly() == request.readOnly());
    if (dead.isEmpty() || isElsewhere(request, volume)) {
      return found;
    }
    volume.requireAncestry();
    try {
      AttachedDevice served = attacher.attach(request);
      LOG.info("rbd-nbd was started again for {}", served);
      return Optional.of(served);
    } catch (CommandException e) {
      LOG.warn("rbd-nbd cannot be started again for {}: {}", dead.get(), e.getMessage());
      return attacher.find(request.image()); // as far as that got
    }
  }

  /**
   * Whether another node has the image open, which may have it alone: what this node has not
   * written must not come beside what that one writes. The watch of the process that died may still
   * be there, and has an address of this node; in a network namespace of its own, which addresses
   * these are is not known, and it counts as another node's.
   */
  private static boolean isElsewhere(AttachRequest request, OpenImage volume) {
    if (request.readOnly() || request.shared()) {
      return false;
    }
    Set<InetAddress> local = local();
    long ourClientId = volume.lease().cluster().instanceId();
    try (RbdImage image = volume.openReadOnly()) {
      Optional<Watcher> other =
          MirrorDaemons.users(image).stream()
              .filter(watcher -> watcher.clientId() != ourClientId)
              .filter(watcher -> isOther(watcher.address(), local))
              .findFirst();
      other.ifPresent(
          watcher ->
              LOG.warn(
                  "rbd-nbd is not started again for {}: the image is open at {}, perhaps on another"
                      + " node",
                  request.image(),
                  watcher.address()));
      return other.isPresent();
    }
  }

  private static boolean isOther(String watcher, Set<InetAddress> local) {
    Matcher address = WATCHER.matcher(watcher);
    try {
      return !address.matches()
          || !local.contains(InetAddress.getByName(address.group(1))); // no name: nobody is asked
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Set<InetAddress> local() {
    try {
      return NetworkInterface.networkInterfaces()
          .flatMap(NetworkInterface::inetAddresses)
          .collect(Collectors.toUnmodifiableSet());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
