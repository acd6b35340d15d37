package io.cephcsi.driver.crash;

import static net.bytebuddy.matcher.ElementMatchers.isPublic;
import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.namedOneOf;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;

import java.lang.instrument.Instrumentation;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.matcher.ElementMatcher;

/**
 * A Java agent that halts the driver's process before or after its N-th write to the cluster: the
 * product has no code for it. Arguments: {@code before|after,N,prefix of the thread's name}.
 */
public final class FaultAgent {
  private static final String BINDINGS = "io.cephcsi.bindings.";

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
            namedOneOf("create", "cloneImage", "restoreFromTrash", "removeFromTrash", "remove"));
    // The other moveToTrash is made of writes that count one by one.
    agent =
        wrap(
            agent,
            "rbd.RbdPool",
            named("moveToTrash").and(takesArgument(1, named("java.time.Duration"))));
    agent = wrap(agent, "rbd.ImageSnapshots", namedOneOf("create", "remove"));
    agent = wrap(agent, "rbd.RbdImage", namedOneOf("resize", "flatten"));
    agent = wrap(agent, "rbd.ImageMetadata", namedOneOf("set", "remove"));
    agent.installOn(instrumentation);
  }

  private static AgentBuilder wrap(
      AgentBuilder agent, String type, ElementMatcher<? super MethodDescription> methods) {
    return agent
        .type(named(BINDINGS + type))
        .transform(
            (builder, description, loader, module, domain) ->
                builder.visit(Advice.to(FaultPoint.class).on(isPublic().and(methods))));
  }
}
