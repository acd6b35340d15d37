package io.cephcsi.driver.profile;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import io.cephcsi.testing.LocalCluster;
import java.io.IOException;
import java.nio.file.Path;
import java.text.ParseException;
import java.util.List;
import java.util.Map;
import jdk.jfr.Configuration;
import jdk.jfr.Event;
import jdk.jfr.Name;
import org.junit.jupiter.api.Test;

/** The settings that are delivered with the driver. */
class SettingsTest {
  private static Map<String, String> settings() throws IOException, ParseException {
    Path file = LocalCluster.root().resolve("driver/src/main/dist/conf/ceph-csi.jfc");
    return Configuration.create(file).getSettings();
  }

  @Test
  void everyEventOfTheProjectIsOn() throws IOException, ParseException {
    List<String> names =
        new ClassFileImporter()
            .importPackages("io.cephcsi.driver.profile", "io.cephcsi.bindings.profile").stream()
                .filter(type -> type.isAssignableTo(Event.class))
                .filter(type -> type.isAnnotatedWith(Name.class))
                .map(type -> type.getAnnotationOfType(Name.class).value())
                .toList();
    assertThat(names).hasSize(6);
    Map<String, String> settings = settings();
    assertThat(names).allMatch(name -> "true".equals(settings.get(name + "#enabled")));
  }

  @Test
  void whatMayHoldSecretsIsOff() throws IOException, ParseException {
    assertThat(settings())
        .containsEntry("jdk.InitialEnvironmentVariable#enabled", "false")
        .containsEntry("jdk.InitialSystemProperty#enabled", "false")
        .containsEntry("jdk.InitialSecurityProperty#enabled", "false")
        .containsEntry("jdk.SystemProcess#enabled", "false");
  }
}
