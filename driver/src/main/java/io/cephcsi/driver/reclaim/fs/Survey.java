package io.cephcsi.driver.reclaim.fs;

/**
 * The answer of {@link FileSystems#survey}.
 *
 * @param inspection the free ranges of all parts, or why there are none at all
 * @param content what the device holds, part by part
 */
public record Survey(Inspection inspection, ContentNode content) {
  /**
   * Whether it is a swap area and nothing else. Nothing on the device then tells whether the system
   * that has swapped to it is gone, or suspended with its memory elsewhere.
   */
  public boolean isSwapAlone() {
    return content.parts().isEmpty() && content.kind() == FileSystemKind.SWAP;
  }
}
