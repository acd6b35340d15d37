package io.cephcsi.driver.reclaim.fs;

/**
 * The answer of {@link FileSystems#survey}.
 *
 * @param inspection the free ranges of all parts, or why there are none at all
 * @param content what the device holds, part by part
 */
public record Survey(Inspection inspection, ContentNode content) {}
