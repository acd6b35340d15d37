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
      Map.of(
          "io.cephcsi.driver.Outsider",
          "public class Outsider { long a = io.cephcsi.bindings.internal.NativeMemory.getInt(0); }",
          "io.cephcsi.bindings.rados.JnaUser",
          "class JnaUser { com.sun.jna.Memory memory; }",
          "io.cephcsi.bindings.rados.WideHandle",
          "class WideHandle { com.sun.jna.Memory memory; com.sun.jna.Pointer pointer; }",
          "io.cephcsi.bindings.internal.InternalRadosJavaUser",
          "class InternalRadosJavaUser { com.ceph.rados.Rados rados; }",
          "io.cephcsi.bindings.rados.JnaShower",
          "public class JnaShower {"
              + " public java.util.List<com.sun.jna.Pointer> show() { return null; } }",
          "io.cephcsi.bindings.rados.StringUtils",
          "class StringUtils {}",
          "io.cephcsi.bindings.error.KnowingError",
          "class KnowingError { io.cephcsi.bindings.rados.RadosCluster cluster; }",
          "io.cephcsi.bindings.rados.RbdUser",
          "class RbdUser { io.cephcsi.bindings.rbd.Planted image; }",
          "io.cephcsi.bindings.rbd.Planted",
          "public class Planted {}",
          "io.cephcsi.bindings.internal.InternalRadosUser",
          "class InternalRadosUser { io.cephcsi.bindings.rados.RadosCluster cluster; }");

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
