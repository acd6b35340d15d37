package io.cephcsi.driver;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.GeneralCodingRules.ACCESS_STANDARD_STREAMS;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.testing.LocalCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The import rules of the design: down only. */
class ArchitectureTest {
  private static final String ROOT = "io.cephcsi.driver";
  private static final int MAX_LINES = 400;

  /** From the top down; a package imports its own layer's and lower ones. */
  private static final List<Set<String>> LAYERS =
      List.of(
          Set.of("cli"),
          Set.of("app"),
          Set.of("csi", "csiaddons", "grpc"),
          Set.of("rbd", "cephfs", "reclaim", "node", "fsck", "fence"),
          Set.of("journal", "tracker", "operation", "cluster", "kms", "encryption"),
          Set.of("metrics", "http", "plot", "profile"),
          Set.of("volume"));

  /** As {@link #LAYERS}, below rbd; a package imports lower layers only. */
  private static final List<Set<String>> RBD_LAYERS =
      List.of(
          Set.of("group", "list", "diff", "mirror"),
          Set.of("volume"),
          Set.of("snapshot"),
          Set.of("session"),
          Set.of("background", "parameters"),
          Set.of("image", "encryption"));

  /** As {@link #RBD_LAYERS}, below node; the node itself is the empty name. */
  private static final List<Set<String>> NODE_LAYERS =
      List.of(
          Set.of(".rbd", ".cephfs"), Set.of(".attach"), Set.of(""), Set.of(".machine", ".fscrypt"));

  private static final JavaClasses DRIVER =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages(ROOT);

  @Test
  void everyPackageHasItsLayer() {
    Set<String> known = LAYERS.stream().flatMap(Set::stream).collect(Collectors.toSet());
    Set<String> found =
        DRIVER.stream().map(ArchitectureTest::top).collect(Collectors.toCollection(TreeSet::new));
    assertThat(found)
        .contains("cli", "app", "csi", "grpc", "rbd", "journal", "volume"); // not vacuous
    assertThat(known).as("a new package: say here which layer it belongs to").containsAll(found);
  }

  /** The first package below the root; reclaim for io.cephcsi.driver.reclaim.fs. */
  private static String top(JavaClass type) {
    return type.getPackageName().substring(ROOT.length() + 1).split("\\.", -1)[0];
  }

  @Test
  void importsGoDownOnly() {
    for (int layer = 1; layer < LAYERS.size(); layer++) {
      String[] higher =
          LAYERS.subList(0, layer).stream()
              .flatMap(Set::stream)
              .map(ArchitectureTest::packages)
              .toArray(String[]::new);
      String[] these =
          LAYERS.get(layer).stream().map(ArchitectureTest::packages).toArray(String[]::new);
      check(
          noClasses()
              .that()
              .resideInAnyPackage(these)
              .should()
              .dependOnClassesThat()
              .resideInAnyPackage(higher));
    }
  }

  private static String packages(String name) {
    return ROOT + "." + name + "..";
  }

  @Test
  void thePackagesOfRbdImportLowerLayersOnly() {
    Set<String> known = RBD_LAYERS.stream().flatMap(Set::stream).collect(Collectors.toSet());
    Set<String> found =
        DRIVER.stream()
            .map(JavaClass::getPackageName)
            .filter(name -> name.startsWith(ROOT + ".rbd."))
            .map(name -> name.substring(ROOT.length() + ".rbd.".length()))
            .collect(Collectors.toSet());
    assertThat(found).isEqualTo(known);
    for (int layer = 0; layer < RBD_LAYERS.size(); layer++) {
      for (String name : RBD_LAYERS.get(layer)) {
        String[] others =
            RBD_LAYERS.subList(0, layer + 1).stream()
                .flatMap(Set::stream)
                .filter(other -> !other.equals(name))
                .map(other -> packages("rbd." + other))
                .toArray(String[]::new);
        check(
            noClasses()
                .that()
                .resideInAPackage(packages("rbd." + name))
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(others));
      }
    }
  }

