package io.cephcsi.driver.node.fscrypt;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.linux.FileStat;
import io.cephcsi.bindings.linux.OpenFile;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The folder {@code .fscrypt} of a volume, where fscrypt keeps wrapped keys:
 *
 * <pre>
 *   .fscrypt/policies/DESCRIPTOR     a {@link Policy}
 *   .fscrypt/protectors/DESCRIPTOR   a {@link Protector}
 * </pre>
 *
 * <p>The volume is somebody else's: no link is followed, and what not only this user can write is
 * not read. Not safe for several threads.
 */
final class MetadataFolder implements AutoCloseable {
  static final String NAME = ".fscrypt";

  private static final String POLICIES = "policies";
  private static final String PROTECTORS = "protectors";
  private static final int FOLDER = 0755;
  private static final int FILE = 0600;
  private static final int OTHERS_WRITE = 022;
  private static final int MOST_BYTES = 16 << 10;
  private static final Pattern DESCRIPTOR = Pattern.compile("[0-9a-f]{16}|[0-9a-f]{32}");

  /** With the number behind it that the fscrypt program gives files that it writes. */
  private static final Pattern LEFT = Pattern.compile("[0-9a-f]{16}([0-9a-f]{16})?[0-9]{0,20}");

  /** How many files a setup that was cut off may have left in a folder. */
  private static final int MOST_LEFT = 2;

  /** How many protectors a passphrase is tried on, which may take a minute each. */
  private static final int MOST_TRIED = 2;

  private final OpenFile root;
  private final OpenFile folder;

  private MetadataFolder(OpenFile root, OpenFile folder) {
    this.root = root;
    this.folder = folder;
  }

  /**
   * Opens it; empty when there is none.
   *
   * @param root of the volume
   * @throws IOException when it is not what drivers make
   */
  static Optional<MetadataFolder> find(OpenFile root) throws IOException {
    Optional<OpenFile> found = folder(root, NAME);
    return found.map(folder -> new MetadataFolder(root, folder));
  }

  /** Makes it, with its folders. */
  static MetadataFolder make(OpenFile root) {
    MetadataFolder made = new MetadataFolder(root, root.makeFolder(NAME, FOLDER));
    try {
      made.folder.makeFolder(POLICIES, FOLDER).close();
      made.folder.makeFolder(PROTECTORS, FOLDER).close();
      return made;
    } catch (RuntimeException e) {
      made.close();
      throw e;
    }
  }

  /** The policy of a descriptor, and the protectors that open it and have the drivers' name. */
  record Found(Policy policy, List<Protector> protectors) {}

  /**
   * Reads a policy. Whoever wrote to the volume may have given it protectors that are none of ours,
   * or damaged: they do not matter as long as there is a sound one.
   *
   * @throws IOException when it, or all of its protectors, are not there or damaged
   */
  Found read(String descriptor) throws IOException {
    Policy policy = Policy.read(content(POLICIES, descriptor));
    if (!policy.descriptor().equals(descriptor)) {
      throw new IOException("policy " + descriptor + " has another name in it");
    }
    List<Protector> protectors = new ArrayList<>();
    Optional<IOException> refused = Optional.empty();
    Set<String> named = new LinkedHashSet<>();
    policy.keys().forEach(key -> named.add(key.protector()));
    for (String one : named) {
      try {
        protector(one).ifPresent(protectors::add);
      } catch (IOException e) {
        refused = refused.or(() -> Optional.of(e));
      }
      if (protectors.size() == MOST_TRIED) {
        break;
      }
    }
    if (protectors.isEmpty()) {
      throw refused.orElseGet(
          () ->
              new IOException(
                  "policy " + descriptor + " has no protector of the name " + Protector.NAME));
    }
    return new Found(policy, protectors);
  }

  /** One that has the drivers' name; empty for another. */
  private Optional<Protector> protector(String descriptor) throws IOException {
    if (!DESCRIPTOR.matcher(descriptor).matches()) {
      throw new IOException("a policy names a protector that cannot be");
    }
    ProtoFields fields = ProtoFields.read(content(PROTECTORS, descriptor));
    if (!Protector.isOurs(fields)) {
      return Optional.empty();
    }
    Protector found = Protector.read(fields);
    if (!found.descriptor().equals(descriptor)) {
      throw new IOException("protector " + descriptor + " has another name in it");
    }
    return Optional.of(found);
  }

