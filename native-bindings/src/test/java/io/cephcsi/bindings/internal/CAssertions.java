package io.cephcsi.bindings.internal;

import com.sun.jna.Callback;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;

/** Collects statements about C types, and lets the compiler judge them all. */
final class CAssertions {
  // What __builtin_classify_type says.
  private static final int INTEGER = 1;
  private static final int POINTER = 5;

  private final StringBuilder code = new StringBuilder();

  /** A function has the parameters and the result that its Java twin has. */
  void function(CHeaders headers, Method java) {
    CHeaders.Function c = headers.function(java.getName());
    types(java.getName(), c.result(), c.parameters(), java);
  }

  /** A callback type is the one written here, and has the arguments of the Java method. */
  void callback(String name, String type, Method java) {
    claim(
        "__builtin_types_compatible_p(" + typeof(name) + ", " + typeof(type) + ")",
        name + " is not " + type);
    int split = type.indexOf("(*) (");
    List<String> parameters =
        CHeaders.parameters(type.substring(split + "(*) (".length(), type.length() - 1));
    types(name, type.substring(0, split).strip(), parameters, java);
  }

  private static String typeof(String type) {
    return "__typeof__((" + type + ") 0)";
  }

  private void types(String name, String result, List<String> parameters, Method java) {
    Class<?>[] javaTypes = java.getParameterTypes();
    if (parameters.size() != javaTypes.length) {
      throw new AssertionError(
          name + ": " + parameters.size() + " arguments, not " + javaTypes.length);
    }
    for (int i = 0; i < javaTypes.length; i++) {
      type(name + ": argument " + (i + 1), parameters.get(i), javaTypes[i]);
    }
    type(name + ": result", result, java.getReturnType());
  }

  private void type(String what, String c, Class<?> java) {
    String message = what + ", " + c + ", is not " + java.getSimpleName();
    if (c.equals("void") || java == void.class) {
      if (!c.equals("void") || java != void.class) {
        throw new AssertionError(message);
      }
      return;
    }
    String kind = "__builtin_classify_type((" + c + ") 0)";
    if (Callback.class.isAssignableFrom(java)) {
      // A function: what it points to has no size in ISO C, 1 in GNU C; void and char have 1, too.
      claim(
          kind
              + " == "
              + POINTER
              + " && !__builtin_types_compatible_p("
              + typeof(c)
              + ", char *) && !__builtin_types_compatible_p("
              + typeof(c)
              + ", const char *) && !__builtin_types_compatible_p("
              + typeof(c)
              + ", void *)",
          message);
    } else if (java == long.class) {
      claim("sizeof(" + c + ") == 8 && (" + either(kind) + ")", message);
    } else if (java == int.class) {
      claim("sizeof(" + c + ") == 4 && " + kind + " == " + INTEGER, message);
    } else if (java == byte.class) {
      // Promoted to int: bool, char and uint8_t are integers.
      claim(
          "sizeof(" + c + ") == 1 && __builtin_classify_type((" + c + ") 0 + 0) == " + INTEGER,
          message);
    } else {
      throw new AssertionError(message);
    }
  }

  private static String either(String kind) {
    return kind + " == " + INTEGER + " || " + kind + " == " + POINTER;
  }

  /** A structure has this size and its fields these offsets. */
  void structure(Structures.Structure structure) {
    String name = structure.name();
    claim(
        "sizeof(" + name + ") == " + structure.size(),
        name + " has not " + structure.size() + " bytes");
    for (Map.Entry<String, Integer> field : structure.offsets().entrySet()) {
      claim(
          "offsetof(" + name + ", " + field.getKey() + ") == " + field.getValue(),
          name + "." + field.getKey() + " is not at " + field.getValue());
    }
  }

  /** A macro or enumerator has this value. */
  void constant(String name, long value) {
    claim(name + " == " + value, name + " is not " + value);
  }

  private void claim(String condition, String message) {
    code.append("_Static_assert(")
        .append(condition)
        .append(", \"")
        .append(message)
        .append("\");\n");
  }

  /** Fails with what the compiler says against the statements. */
  void check(CHeaders headers) {
    if (code.isEmpty()) {
      throw new AssertionError("nothing was stated");
    }
    String complaints = headers.compile(code.toString());
    if (!complaints.isEmpty()) {
      throw new AssertionError(complaints);
    }
  }
}
