package io.cephcsi.bindings.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.jna.Callback;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The mappings against the installed headers, judged by the C compiler. */
class AbiTest {
  /** C's callback types, and the Java interface that stands for each. */
  private static final Map<String, Class<? extends Callback>> CALLBACKS =
      Map.of(
          "rados_callback_t", CompletionCallback.class,
          "rbd_callback_t", CompletionCallback.class,
          "rados_watchcb2_t", WatchCallback.class,
          "rados_watcherrcb_t", WatchErrorCallback.class,
          "librbd_progress_fn_t", ProgressCallback.class,
          "int (*) (uint64_t, size_t, int, void *)", DiffCallback.class);

  /** The types as C has them, for the arguments behind the names. */
  private static final Map<String, String> CALLBACK_TYPES =
      Map.of(
          "rados_callback_t", "void (*) (rados_completion_t, void *)",
          "rbd_callback_t", "void (*) (rbd_completion_t, void *)",
          "rados_watchcb2_t", "void (*) (void *, uint64_t, uint64_t, uint64_t, void *, size_t)",
          "rados_watcherrcb_t", "void (*) (void *, uint64_t, int)",
          "librbd_progress_fn_t", "int (*) (uint64_t, uint64_t, void *)",
          "int (*) (uint64_t, size_t, int, void *)", "int (*) (uint64_t, size_t, int, void *)");

  private static CHeaders headers;

  @BeforeAll
  static void readHeaders(@TempDir Path folder) {
    headers = CHeaders.read(folder);
  }

  private static List<Method> functions(Class<?> mapping) {
    return Stream.of(mapping.getDeclaredMethods())
        .filter(method -> java.lang.reflect.Modifier.isNative(method.getModifiers()))
        .toList();
  }

  @ParameterizedTest
  @ValueSource(classes = {LibRados.class, LibRbd.class, LibCephFs.class})
  void everyFunctionHasTheArgumentsAndTheResultOfTheHeader(Class<?> mapping) {
    List<Method> functions = functions(mapping);
    assertThat(functions).hasSizeGreaterThan(25);
    CAssertions assertions = new CAssertions();
    for (Method function : functions) {
      assertions.function(headers, function);
    }
    assertions.check(headers);
  }

  @Test
  void everyFunctionIsInTheLibrary() {
    assertThat(functions(LibRados.class))
        .allMatch(function -> NativeLibraries.has(NativeLibraries.rados(), function.getName()));
    assertThat(functions(LibRbd.class)).allMatch(function -> LibRbd.has(function.getName()));
    assertThat(functions(LibCephFs.class)).allMatch(function -> LibCephFs.has(function.getName()));
    assertThat(LibRbd.has("rbd_open_with_a_name_that_none_has")).isFalse();
  }

  @ParameterizedTest
  @ValueSource(classes = {LibRados.class, LibRbd.class, LibCephFs.class})
  void everyCallbackIsTheOneThatTheFunctionTakes(Class<?> mapping) {
    for (Method function : functions(mapping)) {
      List<String> types = headers.function(function.getName()).parameters();
      for (int i = 0; i < types.size(); i++) {
        Class<?> java = function.getParameterTypes()[i];
        if (Callback.class.isAssignableFrom(java)) {
          assertThat(CALLBACKS).as(function.getName()).containsEntry(types.get(i), callback(java));
        }
      }
    }
  }

  private static Class<? extends Callback> callback(Class<?> java) {
    return java.asSubclass(Callback.class);
  }

  @Test
  void everyCallbackHasTheArgumentsOfItsType() {
    CAssertions assertions = new CAssertions();
    CALLBACKS.forEach(
        (name, java) -> assertions.callback(name, CALLBACK_TYPES.get(name), invoke(java)));
    assertions.check(headers);
  }

