package io.cephcsi.driver.kms;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** Requests and answers of KMIP 1.4: DiscoverVersions, Encrypt and Decrypt. Pure. */
final class KmipMessages {
  static final int DISCOVER_VERSIONS = 0x1E;
  static final int ENCRYPT = 0x1F;
  static final int DECRYPT = 0x20;
  static final int REQUEST = 0x420078;
  static final int REQUEST_HEADER = 0x420077;
  static final int REQUEST_PAYLOAD = 0x420079;
  static final int RESPONSE = 0x42007B;
  static final int RESPONSE_HEADER = 0x42007A;
  static final int RESPONSE_PAYLOAD = 0x42007C;
  static final int VERSION = 0x420069;
  static final int MAJOR = 0x42006A;
  static final int MINOR = 0x42006B;
  static final int BATCH_COUNT = 0x42000D;
  static final int BATCH_ITEM = 0x42000F;
  static final int OPERATION = 0x42005C;
  static final int STATUS = 0x42007F;
  static final int MESSAGE = 0x42007D;
  static final int KEY = 0x420094;
  static final int PARAMETERS = 0x42002B;
  static final int DATA = 0x4200C2;
  static final int NONCE = 0x42003D;
  private static final int MODE = 0x420011;
  private static final int PADDING = 0x42005F;
  private static final int ALGORITHM = 0x420028;
  private static final int CBC = 1;
  private static final int PKCS5 = 3;
  private static final int AES = 3;
  private static final int SUCCESS = 0;

  private KmipMessages() {}

  /** The version that is spoken. */
  static Ttlv version() {
    return Ttlv.structure(VERSION, Ttlv.integer(MAJOR, 1), Ttlv.integer(MINOR, 4));
  }

  private static byte[] request(int operation, Ttlv... payload) {
    return Ttlv.structure(
            REQUEST,
            Ttlv.structure(REQUEST_HEADER, version(), Ttlv.integer(BATCH_COUNT, 1)),
            Ttlv.structure(
                BATCH_ITEM,
                Ttlv.enumeration(OPERATION, operation),
                Ttlv.structure(REQUEST_PAYLOAD, payload)))
        .encoded();
  }

  /** Asks whether the server speaks the version. */
  static byte[] discoverVersions() {
    return request(DISCOVER_VERSIONS, version());
  }

  /** Asks to encrypt or decrypt. */
  static byte[] crypt(int operation, String key, byte[] data, byte[] nonce) {
    return request(
        operation,
        Ttlv.text(KEY, key),
        Ttlv.structure(
            PARAMETERS,
            Ttlv.enumeration(MODE, CBC),
            Ttlv.enumeration(PADDING, PKCS5),
            Ttlv.enumeration(ALGORITHM, AES)),
        Ttlv.bytes(DATA, data),
        Ttlv.bytes(NONCE, nonce));
  }

  /**
   * An answer.
   *
   * @param good whether the server did what was asked
   * @param message what it says of an error; may be empty
   * @param payload items of the answer
   */
  record Answer(boolean good, String message, List<Ttlv> payload) {
    /** The data. */
    Optional<byte[]> data() {
      return payload.stream()
          .filter(item -> item.tag() == DATA && item.type() == Ttlv.BYTES)
          .map(Ttlv::value)
          .findFirst();
    }

    /** Whether it lists the version that is spoken. */
    boolean hasVersion() {
      return payload.stream()
          .filter(item -> item.tag() == VERSION)
          .anyMatch(
              item ->
                  item.find(MAJOR).map(Ttlv::number).orElse(-1) == 1
                      && item.find(MINOR).map(Ttlv::number).orElse(-1) == 4);
    }
  }

  /**
   * Reads an answer.
   *
   * @throws IOException when it is none to one operation
   */
  static Answer answer(byte[] bytes, int operation) throws IOException {
    Ttlv message = Ttlv.decoded(bytes);
    Ttlv item = message.find(BATCH_ITEM).orElseThrow(() -> new IOException("no answer"));
    int status = item.find(STATUS).map(Ttlv::number).orElse(-1);
    boolean good = status == SUCCESS;
    int answered = item.find(OPERATION).map(Ttlv::number).orElse(-1);
    if (message.tag() != RESPONSE || (good && answered != operation)) {
      throw new IOException("the answer is one to something else");
    }
    return new Answer(
        good,
        item.find(MESSAGE).map(Ttlv::text).orElse(""),
        item.find(RESPONSE_PAYLOAD).map(Ttlv::items).orElse(List.of()));
  }
}
