package io.cephcsi.driver.crash;

import static net.bytebuddy.matcher.ElementMatchers.isPublic;
import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.namedOneOf;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;

import io.cephcsi.testing.Commands;
import io.cephcsi.testing.LocalCluster;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.dynamic.scaffold.InstrumentedType;
import net.bytebuddy.dynamic.scaffold.TypeValidation;
import net.bytebuddy.matcher.ElementMatcher;
import net.bytebuddy.pool.TypePool;

/**
 * The driver's program, made to end before or after its N-th write to the cluster, or step on the
 * node, and to take {@link MappedDevices} for real: the product has no code for it. A copy of the
 * distribution with a {@link FaultPoint} in each such method and an archive of its classes, made
 * once by each JVM. An agent would do it in each process anew, and without the archive: each start
 * would take a second longer.
 */
public final class FaultyProgram {
  private static final Path ORIGINAL = LocalCluster.root().resolve("driver/target/ceph-csi");
  private static final String BINDINGS = "io.cephcsi.bindings.";
  private static final String NODE = "io.cephcsi.driver.node.";
  private static final Map<String, ElementMatcher.Junction<MethodDescription>> WRITES = writes();

  private static final class Holder {
    private static final Path HOME = make();
  }

  private FaultyProgram() {}

  /** The program. */
  public static Path program() {
    return Holder.HOME.resolve("bin/ceph-csi");
  }

  /** Its jars, for another main class. */
  public static String classPath() {
    return Holder.HOME.resolve("lib") + "/*";
  }

  /**
   * The option of the JVM that says where it ends.
   *
   * @param fault {@code before|after,N,prefix of the thread's name}, and a folder whose servers are
   *     killed in place of the process; with {@code before-stop|after-stop} the process is stopped
   *     (SIGSTOP) instead, with {@code before-step|after-step} at the N-th and each one after it,
   *     and with {@code pause:folder} in the place of the folder the thread waits there for a file
   */
  public static String option(String fault) {
    return "-D" + FaultPoint.PROPERTY + "=" + fault;
  }

  private static Map<String, ElementMatcher.Junction<MethodDescription>> writes() {
    Map<String, ElementMatcher.Junction<MethodDescription>> writes = new HashMap<>();
    writes.put(
        BINDINGS + "rados.IoContext",
        named("remove")
            .or(
                namedOneOf("operate", "operateVersioned", "operateAsync")
                    .and(takesArgument(1, named(BINDINGS + "rados.WriteOperation")))));
    writes.put(BINDINGS + "rados.RadosCluster", named("mgrCommand"));
    writes.put(
        BINDINGS + "rbd.RbdPool",
        namedOneOf(
                "create",
                "cloneImage",
                "restoreFromTrash",
                "removeFromTrash",
                "remove",
                "createGroup",
                "removeGroup")
            // The other moveToTrash is made of writes that count one by one.
            .or(named("moveToTrash").and(takesArgument(1, named("java.time.Duration")))));
    writes.put(
        BINDINGS + "rbd.RbdGroup",
        namedOneOf(
            "addImage", "removeImage", "removeImageById", "createSnapshot", "removeSnapshot"));
    writes.put(BINDINGS + "rbd.ImageSnapshots", namedOneOf("create", "remove", "removeById"));
    writes.put(BINDINGS + "rbd.RbdImage", namedOneOf("resize", "flatten"));
    writes.put(
        BINDINGS + "rbd.ImageMirror",
        namedOneOf("enable", "disable", "promote", "demote", "resync"));
    writes.put(BINDINGS + "rbd.ImageMetadata", namedOneOf("set", "remove"));
    writes.put(BINDINGS + "linux.OpenFile", namedOneOf("makeFolder", "makeFile", "remove"));
    writes.put(BINDINGS + "linux.FileEncryption", namedOneOf("addKey", "setPolicy"));
    writes.put(NODE + "machine.Command", named("tryRun"));
    writes.put(NODE + "rbd.StagedImage", namedOneOf("write", "remove"));
    return writes;
  }

