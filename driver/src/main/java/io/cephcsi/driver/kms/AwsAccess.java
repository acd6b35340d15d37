package io.cephcsi.driver.kms;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.kms.KubernetesObjects.SecretData;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Who the driver is to AWS, and which key it uses.
 *
 * @param region such as {@code eu-west-1}
 * @param key its ARN or id
 * @param signature signs
 */
record AwsAccess(String region, String key, AwsSignature signature) {
  private static final Pattern REGION = Pattern.compile("[a-z]{2,8}(-[a-z0-9]{1,16}){1,4}");
  private static final Pattern ARN = Pattern.compile("[A-Za-z0-9:/_+=,.@-]{1,2048}");

  /** Finds out. */
  interface Source {
    AwsAccess of(KeyOwner owner, Deadline deadline);

    /** Whether it is another one for each tenant. */
    default boolean isByTenant() {
      return false;
    }
  }

  private static String region(String source, String region) {
    if (!REGION.matcher(region).matches()) {
      throw new VolumeException(Reason.FAILED_PRECONDITION, source + " is no region of AWS");
    }
    return region;
  }

  private static String arn(String source, String arn) {
    if (!ARN.matcher(arn).matches()) {
      throw new VolumeException(Reason.FAILED_PRECONDITION, source + " is no ARN");
    }
    return arn;
  }

  /** The account of an ARN; empty for what is none, such as the id of a key of one's own. */
  static Optional<String> account(String key) {
    String[] parts = key.split(":", -1);
    return parts.length > 5 && parts[0].equals("arn") && !parts[4].isEmpty()
        ? Optional.of(parts[4])
        : Optional.empty();
  }

  /** Where a service of a region is. */
  static String host(String service, String region) {
    String domain = region.startsWith("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
    return service + "." + region + domain;
  }

  /** By keys that a Secret of the driver's namespace has. */
  static Source ofSecret(Section section, KubernetesObjects objects) {
    KmsTypes.warnOfUnknown(section, List.of("AWS_REGION", "KMS_SECRET_NAME"));
    String region = region(section.name() + ": AWS_REGION", section.require("AWS_REGION"));
    String secret = section.get("KMS_SECRET_NAME", "ceph-csi-aws-credentials");
    return (owner, deadline) -> {
      SecretData data =
          objects
              .secret(objects.api().ownNamespace(), secret, deadline)
              .only(
                  List.of(
                      "AWS_ACCESS_KEY_ID",
                      "AWS_SECRET_ACCESS_KEY",
                      "AWS_SESSION_TOKEN",
                      "AWS_CMK_ARN"));
      return new AwsAccess(
          region,
          arn(data.name() + ": AWS_CMK_ARN", data.text("AWS_CMK_ARN")),
          new AwsSignature(
              data.token("AWS_ACCESS_KEY_ID"),
              data.token("AWS_SECRET_ACCESS_KEY"),
              data.find("AWS_SESSION_TOKEN").isPresent() ? data.token("AWS_SESSION_TOKEN") : ""));
    };
  }

  /** By a role that a Secret of the tenant names, and the driver's token for it. */
  static final class ByRole implements Source {
    private static final String SESSION = "ceph-csi-aws-sts-metadata";
    private static final Duration KEPT = Duration.ofMinutes(10); // the shortest session has 15

    private final RestCalls calls;
    private final CloudServers servers;
    private final Section section;
    private final KubernetesObjects objects;
    private final Path token;
    private final Cache<List<String>, AwsSignature> kept =
        Caffeine.newBuilder().maximumSize(200).expireAfterWrite(KEPT).build();

    ByRole(
        RestCalls calls,
        CloudServers servers,
        Section section,
        KubernetesObjects objects,
        Path token) {
      KmsTypes.warnOfUnknown(section, List.of("secretName"));
      this.calls = calls;
      this.servers = servers;
      this.section = section;
      this.objects = objects;
      this.token = token;
    }

    @Override
    public boolean isByTenant() {
      return true;
    }

    @Override
    public AwsAccess of(KeyOwner owner, Deadline deadline) {
      String tenant = owner.requireTenant(section.name(), "");
      SecretData data =
          objects.secret(tenant, section.get("secretName", "ceph-csi-aws-credentials"), deadline);
      String region = region(data.name() + ": awsRegion", data.text("awsRegion"));
      String role = arn(data.name() + ": awsRoleARN", data.text("awsRoleARN"));
      String key = arn(data.name() + ": awsCMKARN", data.text("awsCMKARN"));
      List<String> name = List.of(tenant, region, role);
      AwsSignature known = kept.getIfPresent(name);
      if (known == null) {
        known = assume(region, role, deadline);
        kept.put(name, known);
      }
      return new AwsAccess(region, key, known);
    }

    private AwsSignature assume(String region, String role, Deadline deadline) {
      String identity = Checks.token("the token in " + token, ownToken());
      String body =
          RestCalls.form(
              Map.of(
                  "Action", "AssumeRoleWithWebIdentity",
                  "Version", "2011-06-15",
                  "RoleArn", role,
                  "RoleSessionName", SESSION,
                  "WebIdentityToken", identity));
      String address = servers.address("https://" + host("sts", region));
      HttpRequest request =
          HttpRequest.newBuilder(URI.create(address + "/"))
              .header("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
              .POST(BodyPublishers.ofString(body))
              .build();
      RestCalls.Reply reply = calls.call(request, List.of(identity), deadline);
      if (!reply.isGood()) {
        String why = reply.text().contains("<Error>") ? ": " + element(reply.text(), "Code") : "";
        throw calls.refused(Reason.UNAUTHENTICATED, "the role " + role + why, reply);
      }
      return new AwsSignature(
          element(reply.text(), "AccessKeyId"),
          element(reply.text(), "SecretAccessKey"),
          element(reply.text(), "SessionToken"));
    }

    private String ownToken() {
      try {
        return Files.readString(token).strip();
      } catch (IOException e) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION,
            "the token for AWS cannot be read: mount a projected token at " + token);
      }
    }

    /** An element that has characters of Base64 and names only. */
    private String element(String xml, String name) {
      Matcher found =
          Pattern.compile("<" + name + ">\\s*([A-Za-z0-9+/=_.-]{1,8192})\\s*</" + name + ">")
              .matcher(xml);
      if (!found.find()) {
        throw calls.strange(name);
      }
      return found.group(1);
    }
  }
}
