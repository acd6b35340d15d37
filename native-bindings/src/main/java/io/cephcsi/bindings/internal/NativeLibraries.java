package io.cephcsi.bindings.internal;

import com.sun.jna.NativeLibrary;

/**
 * Opens Ceph's libraries by their sonames: no development package is needed at run time.
 *
 * <p>A process that ends destroys the static objects of its libraries, while the threads of open
 * connections go on: one that then reads a setting finds none, throws, and the process aborts. So
 * {@code on_exit(3)} is given {@code _exit} as the function to call first, with the exit code. It
 * is called at the end of the JVM, as functions that came later are called earlier.
 */
final class NativeLibraries {
  static {
    try {
      Runtime.getRuntime()
          .addShutdownHook(
              new Thread(() -> LibC.on_exit(LibC.address("_exit"), 0), "native-libraries-exit"));
    } catch (IllegalStateException e) {
      LibC.on_exit(LibC.address("_exit"), 0); // the JVM ends already
    }
  }

  private NativeLibraries() {}

  static NativeLibrary rados() {
    return open("librados.so.2", "librados2");
  }

  static NativeLibrary rbd() {
    return open("librbd.so.1", "librbd1");
  }

  static NativeLibrary cephFs() {
    return open("libcephfs.so.2", "libcephfs2");
  }

  private static NativeLibrary open(String soname, String debianPackage) {
    try {
      return NativeLibrary.getInstance(soname);
    } catch (UnsatisfiedLinkError e) {
      UnsatisfiedLinkError clear =
          new UnsatisfiedLinkError(
              soname + " cannot be loaded; install the package " + debianPackage);
      clear.initCause(e);
      throw clear;
    }
  }

  /** Whether this version of a library has a function; several came after Ceph 16. */
  static boolean has(NativeLibrary library, String function) {
    try {
      library.getFunction(function);
      return true;
    } catch (UnsatisfiedLinkError e) {
      return false;
    }
  }
}
