package io.cephcsi.bindings;

import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Classes that break the rules of {@link ArchitectureTest}, one each. */
final class Offenders {
  private static final Map<String, String> SOURCES =
      Map.ofEntries(
          Map.entry(
              "io.cephcsi.driver.Outsider",
              "public class Outsider {"
                  + " long a = io.cephcsi.bindings.internal.NativeMemory.getInt(0); }"),
          Map.entry(
              "io.cephcsi.bindings.rados.JnaUser", "class JnaUser { com.sun.jna.Memory memory; }"),
          Map.entry(
              "io.cephcsi.bindings.rados.WideHandle",
              "class WideHandle { com.sun.jna.Memory memory; com.sun.jna.Pointer pointer; }"),
          Map.entry(
              "io.cephcsi.bindings.internal.InternalRadosJavaUser",
              "class InternalRadosJavaUser { com.ceph.rados.Rados rados; }"),
          Map.entry(
              "io.cephcsi.bindings.rados.JnaShower",
              "public class JnaShower {"
                  + " public java.util.List<com.sun.jna.Pointer> show() { return null; } }"),
          Map.entry("io.cephcsi.bindings.rados.StringUtils", "class StringUtils {}"),
          Map.entry(
              "io.cephcsi.bindings.error.KnowingError",
              "class KnowingError { io.cephcsi.bindings.rados.RadosCluster cluster; }"),
          Map.entry(
              "io.cephcsi.bindings.rados.RbdUser",
              "class RbdUser { io.cephcsi.bindings.rbd.Planted image; }"),
          Map.entry("io.cephcsi.bindings.rbd.Planted", "public class Planted {}"),
          Map.entry(
              "io.cephcsi.bindings.internal.InternalRadosUser",
              "class InternalRadosUser { io.cephcsi.bindings.rados.RadosCluster cluster; }"),
          Map.entry(
              "io.cephcsi.bindings.rbd.ClsUser",
              "class ClsUser { io.cephcsi.bindings.cls.PlantedClass header; }"),
          Map.entry("io.cephcsi.bindings.cls.PlantedClass", "public class PlantedClass {}"),
          Map.entry(
              "io.cephcsi.bindings.rbd.ClassCaller",
              "class ClassCaller { io.cephcsi.bindings.rados.ClassCall call; }"),
          Map.entry(
              "io.cephcsi.bindings.cls.InternalUser",
              "class InternalUser {"
                  + " long a = io.cephcsi.bindings.internal.NativeMemory.getInt(0); }"));

  private Offenders() {}

  /** Compiles them into a folder; they have to lie in packages of the main code. */
  static void compile(Path folder) {
    List<JavaFileObject> sources = new ArrayList<>();
    SOURCES.forEach((name, body) -> sources.add(new Source(name, body)));
    List<String> options =
        List.of(
            "-d",
            folder.toString(),
            "-proc:none",
            "-classpath",
            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    if (!compiler.getTask(null, null, null, options, null, sources).call()) {
      throw new IllegalStateException("the classes that break the rules do not compile");
    }
  }

  private static final class Source extends SimpleJavaFileObject {
    private final String text;

    Source(String name, String body) {
      super(URI.create("string:///" + name.replace('.', '/') + ".java"), Kind.SOURCE);
      text = "package " + name.substring(0, name.lastIndexOf('.')) + ";\n" + body;
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return text;
    }
  }
}
