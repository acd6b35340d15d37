package io.cephcsi.driver.kms;

import io.cephcsi.driver.volume.VolumeException;
import java.util.Map;
import java.util.Optional;

/**
 * Whose passphrase is meant, and by which secrets.
 *
 * @param volumeId the identifier of a volume or snapshot
 * @param tenant the namespace of the claim; empty when it is not known
 * @param secrets those of the request; empty when it has none
 */
public record KeyOwner(String volumeId, Optional<String> tenant, Map<String, String> secrets) {
  /** Copies the secrets. */
  public KeyOwner {
    secrets = Map.copyOf(secrets);
  }

  /**
   * The namespace of the claim.
   *
   * @param section what needs it, for the message
   * @param otherwise what else an administrator may do; empty if nothing
   * @throws VolumeException INVALID_ARGUMENT when it is not known
   */
  String requireTenant(String section, String otherwise) {
    return tenant
        .filter(name -> !name.isEmpty())
        .orElseThrow(
            () ->
                VolumeException.invalid(
                    section
                        + " is by tenant, and the namespace of the claim of "
                        + volumeId
                        + " is not known: "
                        + otherwise
                        + "run csi-provisioner with --extra-create-metadata"));
  }

  /** The same for another volume or snapshot, as for a copy. */
  public KeyOwner of(String otherId) {
    return new KeyOwner(otherId, tenant, secrets);
  }

  /** Without the secrets. */
  @Override
  public String toString() {
    return "key of " + volumeId + tenant.map(name -> " (tenant " + name + ")").orElse("");
  }
}
