package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.RbdPool;
import java.util.Optional;

/**
 * Makes empty images with the calls that librbd would make where they are plain ones: without a
 * data pool, stripes or a journal, in a pool that librbd has validated before. That takes about a
 * third of librbd's CPU. What must be asked of the pool is asked when this is made, and on its way
 * while the caller does something else. Used by one thread; {@link #close} waits for the answer.
 */
public final class PreparedCreation implements AutoCloseable {
  private final RbdPool pool;
  private final ImageOptions options;
  private final Optional<ImageCreation.Question> question;
  private Optional<Boolean> plain = Optional.empty();

  private PreparedCreation(RbdPool pool, ImageOptions options) {
    this.pool = pool;
    this.options = options;
    this.question =
        ImageCreation.isPlain(pool.io().cluster(), options)
            ? Optional.of(ImageCreation.ask(pool.io()))
            : Optional.empty();
  }

  /** Prepares the creation of images; does not block. */
  public static PreparedCreation prepare(RbdPool pool, ImageOptions options) {
    return new PreparedCreation(pool, options);
  }

  /**
   * Prepares and makes a single image.
   *
   * @param sizeBytes its size; nothing is allocated for it
   * @return the id of the image
   * @throws io.cephcsi.bindings.error.CephException.AlreadyExists if the name is taken
   */
  public static String create(RbdPool pool, String name, long sizeBytes, ImageOptions options) {
    try (PreparedCreation creation = prepare(pool, options)) {
      return creation.create(name, sizeBytes).id();
    }
  }

  /**
   * Makes an image, as {@link RbdPool#create} does.
   *
   * @param sizeBytes its size; nothing is allocated for it
   * @return the image
   * @throws io.cephcsi.bindings.error.CephException.AlreadyExists if the name is taken
   */
  public Created create(String name, long sizeBytes) {
    Optional<String> made = createIfPlain(name, sizeBytes);
    if (made.isPresent()) {
      return new Created(made.get(), true);
    }
    pool.create(name, sizeBytes, options);
    return ImageId.find(pool, name)
        .map(id -> new Created(id, false))
        .orElseThrow(
            () ->
                ReturnCode.exception(
                    -Errno.ENOENT.number(), "rbd_id", pool.describe(name), "removed meanwhile"));
  }

  /**
   * An image that was made.
   *
   * @param id its id
   * @param certain whether the id is that of the image that was made; librbd does not tell it, and
   *     what is read under the name afterwards may be another image that took its place
   */
  public record Created(String id, boolean certain) {}

  /** Makes a plain image; empty, and nothing was done, if librbd must make it. */
  Optional<String> createIfPlain(String name, long sizeBytes) {
    return isPlain() ? ImageCreation.create(pool.io(), name, sizeBytes, options) : Optional.empty();
  }

  private boolean isPlain() {
    if (plain.isEmpty()) {
      plain = Optional.of(question.isPresent() && question.get().isValidated());
    }
    return plain.get();
  }

  @Override
  public void close() {
    question.ifPresent(ImageCreation.Question::close);
  }
}
