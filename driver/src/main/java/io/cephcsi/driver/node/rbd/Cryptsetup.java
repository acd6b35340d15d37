package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.LuksDevices;
import io.cephcsi.driver.node.machine.Processes;
import io.cephcsi.driver.node.machine.SecretFile;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * cryptsetup(8) on the device of one volume, as ceph-csi calls it. Passphrases go to its standard
 * input, whole; exit codes say what happened, as texts change. What opens the volume or proves a
 * passphrase gets a {@link HeaderCopy}, and never believes the header on the device.
 *
 * @param volumeId for the name of the decrypted device, and for messages
 * @param device of the image
 * @param secrets where files are that only this user can read or change, see {@link SecretFile}
 * @param memory of what makes keys of passphrases as a header asks for it
 */
record Cryptsetup(String volumeId, Path device, Path secrets, KeyMemory memory) {
  /** Argon2id with 32 MiB takes some seconds on a busy node. */
  private static final Duration TIME = Duration.ofMinutes(2);

  private static final Duration OTHERS = Duration.ofSeconds(30);

  private static final Logger LOG = LoggerFactory.getLogger(Cryptsetup.class);
  private static final int NO_HEADER = 1; // or one that cannot be used
  private static final int NO_SUCH_PASSPHRASE = 2;

  /** With the memory that this node has for all of them. */
  Cryptsetup(String volumeId, Path device, Path secrets) {
    this(volumeId, device, secrets, KeyMemory.OF_NODE);
  }

  /** Requires that the program is there. */
  static void requireInstalled() {
    if (Command.find("cryptsetup").isEmpty()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "cryptsetup is not installed on this node: encrypted volumes need it");
    }
  }

  /**
   * Waits until what a driver that died left at work on the device has ended: a format that ends
   * after another one would take the key from what is written meanwhile.
   *
   * @throws VolumeException ABORTED when it does not end soon
   */
  void awaitOthers() {
    String path = device.toString();
    if (!Processes.awaitEnd("cryptsetup", words -> words.contains(path), OTHERS)) {
      throw new VolumeException(
          Reason.ABORTED,
          "volume "
              + volumeId
              + ": a cryptsetup that an earlier call began still works on "
              + path
              + "; try again later");
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

  /**
   * The header of the device, which the caller closes.
   *
   * @throws VolumeException FAILED_PRECONDITION when it is not what drivers make, or not whole
   */
  HeaderCopy header() {
    return HeaderCopy.of(volumeId, device, secrets, memory);
  }

  /**
   * Whether a passphrase opens the device, which may have a part of a header only; nothing is
   * changed.
   *
   * @throws VolumeException FAILED_PRECONDITION when its header is not what drivers make
   */
  boolean isOpenedBy(Passphrase passphrase) {
    try (HeaderCopy header = HeaderCopy.find(volumeId, device, secrets, memory).orElse(null)) {
      return header != null && header.isOpenedBy(passphrase);
    }
  }

  /**
   * Removes a slot, if it is there.
   *
   * @param other the passphrase of another slot, which was proven to be that
   */
  void removeSlot(int slot, Passphrase other) {
    try (HeaderCopy header = header()) {
      if (header.hasSlot(slot)) {
        Command command =
            Command.of("cryptsetup", "--batch-mode", "luksKillSlot", "--key-file=-")
                .with(Argument.path(device))
                .with(slot(slot));
        Command kill = run(command, other);
        header.inMemory(kill::run);
      }
    }
  }

  /**
   * Adds a passphrase in a slot that is free; shown to cryptsetup by a file, as it takes only one
   * by its input. It goes by the header on the device: what comes of that, the caller has to look
   * at.
   *
   * @param present one that opens the device
   */
  void addTo(int slot, Passphrase present, Passphrase next) {
    try (HeaderCopy header = header();
        SecretFile file = SecretFile.of(secrets, "new passphrase of " + volumeId, next.text())) {
      Command command =
          Command.of("cryptsetup", "--batch-mode", "luksAddKey", "--pbkdf-memory", "32768")
              .with("--key-file=-", "--key-slot")
              .with(slot(slot))
              .with(Argument.path(device), Argument.path(file.path()));
      Command add = run(command, present);
      header.inMemory(add::run);
    }
  }

  static Argument slot(int slot) {
    return Argument.of("the slot", Integer.toString(slot));
  }

  /**
   * Opens the device.
   *
   * @param readOnly so that nothing can be written through it
   * @param discards so that discards pass
   * @throws VolumeException FAILED_PRECONDITION when the passphrase is another, or the header is
   *     not what drivers make; UNAVAILABLE when others take the memory for long
   */
  void open(Passphrase passphrase, boolean readOnly, boolean discards) {
    Command command =
        Command.of("cryptsetup", "open", "--type", "luks2", "--disable-keyring", "--key-file=-");
    command = readOnly ? command.with("--readonly") : command;
    command = discards ? command.with("--allow-discards") : command;
    boolean same;
    Command.Result result;
    try (HeaderCopy header = header()) {
      same = header.isSame();
      command = command.with("--header").with(header.path(), Argument.path(device)).with(name());
      Command open = run(command, passphrase);
      result = header.inMemory(() -> open.exitsWith(0, NO_HEADER, NO_SUCH_PASSPHRASE));
    }
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
    if (!same && !readOnly) {
      mend();
    }
  }

  /**
   * Lets cryptsetup write the copy of the header that was lost in a crash, as it does whenever it
   * reads a device.
   */
  void mend() {
    Command.Result result =
        Command.of("cryptsetup", "luksDump").with(Argument.path(device)).within(TIME).tryRun();
    LOG.info(
        "volume {}: its two headers differed, and cryptsetup was to mend that: exit code {}",
        volumeId,
        result.exitCode());
  }

  /** Grows the decrypted device to the size of the device below. */
  void resize() {
    try (HeaderCopy header = header()) {
      Command.of("cryptsetup", "resize", "--header").with(header.path(), name()).within(TIME).run();
    }
  }

  private Argument name() {
    return Argument.of("the decrypted device", LuksDevices.nameOf(volumeId));
  }

  /** With a passphrase as its input, and the time that Argon2 takes. */
  static Command run(Command command, Passphrase passphrase) {
    byte[] bytes = passphrase.bytes();
    try {
      return command.within(TIME).input(bytes);
    } finally {
      Arrays.fill(bytes, (byte) 0);
    }
  }
}
