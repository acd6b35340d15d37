package io.cephcsi.driver.node.rbd;

import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.node.StageRequest;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.DeviceContent;
import io.cephcsi.driver.node.machine.LuksDevices;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.rbd.encryption.ImageKey;
import io.cephcsi.driver.rbd.encryption.VolumeKey;
import io.cephcsi.driver.rbd.session.OpenImage;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the decrypted device of an encrypted volume that is being staged; of another volume, its
 * device is what it is. LUKS is put on an image only if that is certainly blank: this is noted in
 * the image's metadata before, and the note goes when the image is marked as encrypted, so that a
 * format that was cut off is told from everything else. Used by one thread.
 */
final class LuksSetup implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LuksSetup.class);
  private static final String LUKS = "crypto_LUKS";

  /** What LUKS2 takes before the data, unless it is told otherwise. */
  private static final long HEADER = 16L << 20;

  private final StageRequest request;
  private final OpenImage volume;
  private final Optional<Encrypted> encrypted;
  private final Path secrets;

  private record Encrypted(EncryptionRequest wanted, ImageKey key, Passphrase passphrase) {}

  private LuksSetup(
      StageRequest request, OpenImage volume, Optional<Encrypted> encrypted, Path secrets) {
    this.request = request;
    this.volume = volume;
    this.encrypted = encrypted;
    this.secrets = secrets;
  }

  /**
   * Of a volume; the KMS is asked for its passphrase.
   *
   * @param key finds the passphrase of one that is encrypted
   * @param secrets see {@link Cryptsetup}
   * @throws VolumeException as of the KMS; FAILED_PRECONDITION where the image is not encrypted
   */
  static LuksSetup of(
      StageRequest request,
      OpenImage volume,
      Function<EncryptionRequest, VolumeKey> key,
      Path secrets) {
    return new LuksSetup(
        request,
        volume,
        EncryptionRequest.parse("volume_context", request.context())
            .filter(EncryptionRequest::isOfBlocks)
            .map(
                wanted -> {
                  Cryptsetup.requireInstalled();
                  ImageKey found = (ImageKey) key.apply(wanted);
                  return new Encrypted(wanted, found, found.fetch());
                }),
        secrets);
  }

  /**
   * Requires that the decrypted device can be named after a volume, if that gets one.
   *
   * @throws VolumeException INVALID_ARGUMENT if it cannot
   */
  static void requireNameable(StageRequest request) {
    if (EncryptionRequest.parse("volume_context", request.context())
        .filter(EncryptionRequest::isOfBlocks)
        .isPresent()) {
      LuksDevices.requireNameable(request.volumeId());
    }
  }

  boolean isEncrypted() {
    return encrypted.isPresent();
  }

  /**
   * What is shown to workloads.
   *
   * @param path of the device
   * @param header how many bytes of the image lie before it
   */
  record Shown(Path path, long header) {}

  /**
   * Opens the volume, which gets LUKS before if it is new.
   *
   * @param device of the image
   */
  Shown open(Path device, Operation operation) {
    if (encrypted.isEmpty()) {
      return new Shown(device, 0);
    }
    Encrypted of = encrypted.get();
    Cryptsetup cryptsetup = new Cryptsetup(request.volumeId(), device, secrets);
    Optional<Path> opened = LuksDevices.find(request.volumeId());
    if (opened.isPresent()) {
      requireOn(device, opened.get());
      if (!request.use().readOnly()) {
        cryptsetup.resize(); // the image may have grown since a call that died
      }
      return shown(device, opened.get());
    }
    operation.phase("look at the encryption");
    switch (of.key().state()) {
      case NONE ->
          throw refused(
              "is to be encrypted, and its image is not: nothing of its metadata says so");
      case PREPARED -> {
        if (!request.use().readOnly()) {
          complete(of, cryptsetup, operation);
        }
      }
      case ENCRYPTED -> {}
    }
    operation.phase("decrypt");
    cryptsetup.open(of.passphrase(), request.use().readOnly(), of.wanted().allowDiscards());
    Path mapped =
        LuksDevices.find(request.volumeId())
            .orElseThrow(() -> refused("was opened, and has no decrypted device"));
    requireOn(device, mapped);
    return shown(device, mapped);
  }

  private static Shown shown(Path device, Path mapped) {
    return new Shown(
        mapped, BlockDevice.require(device).size() - BlockDevice.require(mapped).size());
  }

  private void requireOn(Path device, Path mapped) {
    boolean same =
        LuksDevices.below(mapped)
            .flatMap(BlockDevice::at)
            .map(BlockDevice::number)
            .equals(BlockDevice.at(device).map(BlockDevice::number));
    if (!same) {
      throw refused("has the decrypted device " + mapped + ", which lies on another device");
    }
  }

  /** Sees to it that the image has LUKS that its passphrase opens, and notes that. */
  private void complete(Encrypted of, Cryptsetup cryptsetup, Operation operation) {
    cryptsetup.awaitOthers();
    String kind = DeviceContent.of(cryptsetup.device());
    boolean begun = FormatNote.isOf(volume, of.key().imageId(), FormatNote.LUKS);
    boolean complete = kind.equals(LUKS) && cryptsetup.isOpenedBy(of.passphrase());
    if (!complete) {
      if (!kind.isEmpty() && !(kind.equals(LUKS) && begun)) {
        throw refused(
            kind.equals(LUKS)
                ? "has LUKS that its passphrase in the KMS does not open; nothing was changed"
                : "is to be encrypted, and holds " + kind + ", which is never overwritten");
      }
      requireBlank(begun);
      if (request.use().shared()) {
        throw refused(
            "is new, and several nodes may use it at once: stage it once with an access mode of a"
                + " single node, which encrypts it");
      }
      if (BlockDevice.require(cryptsetup.device()).size() <= HEADER) {
        throw refused("has no room: LUKS takes " + HEADER + " bytes of it; make it larger");
      }
      FormatNote.write(volume, of.key().imageId(), FormatNote.LUKS);
      operation.phase("encrypt");
      LOG.info("volume {}: putting LUKS2 on its image, which is blank", request.volumeId());
      cryptsetup.format(of.wanted(), of.passphrase());
    }
    of.key().markEncrypted();
    FormatNote.remove(volume, of.key().imageId());
  }

  /** Where a format was begun, its header may be there in part, and nothing else. */
  private void requireBlank(boolean begun) {
    try (RbdImage image = volume.openReadOnly()) {
      BlankProof.objection(image, begun ? HEADER : 0)
          .ifPresent(
              why -> {
                throw refused("is not encrypted, as it may hold data: " + why);
              });
    }
  }

  private VolumeException refused(String why) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION, "volume " + request.volumeId() + " " + why);
  }

  @Override
  public void close() {
    encrypted.ifPresent(of -> of.passphrase().close());
  }
}