  private byte[] content(String kind, String descriptor) throws IOException {
    try (OpenFile parent = require(kind);
        OpenFile file = parent.child(descriptor)) {
      FileStat facts = file.stat();
      if (!facts.isRegular() || !isPrivate(facts) || facts.size() > MOST_BYTES) {
        throw new IOException(
            kind + "/" + descriptor + " is no small file that only this user can write");
      }
      return file.read(MOST_BYTES);
    } catch (CephException.NotFound e) {
      throw new IOException(kind + "/" + descriptor + " is not there", e);
    }
  }

  private OpenFile require(String kind) throws IOException {
    return folder(folder, kind).orElseThrow(() -> new IOException(kind + " is not there"));
  }

  private static Optional<OpenFile> folder(OpenFile parent, String name) throws IOException {
    OpenFile found;
    try {
      found = parent.childFolder(name);
    } catch (CephException.NotFound e) {
      return Optional.empty();
    } catch (CephException e) {
      switch (e.errno()) {
        case ENOTDIR, ELOOP -> throw new IOException(name + " is no folder", e);
        default -> throw e;
      }
    }
    try {
      FileStat facts = found.stat();
      if (!isPrivate(facts) || !facts.isBeside(parent.stat())) {
        throw new IOException(name + " is no folder that only this user can write");
      }
      return Optional.of(found);
    } catch (IOException | RuntimeException e) {
      found.close();
      throw e;
    }
  }

  private static boolean isPrivate(FileStat facts) {
    return facts.isOwn() && (facts.permissions() & OTHERS_WRITE) == 0;
  }

  /** Writes a policy and its protector, which are on the device when this returns. */
  void write(Policy policy, Protector protector) throws IOException {
    try (OpenFile protectors = require(PROTECTORS);
        OpenFile policies = require(POLICIES)) {
      protectors.makeFile(protector.descriptor(), FILE, protector.encode());
      policies.makeFile(policy.descriptor(), FILE, policy.encode());
      protectors.sync();
      policies.sync();
    }
    folder.sync();
    root.sync();
  }

  /**
   * Requires that it holds nothing but what a setup leaves that was cut off: no more than the files
   * of one policy and one protector, and no protector of somebody else.
   *
   * @throws IOException when it holds more
   */
  private void requireCutOff(String kind, List<OpenFile.Entry> entries) throws IOException {
    if (entries.size() > MOST_LEFT) {
      throw new IOException(kind + " has " + entries.size() + " entries");
    }
    for (OpenFile.Entry entry : entries) {
      if (!LEFT.matcher(entry.name()).matches()) {
        throw new IOException(kind + " has an entry that fscrypt does not make");
      }
      byte[] content = content(kind, entry.name());
      if (kind.equals(PROTECTORS) && isOfSomebodyElse(content)) {
        throw new IOException(kind + "/" + entry.name() + " was not made by a driver");
      }
    }
  }

  /** Of what was cut off, the end is missing: the name comes behind the source. */
  private static boolean isOfSomebodyElse(byte[] content) {
    try {
      return !Protector.mayBeOurs(ProtoFields.read(content));
    } catch (IOException e) {
      return false; // cut off
    }
  }

  /**
   * Removes it, which a setup that was cut off has left. To be asked for only when no folder has a
   * policy.
   *
   * @throws IOException when it holds something else; then nothing is changed
   */
  void removeCutOff() throws IOException {
    for (OpenFile.Entry entry : Entries.of(folder)) {
      if (!entry.name().equals(POLICIES) && !entry.name().equals(PROTECTORS)) {
        throw new IOException("it has an entry that drivers do not make");
      }
    }
    List<Left> left = new ArrayList<>();
    try {
      for (String kind : List.of(POLICIES, PROTECTORS)) {
        Optional<OpenFile> found = folder(folder, kind);
        if (found.isPresent()) {
          Left one = new Left(kind, found.get(), Entries.of(found.get()));
          left.add(one);
          requireCutOff(kind, one.entries);
        }
      }
      for (Left one : left) {
        one.entries.forEach(entry -> one.folder.remove(entry.name(), false));
        folder.remove(one.kind, true);
      }
    } finally {
      left.forEach(one -> one.folder.close());
    }
    root.remove(NAME, true);
    root.sync();
  }

  private record Left(String kind, OpenFile folder, List<OpenFile.Entry> entries) {}

  @Override
  public void close() {
    folder.close();
  }
}