  private static Method invoke(Class<?> callback) {
    return Stream.of(callback.getDeclaredMethods())
        .filter(method -> method.getName().equals("invoke"))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void structuresLieInMemoryAsTheBindingsReadThem() {
    CAssertions assertions = new CAssertions();
    Structures.ALL.forEach(assertions::structure);
    assertions.check(headers);
  }

  @Test
  void constantsHaveTheValuesOfTheHeader() {
    Map<String, Long> values = new LinkedHashMap<>();
    values.put("LIBRADOS_CMPXATTR_OP_EQ", (long) LibRados.CMP_EQ);
    values.put("LIBRADOS_CREATE_EXCLUSIVE", 1L);
    values.put("LIBRADOS_CREATE_IDEMPOTENT", 0L);
    values.put("ECANCELED", 125L);
    values.put("CEPH_STATX_BASIC_STATS | CEPH_STATX_BTIME", 0xfffL);
    values.put("AT_SYMLINK_NOFOLLOW", 0x100L);
    values.put("O_RDWR | O_CREAT", 2L | 0100L);
    values.put("CEPH_RECLAIM_RESET", 1L);
    values.put("S_IFDIR", 0040000L);
    values.put("O_DIRECTORY | O_NOFOLLOW", (long) (LibC.O_DIRECTORY | LibC.O_NOFOLLOW));
    values.put("O_CLOEXEC", (long) LibC.O_CLOEXEC);
    values.put("O_CREAT | O_EXCL", (long) (LibC.O_CREAT | LibC.O_EXCL));
    values.put("AT_REMOVEDIR", (long) LibC.AT_REMOVEDIR);
    values.put("LOCK_EX | LOCK_NB", (long) (LibC.LOCK_EX | LibC.LOCK_NB));
    values.put("ENOKEY", 126L);
    values.put("FS_IOC_SET_ENCRYPTION_POLICY", LibC.FS_IOC_SET_ENCRYPTION_POLICY);
    values.put("FS_IOC_GET_ENCRYPTION_POLICY_EX", LibC.FS_IOC_GET_ENCRYPTION_POLICY_EX);
    values.put("FS_IOC_ADD_ENCRYPTION_KEY", LibC.FS_IOC_ADD_ENCRYPTION_KEY);
    values.put("FS_IOC_GET_ENCRYPTION_KEY_STATUS", LibC.FS_IOC_GET_ENCRYPTION_KEY_STATUS);
    values.put("FSCRYPT_KEY_STATUS_PRESENT", 2L);
    values.put("FSCRYPT_KEY_SPEC_TYPE_DESCRIPTOR", 1L);
    values.put("FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER", 2L);
    values.put("sizeof(struct fscrypt_add_key_arg)", 80L);
    values.put("offsetof(struct fscrypt_add_key_arg, raw_size)", 40L);
    values.put("offsetof(struct fscrypt_key_specifier, u)", 8L);
    values.put("sizeof(struct fscrypt_get_key_status_arg)", 128L);
    values.put("offsetof(struct fscrypt_get_key_status_arg, status)", 64L);
    values.put("sizeof(struct fscrypt_policy_v1)", 12L);
    values.put("offsetof(struct fscrypt_policy_v1, master_key_descriptor)", 4L);
    values.put("sizeof(struct fscrypt_policy_v2)", 24L);
    values.put("offsetof(struct fscrypt_policy_v2, master_key_identifier)", 8L);
    values.put("FSCRYPT_MODE_AES_256_XTS", 1L);
    values.put("FSCRYPT_MODE_AES_256_CTS", 4L);
    values.put("FSCRYPT_POLICY_FLAGS_PAD_32", 3L);
    CAssertions assertions = new CAssertions();
    values.forEach(assertions::constant);
    assertions.check(headers);
  }

  /** Mistakes, one in each function. */
  @SuppressWarnings("UnusedMethod") // looked at by reflection
  private interface Wrong {
    int rados_read(long io, long oid, int buf, long len, long off);

    int rados_trunc(long io, long oid);

    long rados_aio_flush(long io);

    int rados_remove(long io, CompletionCallback oid);

    int rados_write(long io, long oid, long buf, double len, long off);

    void rados_never_was(long io);
  }

  /** What this test would say if the mappings were wrong. */
  @Test
  void wrongMappingsAreFound() {
    Map<String, String> expected =
        Map.of(
            "rados_read", "rados_read: argument 3, char *, is not int",
            "rados_trunc", "rados_trunc: 3 arguments, not 2",
            "rados_aio_flush", "rados_aio_flush: result, int, is not long",
            "rados_remove", "rados_remove: argument 2, const char *, is not CompletionCallback",
            "rados_write", "rados_write: argument 4, size_t, is not double",
            "rados_never_was", "rados_never_was is not in the headers");
    List<Method> wrong = List.of(Wrong.class.getDeclaredMethods());
    assertThat(wrong).hasSize(expected.size());
    for (Method function : wrong) {
      assertThatThrownBy(
              () -> {
                CAssertions assertions = new CAssertions();
                assertions.function(headers, function);
                assertions.check(headers);
              })
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining(expected.get(function.getName()));
    }
    Structures.Structure shifted =
        new Structures.Structure("rbd_snap_info_t", 24, Map.of("id", 0, "size", 8, "name", 12));
    assertThatThrownBy(
            () -> {
              CAssertions assertions = new CAssertions();
              assertions.structure(shifted);
              assertions.check(headers);
            })
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("rbd_snap_info_t.name is not at 12");
  }
}
