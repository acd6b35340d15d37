package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.node.machine.AllowedOptions;
import io.cephcsi.driver.node.machine.DiskFileSystems;
import io.cephcsi.driver.volume.VolumeException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The StorageClass parameter {@code mkfsOptions}: options of mke2fs(8) or mkfs.xfs(8) that shape
 * the file system, and none that names a file or another device.
 *
 * @param flags letters of options without a value
 * @param values letters of options with one value
 * @param lists letters of options with values between commas
 * @param allowed what they may be: the letter with its value, or with each value of its list
 */
record MkfsOptions(String flags, String values, String lists, AllowedOptions allowed) {
  /** Kept from the program: whether it may format is not the user's to say. */
  private static final String FORCE = "fF";

  private static final String UUID = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";

  private static final MkfsOptions OF_EXT4 =
      new MkfsOptions(
          "DFjKq",
          "bCgGiILmNtU",
          "EJOT",
          AllowedOptions.of(
              "-D -F -j -K -q -b=S -C=S -g=N -G=N -i=N -I=N -L=[A-Za-z0-9_.-]{1,16}",
              "-m=\\d{1,2}(\\.\\d{1,6})? -N=N -t=ext4 -U=(random|time|clear|" + UUID + ")",
              "-Estride=N -Estripe_width=N -Estripe-width=N -Eresize=N -Edesc_size=N",
              "-Elazy_itable_init?=B -Elazy_journal_init?=B -Epacked_meta_blocks?=B",
              "-Eassume_storage_prezeroed?=B -Ediscard -Enodiscard -Enum_backup_sb=[012]",
              "-Eroot_owner?=\\d{1,10}:\\d{1,10} -Eorphan_file_size=S -Emmp_update_interval=N",
              "-Equotatype=(usr|grp|prj)(quota)?(:(usr|grp|prj)(quota)?){0,2}",
              "-Ehash_seed=" + UUID + " -Eencoding=utf8(-\\d\\d\\.\\d)? -Eencoding_flags=strict",
              "-Jsize=S -Jfast_commit_size=S",
              "-Tdefault -Tsmall -Tbig -Thuge -Tfloppy -Tnews -Tlargefile -Tlargefile4",
              "-O64bit -Obigalloc -Ocasefold -Odir_index -Odir_nlink -Oea_inode -Oencrypt",
              "-Oextent -Oextents -Oext_attr -Oextra_isize -Ofast_commit -Ofiletype -Oflex_bg",
              "-Ohas_journal -Ohuge_file -Oinline_data -Olarge_dir -Olarge_file -Ometa_bg",
              "-Ometadata_csum -Ometadata_csum_seed -Ommp -Onone -Oorphan_file -Oproject",
              "-Oquota -Oresize_inode -Osparse_super -Osparse_super2 -Ostable_inodes",
              "-Ouninit_bg -Overity"));

  private static final MkfsOptions OF_XFS =
      new MkfsOptions(
          "fKq",
          "L",
          "bdilmns",
          AllowedOptions.of(
              "-f -K -q -L=[A-Za-z0-9_.-]{1,12} -bsize=S -ssize=S",
              "-dagcount=N -dagsize=S -dsunit=N -dswidth=N -dsu=S -dsw=N -dnoalign",
              "-isize=N -iperblock=N -imaxpct=N -iattr=[012] -iprojid32bit=B -isparse=B",
              "-inrext64=B -lsize=S -linternal?=B -lversion=N -lsunit=N -lsu=S -llazy-count=B",
              "-mcrc=B -mfinobt=B -mrmapbt=B -mreflink=B -minobtcount=B -mbigtime=B",
              "-muuid=" + UUID + " -nsize=S -nversion=(2|ci) -nftype=B"));

  /** A blank image has nothing to discard. */
  private static final List<String> USUAL_OF_EXT4 =
      List.of("-m0", "-Enodiscard,lazy_itable_init=1,lazy_journal_init=1");

  private static final List<String> USUAL_OF_XFS = List.of("-K");

  /**
   * Below, the journal of a file system with blocks of 4 KiB would take more than a sixteenth of
   * it.
   */
  private static final long LARGE_BLOCKS_FROM = 64L << 20;

