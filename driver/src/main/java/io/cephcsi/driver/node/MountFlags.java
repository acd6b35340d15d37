package io.cephcsi.driver.node;

import io.cephcsi.driver.node.machine.AllowedOptions;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.node.machine.DiskFileSystems;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Mount flags of volume capabilities, as the users of kubelet write them: several may be in one,
 * between commas. Allowed is what shapes one mount or its file system, and nothing that names
 * another file or device, overrides what the driver sets, or stops the machine.
 */
public final class MountFlags {
  private static final String CONTEXT = "\"?\\w+:\\w+:\\w+(:[\\w.:,-]+)?\"?"; // of SELinux

  /** Of every file system. */
  public static final AllowedOptions OF_ANY =
      AllowedOptions.of(
          "ro noatime atime nodiratime diratime relatime norelatime strictatime nostrictatime",
          "lazytime nolazytime nodev dev nosuid suid noexec exec sync async dirsync silent loud",
          "iversion noiversion nofail _netdev",
          "context=" + CONTEXT + " fscontext=" + CONTEXT,
          "defcontext=" + CONTEXT + " rootcontext=" + CONTEXT);

  private static final AllowedOptions OF_EXT4 =
      AllowedOptions.of(
              "acl noacl user_xattr nouser_xattr barrier?=B nobarrier bsddf minixdf",
              "bsdgroups grpid nogrpid sysvgroups commit=N data=(journal|ordered|writeback)",
              "data_err=(ignore|abort) delalloc nodelalloc discard nodiscard",
              "errors=(continue|remount-ro) auto_da_alloc?=B noauto_da_alloc",
              "block_validity noblock_validity dioread_lock dioread_nolock nodioread_nolock",
              "i_version init_itable?=N noinit_itable inode_readahead_blks=N",
              "journal_async_commit journal_checksum nojournal_checksum journal_ioprio=[0-7]",
              "max_batch_time=N min_batch_time=N max_dir_size_kb=N mb_optimize_scan=B",
              "noload norecovery quota noquota usrquota grpquota prjquota nouid32 nombcache",
              "prefetch_block_bitmaps no_prefetch_block_bitmaps resuid=N resgid=N stripe=N",
              "dax?=(always|never|inode) inlinecrypt")
          .or(OF_ANY);

  private static final AllowedOptions OF_XFS =
      AllowedOptions.of(
              "allocsize=S attr2 noattr2 discard nodiscard dax?=(always|never|inode)",
              "filestreams grpid bsdgroups nogrpid sysvgroups ikeep noikeep inode32 inode64",
              "largeio nolargeio logbufs=N logbsize=S noalign norecovery nouuid sunit=N swidth=N",
              "swalloc wsync noquota quota uquota usrquota qnoenforce uqnoenforce gquota",
              "grpquota gqnoenforce pquota prjquota pqnoenforce")
          .or(OF_ANY);

  /** What mount(8) takes for "all as usual", which is so without. */
  private static final Set<String> USUAL = Set.of("rw", "defaults", "");

  private static final Pattern FLAG = Pattern.compile("(?:[^,\"]|\"[^\"]*\")+");
  private static final Pattern REFUSED =
      Pattern.compile(
          "bad option|unknown option|fsconfig system call failed|Unknown parameter|mount error 22");

  private MountFlags() {}

  /**
   * One flag each; commas between quotes do not part them. Without those that only say what is
   * usual: after {@code ro} or {@code nosuid} they would take it back.
   */
  public static List<String> split(List<String> flags) {
    List<String> all = new ArrayList<>();
    for (String flag : flags) {
      if (flag.chars().filter(character -> character == '"').count() % 2 != 0) {
        throw VolumeException.invalid("mount options: quotation marks must be in pairs");
      }
      FLAG.matcher(flag).results().forEach(part -> all.add(part.group().strip()));
    }
    all.removeIf(USUAL::contains);
    return all;
  }

  /**
   * Requires that the flags for a file system on a device are allowed.
   *
   * @throws VolumeException INVALID_ARGUMENT naming one that is not
   */
  public static void require(VolumeUse use) {
    AllowedOptions allowed =
        switch (use.fsType()) {
          case DiskFileSystems.EXT4 -> OF_EXT4;
          case DiskFileSystems.XFS -> OF_XFS;
          default -> OF_EXT4.or(OF_XFS); // what is on it decides
        };
    allowed.require("mount_flags", use.mountFlags());
  }

  /** What is told of a mount that failed: the flags may not fit what is mounted. */
  public static RuntimeException explained(CommandException e) {
    return REFUSED.matcher(String.valueOf(e.getMessage())).find()
        ? new VolumeException(
            Reason.FAILED_PRECONDITION,
            "the mount options may not fit the file system: " + e.getMessage(),
            e)
        : e;
  }
}