  @Test
  void thePackagesOfTheNodeImportLowerLayersOnly() {
    String node = ROOT + ".node";
    Set<String> known = NODE_LAYERS.stream().flatMap(Set::stream).collect(Collectors.toSet());
    Set<String> found =
        DRIVER.stream()
            .map(JavaClass::getPackageName)
            .filter(name -> name.equals(node) || name.startsWith(node + "."))
            .map(name -> name.substring(node.length()))
            .collect(Collectors.toSet());
    assertThat(found).isEqualTo(known);
    for (int layer = 0; layer < NODE_LAYERS.size(); layer++) {
      for (String name : NODE_LAYERS.get(layer)) {
        String[] others =
            NODE_LAYERS.subList(0, layer + 1).stream()
                .flatMap(Set::stream)
                .filter(other -> !other.equals(name))
                .map(other -> node + other)
                .toArray(String[]::new);
        check(
            noClasses()
                .that()
                .resideInAPackage(node + name)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(others));
      }
    }
  }

  @Test
  void cephFsOnTheNodeKnowsNoAttacher() {
    check(
        noClasses()
            .that()
            .resideInAPackage(packages("node.cephfs"))
            .should()
            .dependOnClassesThat()
            .resideInAPackage(packages("node.attach")));
  }

  @Test
  void volumeImportsNothingOfTheProject() {
    check(
        noClasses()
            .that()
            .resideInAPackage(packages("volume"))
            .should()
            .dependOnClassesThat(
                resideInAPackage("io.cephcsi..")
                    .and(DescribedPredicate.not(resideInAPackage(packages("volume"))))));
  }

  @Test
  void theServerUnderTheServicesDoesNotKnowThem() {
    check(
        noClasses()
            .that()
            .resideInAPackage(packages("grpc"))
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(packages("csi"), packages("csiaddons")));
    check(
        noClasses()
            .that()
            .resideInAPackage(packages("csi"))
            .should()
            .dependOnClassesThat()
            .resideInAPackage(packages("csiaddons")));
  }