  private static final Map<String, MkfsOptions> BY_KIND =
      Map.of(DiskFileSystems.EXT4, OF_EXT4, DiskFileSystems.XFS, OF_XFS);

  /**
   * The options where the StorageClass has none.
   *
   * <p>mke2fs gives an ext4 of less than 512 MiB blocks of 1 KiB. Its block groups then begin 1 KiB
   * behind a multiple of 8 MiB. A trim goes from group to group, so that it discards the object at
   * each boundary in two parts, which empties the object but does not remove it. With blocks of 4
   * KiB a group begins at a multiple of 128 MiB.
   *
   * @param kind a file system that is known
   * @param bytes the size of the device
   */
  static List<String> usual(String kind, long bytes) {
    if (kind.equals(DiskFileSystems.XFS)) {
      return USUAL_OF_XFS;
    }
    List<String> options = new ArrayList<>(USUAL_OF_EXT4);
    if (bytes >= LARGE_BLOCKS_FROM) {
      options.add("-b4096");
    }
    return options;
  }

  /**
   * The options of mke2fs(8) with one more feature. The program heeds the last {@code -O} alone: so
   * there will be one, with all features.
   */
  static List<String> withFeature(List<String> options, String feature) {
    List<String> features = new ArrayList<>();
    List<String> all = new ArrayList<>();
    for (String option : options) {
      if (option.startsWith("-O")) {
        features.add(option.substring(2));
      } else {
        all.add(option);
      }
    }
    features.add(feature);
    all.add("-O" + String.join(",", features));
    return all;
  }

  /**
   * Reads options.
   *
   * @param kind a file system that is known
   * @return the program's arguments; empty where nothing is given
   * @throws VolumeException INVALID_ARGUMENT naming the option that is not allowed
   */
  static List<String> of(String kind, String text) {
    MkfsOptions rules = BY_KIND.get(kind);
    if (rules == null) {
      throw VolumeException.invalid("mkfsOptions: no file system " + kind + " can be made");
    }
    List<String> arguments = new ArrayList<>();
    String where = "mkfsOptions of " + kind;
    if (!text.isBlank()) {
      Iterator<String> words = List.of(text.strip().split("\\s+", -1)).iterator();
      while (words.hasNext()) {
        rules.read(where, words.next(), words, arguments);
      }
    }
    return arguments;
  }

  /**
   * Requires that options are allowed, for a file system that may not be named: then for one that
   * can be made.
   */
  static void require(String kind, String text) {
    boolean named = !kind.isEmpty();
    if (named || !isAllowed(DiskFileSystems.XFS, text)) {
      Objects.requireNonNull(of(named ? kind : DiskFileSystems.EXT4, text));
    }
  }

  private static boolean isAllowed(String kind, String text) {
    try {
      return of(kind, text) != null;
    } catch (VolumeException e) {
      return false;
    }
  }

  /** Several letters may be in one word, as getopt(3) has it; the last may have a value. */
  private void read(String where, String word, Iterator<String> more, List<String> arguments) {
    if (word.length() < 2 || word.charAt(0) != '-') {
      throw VolumeException.invalid(where + ": there is a word that is neither option nor value");
    }
    for (int i = 1; i < word.length(); i++) {
      String option = "-" + word.charAt(i);
      if (flags.indexOf(word.charAt(i)) >= 0) {
        allowed.require(where, List.of(option));
        if (FORCE.indexOf(word.charAt(i)) < 0) {
          arguments.add(option);
        }
        continue;
      }
      boolean list = lists.indexOf(word.charAt(i)) >= 0;
      if (!list && values.indexOf(word.charAt(i)) < 0) {
        throw allowed.refusal(where, option);
      }
      String rest = word.substring(i + 1);
      String value = !rest.isEmpty() ? rest : more.hasNext() ? more.next() : "";
      for (String one : list ? value.split(",", -1) : new String[] {"=" + value}) {
        boolean not = word.charAt(i) == 'O' && one.startsWith("^");
        allowed.require(where, List.of(option + (not ? one.substring(1) : one)));
      }
      arguments.add(option + value);
      return;
    }
  }
}
