package io.cephcsi.driver.crash;

import static net.bytebuddy.matcher.ElementMatchers.isPublic;
import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.namedOneOf;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.IllegalClassFormatException;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.matcher.ElementMatcher;

/**
 * A Java agent that halts the driver's process before or after its N-th write to the cluster, or
 * step on the node: the product has no code for it. Arguments: {@code before|after,N,prefix of the
 * thread's name}, and a folder whose servers are killed in place of the process; with {@code
 * before-stop|after-stop} the process is stopped (SIGSTOP) instead, and with {@code pause:folder}
 * in the place of the folder the thread waits there for a file.
 */
public final class FaultAgent {
  private static final String BINDINGS = "io.cephcsi.bindings.";
  private static final String NODE = "io.cephcsi.driver.node.";

  private FaultAgent() {}

  /** Called by the JVM before main. */
  public static void premain(String arguments, Instrumentation instrumentation) {
    FaultPoint.arm(arguments.split(",", -1));
    AgentBuilder agent = new AgentBuilder.Default().disableClassFormatChanges();
    agent =
        wrap(
            agent,
            "rados.IoContext",
            namedOneOf("operate", "operateVersioned", "operateAsync")
                .and(takesArgument(1, named(BINDINGS + "rados.WriteOperation"))));
    agent = wrap(agent, "rados.IoContext", named("remove"));
    agent = wrap(agent, "rados.RadosCluster", named("mgrCommand"));
    agent =
        wrap(
            agent,
            "rbd.RbdPool",
            namedOneOf(
                "create",
                "cloneImage",
                "restoreFromTrash",
                "removeFromTrash",
                "remove",
                "createGroup",
                "removeGroup"));
    agent =
        wrap(
            agent,
            "rbd.RbdGroup",
            namedOneOf(
                "addImage", "removeImage", "removeImageById", "createSnapshot", "removeSnapshot"));
    // The other moveToTrash is made of writes that count one by one.
    agent =
        wrap(
            agent,
            "rbd.RbdPool",
            named("moveToTrash").and(takesArgument(1, named("java.time.Duration"))));
    agent = wrap(agent, "rbd.ImageSnapshots", namedOneOf("create", "remove", "removeById"));
    agent = wrap(agent, "rbd.RbdImage", namedOneOf("resize", "flatten"));
    agent =
        wrap(
            agent,
            "rbd.ImageMirror",
            namedOneOf("enable", "disable", "promote", "demote", "resync"));
    agent = wrap(agent, "rbd.ImageMetadata", namedOneOf("set", "remove"));
    agent = wrap(agent, "linux.OpenFile", namedOneOf("makeFolder", "makeFile", "remove"));
    agent = wrap(agent, "linux.FileEncryption", namedOneOf("addKey", "setPolicy"));
    agent = wrapType(agent, NODE + "machine.Command", named("tryRun"));
    agent = wrapType(agent, NODE + "rbd.StagedImage", namedOneOf("write", "remove"));
    instrumentation.addTransformer(new OursOnly(agent.makeRaw()));
  }

  /**
   * Keeps Byte Buddy away from all classes but the driver's. Were it called while the JVM loads a
   * class that it uses itself, ThreadLocalRandom say, the JVM would take this for a circle.
   */
  record OursOnly(ClassFileTransformer transformer) implements ClassFileTransformer {
    @Override
    public byte[] transform(
        Module module,
        ClassLoader loader,
        String name,
        Class<?> redefined,
        ProtectionDomain domain,
        byte[] bytes)
        throws IllegalClassFormatException {
      return name != null && name.startsWith("io/cephcsi/")
          ? transformer.transform(module, loader, name, redefined, domain, bytes)
          : null;
    }
  }

  private static AgentBuilder wrap(
      AgentBuilder agent, String type, ElementMatcher<? super MethodDescription> methods) {
    return wrapType(agent, BINDINGS + type, methods);
  }

  private static AgentBuilder wrapType(
      AgentBuilder agent, String type, ElementMatcher<? super MethodDescription> methods) {
    return agent
        .type(named(type))
        .transform(
            (builder, description, loader, module, domain) ->
                builder.visit(Advice.to(FaultPoint.class).on(isPublic().and(methods))));
  }
}
