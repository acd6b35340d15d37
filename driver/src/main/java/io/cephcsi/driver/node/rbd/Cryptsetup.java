package io.cephcsi.driver.node.rbd;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.LuksDevices;
import io.cephcsi.driver.node.machine.SecretFile;
import io.cephcsi.driver.rbd.encryption.EncryptionRequest;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * cryptsetup(8) on the device of one volume, as ceph-csi calls it. Passphrases go to its standard
 * input, whole; exit codes say what happened, as texts change.
 *
 * @param volumeId for the name of the decrypted device, and for messages
 * @param device of the image
 */
record Cryptsetup(String volumeId, Path device) {
  /** Argon2id with 32 MiB takes some seconds on a busy node. */
  private static final Duration TIME = Duration.ofMinutes(2);

  private static final int NO_HEADER = 1; // or one that cannot be used
  private static final int NO_SUCH_PASSPHRASE = 2;

  /** Requires that the program is there. */
  static void requireInstalled() {
    if (Command.find("cryptsetup").isEmpty()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "cryptsetup is not installed on this node: encrypted volumes need it");
    }
  }

  /** Puts LUKS2 on the device, whatever is there. */
  void format(EncryptionRequest wanted, Passphrase passphrase) {
    Command command =
        Command.of("cryptsetup", "--batch-mode", "luksFormat", "--type", "luks2")
            .with("--hash", "sha256", "--pbkdf-memory", "32768", "--key-file=-");
    if (wanted.cipher().isPresent()) {
      command =
          command.with("--cipher").with(Argument.of("encryptionCipher", wanted.cipher().get()));
    }
    if (wanted.keyBits().isPresent()) {
      command =
          command.with("--key-size").with(Argument.of("encryptionKeySize", wanted.keyBits().get()));
    }
    if (wanted.sectorBytes().isPresent()) {
      command =
          command
              .with("--sector-size")
              .with(Argument.of("encryptionSectorSize", wanted.sectorBytes().get()));
    }
    run(command.with(Argument.path(device)), passphrase).run();
  }

  /** Whether a passphrase opens the device; nothing is changed. */
  boolean isOpenedBy(Passphrase passphrase) {
    Command command =
        Command.of("cryptsetup", "open", "--test-passphrase", "--key-file=-")
            .with(Argument.path(device));
    return run(command, passphrase).exitsWith(0, 1, NO_SUCH_PASSPHRASE).exitCode() == 0;
  }

  /** Whether a passphrase is that of a slot; nothing is changed. */
  boolean isOpenedBy(Passphrase passphrase, int slot) {
    Command command =
        Command.of("cryptsetup", "open", "--test-passphrase", "--key-file=-", "--key-slot")
            .with(slot(slot))
            .with(Argument.path(device));
    return run(command, passphrase).exitsWith(0, 1, NO_SUCH_PASSPHRASE).exitCode() == 0;
  }

  /** Which of the slots that drivers use a passphrase has; empty for none. */
  Optional<Integer> slotOf(Passphrase passphrase) {
    return Stream.of(0, 1).filter(slot -> isOpenedBy(passphrase, slot)).findFirst();
  }

  /**
   * Removes a slot, if it is there.
   *
   * @param other the passphrase of another slot, which was proven to be that
   */
  void removeSlot(int slot, Passphrase other) {
    if (isThere(slot)) {
      Command command =
          Command.of("cryptsetup", "--batch-mode", "luksKillSlot", "--key-file=-")
              .with(Argument.path(device))
              .with(slot(slot));
      run(command, other).run();
    }
  }

  private boolean isThere(int slot) {
    String json =
        Command.of("cryptsetup", "luksDump", "--dump-json-metadata")
            .with(Argument.path(device))
            .within(TIME)
            .run();
    try {
      return Json.mapper().readTree(json).path("keyslots").has(Integer.toString(slot));
    } catch (JsonProcessingException e) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume " + volumeId + ": cryptsetup does not tell its slots",
          e);
    }
  }

  /**
   * Adds a passphrase in a slot that is free.
   *
   * @param present one that opens the device
   * @param secrets where the new one is shown to cryptsetup, which takes only one by its input
   */
  void addTo(int slot, Passphrase present, Passphrase next, Path secrets) {
    try (SecretFile file = SecretFile.of(secrets, "new passphrase of " + volumeId, next.text())) {
      Command command =
          Command.of("cryptsetup", "--batch-mode", "luksAddKey", "--pbkdf-memory", "32768")
              .with("--key-file=-", "--key-slot")
              .with(slot(slot))
              .with(Argument.path(device), Argument.path(file.path()));
      run(command, present).run();
    }
  }

  private static Argument slot(int slot) {
    return Argument.of("the slot", Integer.toString(slot));
  }

  /**
   * Opens the device.
   *
   * @param readOnly so that nothing can be written through it
   * @param discards so that discards pass
   * @throws VolumeException FAILED_PRECONDITION when the passphrase is another
   */
  void open(Passphrase passphrase, boolean readOnly, boolean discards) {
    Command command =
        Command.of("cryptsetup", "open", "--type", "luks", "--disable-keyring", "--key-file=-");
    command = readOnly ? command.with("--readonly") : command;
    command = discards ? command.with("--allow-discards") : command;
    Command.Result result =
        run(command.with(Argument.path(device)).with(name()), passphrase)
            .exitsWith(0, NO_HEADER, NO_SUCH_PASSPHRASE);
    if (result.exitCode() == NO_HEADER) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume " + volumeId + ": its image cannot be decrypted: " + result.said());
    }
    if (result.exitCode() != 0) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume "
              + volumeId
              + ": its passphrase in the KMS does not open it; nothing was changed");
    }
  }

  /** Grows the decrypted device to the size of the device below. */
  void resize() {
    Command.of("cryptsetup", "resize").with(name()).within(TIME).run();
  }

  private Argument name() {
    return Argument.of("the decrypted device", LuksDevices.nameOf(volumeId));
  }

  private static Command run(Command command, Passphrase passphrase) {
    byte[] bytes = passphrase.bytes();
    try {
      return command.within(TIME).input(bytes);
    } finally {
      Arrays.fill(bytes, (byte) 0);
    }
  }
}
