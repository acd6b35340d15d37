package io.cephcsi.driver.encryption;

import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import java.util.Locale;
import java.util.Map;

/** What of a volume is encrypted: the parameter {@code encryptionType}. */
public enum EncryptionType {
  /** The blocks of the image, by LUKS. */
  BLOCK,
  /** The files in a folder, by the file system (fscrypt). */
  FILE;

  /** As parameters and the journal have it. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  static EncryptionType parse(String field, Map<String, String> values, EncryptionType usual) {
    String word = values.getOrDefault("encryptionType", usual.word());
    for (EncryptionType type : values()) {
      if (type.word().equals(word)) {
        return type;
      }
    }
    throw VolumeException.invalid(
        field + ": encryptionType must be block or file, not " + PlainText.show(word));
  }

  /** Whether an entry of something encrypted says so. */
  public boolean isOf(JournalEntry entry) {
    return entry.encryptionType().equals(word());
  }
}
