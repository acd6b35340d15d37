package io.cephcsi.driver.app;

import io.cephcsi.driver.rbd.image.ImageLabels;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.driver.volume.VolumeException;
import picocli.CommandLine.Option;

/**
 * Options about clones of RBD images, and what is written on images; their names are ceph-csi's.
 */
final class CloneOptions {
  @Option(
      names = "--rbdhardmaxclonedepth",
      paramLabel = "N",
      description = "a clone with more ancestors is refused until one of them is flattened")
  private int hardDepth = CloneLimits.DEFAULT.hardDepth();

  @Option(
      names = "--rbdsoftmaxclonedepth",
      paramLabel = "N",
      description = "a clone with more ancestors has one of them flattened in the background")
  private int softDepth = CloneLimits.DEFAULT.softDepth();

  @Option(
      names = "--maxsnapshotsonimage",
      paramLabel = "N",
      description = "an image gets no more snapshots than this until clones are flattened")
  private int maxSnapshots = CloneLimits.DEFAULT.maxSnapshots();

  @Option(
      names = "--minsnapshotsonimage",
      paramLabel = "N",
      description = "an image with more snapshots has its oldest clones flattened")
  private int minSnapshots = CloneLimits.DEFAULT.minSnapshots();

  @Option(
      names = "--setmetadata",
      arity = "0..1",
      fallbackValue = "true",
      paramLabel = "BOOL",
      description = "write the Kubernetes names of volumes and snapshots on their images")
  private boolean setMetadata;

  @Option(
      names = "--clustername",
      paramLabel = "NAME",
      description = "name of the Kubernetes cluster, written on images with --setmetadata")
  private String clusterName = "";

  CloneLimits limits() {
    try {
      return new CloneLimits(hardDepth, softDepth, maxSnapshots, minSnapshots);
    } catch (VolumeException e) {
      throw new ConfigException(String.valueOf(e.getMessage()), e);
    }
  }

  ImageLabels labels() {
    return new ImageLabels(setMetadata, clusterName);
  }
}
