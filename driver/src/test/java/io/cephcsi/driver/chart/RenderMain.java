package io.cephcsi.driver.chart;

import com.marcnuri.helm.Helm;
import com.marcnuri.helm.TemplateCommand;
import java.nio.file.Path;

/** Renders a chart for {@code ci/manifests}, which runs this file as it is. */
final class RenderMain {
  private RenderMain() {}

  /**
   * Prints the manifests.
   *
   * @param args folder of the chart, name and namespace of the release, version of Kubernetes,
   *     files of values
   */
  public static void main(String[] args) {
    TemplateCommand command =
        new Helm(Path.of(args[0]))
            .template()
            .withName(args[1])
            .withNamespace(args[2])
            .withKubeVersion(args[3]);
    for (int i = 4; i < args.length; i++) {
      command.withValuesFile(Path.of(args[i]));
    }
    try {
      System.out.print(command.call());
    } catch (IllegalStateException e) {
      System.err.println(e.getMessage());
      System.exit(1);
    }
  }
}
