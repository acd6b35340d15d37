package io.cephcsi.driver.grpc;

import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotationProto;
import io.cephcsi.proto.addons.fence.FenceProto;
import io.cephcsi.proto.addons.identity.IdentityProto;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceProto;
import io.cephcsi.proto.addons.replication.ReplicationProto;
import io.cephcsi.proto.addons.volumegroup.VolumeGroupProto;
import io.cephcsi.proto.csi.v1.CsiProto;
import java.util.List;

/**
 * The methods of CSI and CSI-Addons by name. They come from the compiled descriptors, so that
 * drivers without the reflection service can be called too.
 */
public final class MethodCatalog {
  private static final List<MethodDescriptor> METHODS =
      List.of(
              CsiProto.getDescriptor(),
              IdentityProto.getDescriptor(),
              ReclaimSpaceProto.getDescriptor(),
              VolumeGroupProto.getDescriptor(),
              ReplicationProto.getDescriptor(),
              FenceProto.getDescriptor(),
              EncryptionKeyRotationProto.getDescriptor())
          .stream()
          .map(FileDescriptor::getServices)
          .flatMap(List::stream)
          .flatMap(service -> service.getMethods().stream())
          .toList();

  private MethodCatalog() {}

  /** The names of all methods, as {@code csi.v1.Controller/CreateVolume}. */
  public static List<String> names() {
    return METHODS.stream().map(MethodCatalog::name).toList();
  }

  /**
   * Finds a method by its full name, or by as much of its end as is clear: {@code CreateVolume},
   * {@code Controller/CreateVolume}.
   *
   * @throws IllegalArgumentException when no method, or more than one, has the name
   */
  public static MethodDescriptor find(String name) {
    List<MethodDescriptor> found =
        METHODS.stream()
            .filter(
                method -> {
                  String full = name(method);
                  return full.equals(name)
                      || full.endsWith("/" + name)
                      || full.endsWith("." + name);
                })
            .toList();
    if (found.isEmpty()) {
      throw new IllegalArgumentException("method " + name + " is not known");
    }
    if (found.size() > 1) {
      throw new IllegalArgumentException(
          "method "
              + name
              + " is not clear: "
              + String.join(" or ", found.stream().map(MethodCatalog::name).toList()));
    }
    return found.get(0);
  }

  static String name(MethodDescriptor method) {
    return method.getService().getFullName() + "/" + method.getName();
  }
}