  private static Path make() {
    try {
      Path home = Files.createTempDirectory("faulty-program");
      Files.createSymbolicLink(home.resolve("conf"), ORIGINAL.resolve("conf"));
      Path bin = Files.createDirectory(home.resolve("bin"));
      for (String script : List.of("ceph-csi", "ceph-csi-archive")) {
        Files.copy(ORIGINAL.resolve("bin").resolve(script), bin.resolve(script));
      }
      Path lib = Files.createDirectory(home.resolve("lib"));
      int changed = 0;
      try (Stream<Path> jars = Files.list(ORIGINAL.resolve("lib"))) {
        for (Path jar : jars.filter(file -> file.toString().endsWith(".jar")).toList()) {
          Path here = lib.resolve(jar.getFileName());
          if (jar.getFileName().toString().startsWith("ceph-csi-")) {
            changed += change(jar, here);
          } else {
            Files.createSymbolicLink(here, jar);
          }
        }
      }
      if (changed != WRITES.size()) {
        throw new IllegalStateException(changed + " of " + WRITES.keySet() + " were found");
      }
      Commands.run(List.of(bin.resolve("ceph-csi-archive").toString()));
      return home;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Copies a jar; how many classes were changed. */
  private static int change(Path jar, Path to) throws IOException {
    int changed = 0;
    try (JarFile from = new JarFile(jar.toFile());
        OutputStream file = Files.newOutputStream(to);
        JarOutputStream out = new JarOutputStream(file)) {
      for (JarEntry entry : from.stream().toList()) {
        out.putNextEntry(new JarEntry(entry.getName()));
        String type = entry.getName().replaceFirst("\\.class$", "").replace('/', '.');
        ElementMatcher.Junction<MethodDescription> writes = WRITES.get(type);
        if (writes != null) {
          out.write(withFaultPoints(type, writes));
          changed++;
        } else if (type.equals(NODE + "machine.Sysfs")) {
          out.write(withMappedDevices(type));
        } else {
          try (InputStream in = from.getInputStream(entry)) {
            in.transferTo(out);
          }
        }
        out.closeEntry();
      }
      if (changed > 0) {
        addFaultPoint(out, jar);
      }
    }
    return changed;
  }

  private static byte[] withFaultPoints(
      String type, ElementMatcher.Junction<MethodDescription> writes) {
    return redefine(type)
        .visit(Advice.to(FaultPoint.class).on(isPublic().and(writes)))
        .make()
        .getBytes();
  }

  private static byte[] withMappedDevices(String type) {
    return redefine(type)
        .visit(Advice.to(MappedDevices.OfText.class).on(named("text")))
        .visit(Advice.to(MappedDevices.OfDirectory.class).on(named("in")))
        .make()
        .getBytes();
  }

  private static DynamicType.Builder<?> redefine(String type) {
    ClassFileLocator classes =
        ClassFileLocator.ForClassLoader.of(FaultyProgram.class.getClassLoader());
    return new ByteBuddy()
        .with(TypeValidation.DISABLED)
        .with(InstrumentedType.Factory.Default.FROZEN)
        .redefine(TypePool.Default.of(classes).describe(type).resolve(), classes);
  }

  private static void addFaultPoint(JarOutputStream out, Path jar) throws IOException {
    if (!jar.getFileName().toString().startsWith("ceph-csi-native-bindings")) {
      return; // the driver's classes find it there
    }
    for (Class<?> point : List.of(FaultPoint.class, MappedDevices.class)) {
      String name = point.getName().replace('.', '/') + ".class";
      out.putNextEntry(new JarEntry(name));
      try (InputStream in = FaultyProgram.class.getClassLoader().getResourceAsStream(name)) {
        in.transferTo(out);
      }
      out.closeEntry();
    }
  }
}
