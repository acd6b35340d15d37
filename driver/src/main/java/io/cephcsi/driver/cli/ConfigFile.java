package io.cephcsi.driver.cli;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.exc.UnrecognizedPropertyException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.app.DriverConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The file of {@code serve --config}, in YAML. Unknown keys are errors: a misspelt one must not be
 * ignored.
 */
final class ConfigFile {
  private ConfigFile() {}

  /**
   * Reads a file.
   *
   * @throws ConfigException when it cannot be read or is not valid, saying where
   */
  static DriverConfig read(Path file) {
    try {
      Root root =
          JsonMapper.builder(new YAMLFactory())
              .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
              .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
              .defaultSetterInfo(JsonSetter.Value.forValueNulls(Nulls.SKIP)) // as if left out
              .build()
              .readValue(Files.readAllBytes(file), Root.class);
      if (root == null) {
        throw new ConfigException("is empty");
      }
      return root.toConfig();
    } catch (UnrecognizedPropertyException e) {
      throw new ConfigException(
          file + ": the key " + e.getPropertyName() + " is not known" + lineOf(file, e), e);
    } catch (JacksonException e) {
      throw new ConfigException(file + ": " + e.getOriginalMessage() + where(e), e);
    } catch (NoSuchFileException e) {
      throw new ConfigException(file + " does not exist", e);
    } catch (IOException e) {
      throw new ConfigException(file + " cannot be read: " + e.getMessage(), e);
    } catch (ConfigException e) {
      throw new ConfigException(file + ": " + e.getMessage(), e);
    }
  }

  private static String where(JacksonException e) {
    return e.getLocation() == null ? "" : " (line " + e.getLocation().getLineNr() + ")";
  }

  /** The line of an unknown key: the exception only knows how far the file was read then. */
  private static String lineOf(Path file, UnrecognizedPropertyException e) {
    String pointer =
        e.getPath().stream()
            .map(r -> "/" + (r.getFieldName() == null ? r.getIndex() : r.getFieldName()))
            .collect(Collectors.joining());
    try (JsonParser parser = new YAMLFactory().createParser(file.toFile())) {
      while (parser.nextToken() != null) {
        if (parser.currentToken() == JsonToken.FIELD_NAME
            && parser.getParsingContext().pathAsPointer().toString().equals(pointer)) {
          return " (line " + parser.currentTokenLocation().getLineNr() + ")";
        }
      }
      return "";
    } catch (IOException changed) {
      return "";
    }
  }

  /** The file's top level. */
  private static final class Root extends ProcessSettings {
    @JsonProperty("drivers")
    private List<@Nullable DriverSettings> drivers = List.of();

    DriverConfig toConfig() {
      return config(drivers.stream().map(Root::driver).toList());
    }

    private static DriverConfig.Driver driver(@Nullable DriverSettings settings) {
      if (settings == null) {
        throw new ConfigException("drivers has an empty element");
      }
      return settings.fromFile();
    }
  }
}