  @Test
  void rbdAndCephFsNeverImportEachOther() {
    check(
        noClasses()
            .that()
            .resideInAPackage(packages("rbd"))
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(packages("cephfs"), "io.cephcsi.bindings.cephfs.."));
    check(
        noClasses()
            .that()
            .resideInAPackage(packages("cephfs"))
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                packages("rbd"), "io.cephcsi.bindings.rbd..", "io.cephcsi.bindings.cls.."));
  }

  @Test
  void protobufStopsInTheServices() {
    check(
        noClasses()
            .that()
            .resideOutsideOfPackages(
                packages("csi"),
                packages("csiaddons"),
                packages("grpc"),
                packages("app"),
                packages("cli"))
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.cephcsi.proto..", "com.google.protobuf.."));
  }

  @Test
  void grpcStopsInTheServicesAndItsStatusInTheServer() {
    check(
        noClasses()
            .that()
            .resideOutsideOfPackages(
                packages("csi"),
                packages("csiaddons"),
                packages("grpc"),
                packages("app"),
                packages("cli"))
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.grpc..", "io.netty.."));
    check(
        noClasses()
            .that()
            .resideOutsideOfPackage(packages("grpc"))
            .should()
            .dependOnClassesThat()
            .haveFullyQualifiedName("io.grpc.Status"));
  }

  @Test
  void nativeAccessStaysInTheBindings() {
    check(
        noClasses()
            .should()
            .dependOnClassesThat(
                resideInAnyPackage(
                    "com.sun.jna..", "com.ceph..", "io.cephcsi.bindings.internal..")));
  }

  /** Java takes everything that is not "true" for false: Booleans refuses what is not clear. */
  @Test
  void nobodyReadsBooleansLeniently() {
    for (String method : List.of("parseBoolean", "valueOf", "getBoolean")) {
      check(noClasses().should().callMethod(Boolean.class, method, String.class));
    }
  }

  /** What the manager and the monitors are told is checked in one place. */
  @Test
  void commandsAreSentByOneClass() {
    for (String method : List.of("mgrCommand", "monCommand")) {
      check(
          noClasses()
              .that()
              .doNotHaveSimpleName("CephCommand")
              .should()
              .callMethod(RadosCluster.class, method, String.class));
    }
    check(
        noClasses()
            .that()
            .doNotHaveSimpleName("CephCommand")
            .should()
            .callMethod(RadosCluster.class, "osdCommand", int.class, String.class));
  }

  /** What is not recorded, no process can end after this one was killed. */
  @Test
  void everyMountIsRecorded() {
    check(
        noClasses()
            .that()
            .doNotHaveSimpleName("RecordedMount")
            .should()
            .callMethodWhere(
                describe(
                    "a mount is made",
                    call ->
                        call.getTargetOwner().isEquivalentTo(CephFsMount.class)
                            && call.getName().equals("mount"))));
  }

  /**
   * The rest resolves a path again and again, and follows links on its way: in a volume, which its
   * user changes meanwhile, files are reached by OpenFile only.
   */
  @Test
  void theNodeWalksNoTreeAndGivesNoFileAwayByItsPath() {
    Set<String> allowed =
        Set.of(
            "createDirectories",
            "createDirectory",
            "createFile",
            "deleteIfExists",
            "exists",
            "getAttribute",
            "getFileStore",
            "isDirectory",
            "isExecutable",
            "isRegularFile",
            "isSymbolicLink",
            "isWritable",
            "lines",
            "list",
            "move",
            "newByteChannel",
            "newDirectoryStream",
            "readAllBytes",
            "readAllLines",
            "readAttributes",
            "size",
            "write",
            "writeString");
    check(
        noClasses()
            .that()
            .resideInAPackage(packages("node"))
            .should()
            .accessTargetWhere(
                DescribedPredicate.<JavaAccess<?>>describe(
                    "a method of Files that is not allowed here",
                    access ->
                        access.getTargetOwner().isEquivalentTo(Files.class)
                            && !allowed.contains(access.getName()))));
  }

  @Test
  void picocliStopsInTheCommandLine() {
    check(
        noClasses()
            .that()
            .resideOutsideOfPackage(packages("cli"))
            .should()
            .dependOnClassesThat()
            .resideInAPackage("picocli.."));
  }

  @Test
  void servicesDoNotKnowTheJournal() {
    check(
        noClasses()
            .that()
            .resideInAnyPackage(packages("csi"), packages("csiaddons"))
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(packages("journal"), packages("tracker")));
  }

  @Test
  void noPackageIsADrawerForEverything() {
    check(
        classes()
            .should()
            .resideOutsideOfPackages(
                "..util..", "..utils..", "..common..", "..helper..", "..misc.."));
  }

  @Test
  void nobodyPrintsToTheStandardStreams() {
    check(
        noClasses()
            .that(DescribedPredicate.not(resideInAPackage(packages("cli"))).or(notMain()))
            .should(ACCESS_STANDARD_STREAMS));
  }

  /** The program itself says on stderr why it ends. */
  private static DescribedPredicate<JavaClass> notMain() {
    return DescribedPredicate.describe(
        "are not the program itself", type -> !type.getSimpleName().equals("DriverMain"));
  }

  @Test
  void theRulesSeeTheCode() {
    assertThat(DRIVER.size()).isGreaterThan(40);
  }

  @Test
  void noSourceFileHasMoreThan400Lines() throws IOException {
    Path sources = LocalCluster.root().resolve("driver/src/main/java");
    try (Stream<Path> files = Files.walk(sources)) {
      List<String> tooLong =
          files
              .filter(file -> file.toString().endsWith(".java"))
              .filter(file -> lines(file) > MAX_LINES)
              .map(file -> sources.relativize(file) + " has " + lines(file) + " lines")
              .sorted()
              .toList();
      assertThat(tooLong).isEmpty();
    }
  }

  private static long lines(Path file) {
    try (Stream<String> lines = Files.lines(file)) {
      return lines.count();
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  private static void check(ArchRule rule) {
    rule.allowEmptyShould(true).check(DRIVER);
  }
}
