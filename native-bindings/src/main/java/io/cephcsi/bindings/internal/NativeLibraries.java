package io.cephcsi.bindings.internal;

import com.sun.jna.NativeLibrary;

/** Opens Ceph's libraries by their sonames: no development package is needed at run time. */
final class NativeLibraries {
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
