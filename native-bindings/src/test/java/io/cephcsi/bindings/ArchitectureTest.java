package io.cephcsi.bindings;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.jna.Pointer;
import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.EvaluationResult;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What may know what, in this module. Each rule is tried on a class that breaks it, too. */
class ArchitectureTest {
  private static final JavaClasses MAIN =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages("io.cephcsi");

  private static final DescribedPredicate<JavaClass> JNA = resideInAPackage("com.sun.jna..");
  private static final DescribedPredicate<JavaClass> RADOS_JAVA = resideInAPackage("com.ceph..");
  private static final String HANDLE = "io.cephcsi.bindings.rados.RadosHandle";

  private static final ArchRule INTERNAL_IS_INTERNAL =
      noClasses()
          .that()
          .resideOutsideOfPackage("io.cephcsi.bindings..")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("io.cephcsi.bindings.internal..");

  private static final ArchRule JNA_STAYS_INTERNAL =
      noClasses()
          .that()
          .resideOutsideOfPackage("io.cephcsi.bindings.internal..")
          .and()
          .haveNameNotMatching(Pattern.quote(HANDLE) + "(\\$.*)?")
          .should()
          .dependOnClassesThat(JNA.or(RADOS_JAVA));

  private static final ArchRule THE_HANDLE_TAKES_NO_MORE_OF_JNA_THAN_POINTER =
      noClasses()
          .that()
          .haveFullyQualifiedName(HANDLE)
          .or()
          .haveSimpleName("WideHandle")
          .should()
          .dependOnClassesThat(
              JNA.and(DescribedPredicate.not(JavaClass.Predicates.equivalentTo(Pointer.class))));

  private static final ArchRule INTERNAL_USES_NO_RADOS_JAVA =
      noClasses()
          .that()
          .resideInAPackage("io.cephcsi.bindings.internal..")
          .should()
          .dependOnClassesThat(RADOS_JAVA);

  private static final ArchRule PUBLIC_METHODS_SHOW_NO_JNA =
      ArchRuleDefinition.classes()
          .that(
              resideInAPackage("io.cephcsi.bindings..")
                  .and(DescribedPredicate.not(resideInAPackage("io.cephcsi.bindings.internal..")))
                  .and(describe("are public", c -> c.getModifiers().contains(JavaModifier.PUBLIC))))
          .should(showNothingOf(JNA.or(RADOS_JAVA)));

  private static final ArchRule NO_CLASS_IS_A_BAG =
      noClasses()
          .should()
          .haveNameMatching(".*(Util|Utils|Helper|Helpers|Common|Misc)$")
          .orShould()
          .resideInAnyPackage("..util..", "..utils..", "..helper..", "..common..");

  private static final ArchRule ERROR_KNOWS_NOTHING_OF_THE_PROJECT =
      noClasses()
          .that()
          .resideInAPackage("io.cephcsi.bindings.error..")
          .should()
          .dependOnClassesThat(
              resideInAPackage("io.cephcsi..")
                  .and(DescribedPredicate.not(resideInAPackage("io.cephcsi.bindings.error.."))));

  private static final ArchRule RADOS_KNOWS_NO_OTHER_API =
      noClasses()
          .that()
          .resideInAPackage("io.cephcsi.bindings.rados..")
          .should()
          .dependOnClassesThat(
              resideInAnyPackage(
                  "io.cephcsi.bindings.rbd..",
                  "io.cephcsi.bindings.cls..",
                  "io.cephcsi.bindings.cephfs.."));

  private static final ArchRule LIBRBD_DOES_NOT_KNOW_ITS_PROTOCOL =
      noClasses()
          .that()
          .resideInAnyPackage("io.cephcsi.bindings.rbd..", "io.cephcsi.bindings.cephfs..")
          .should()
          .dependOnClassesThat(resideInAPackage("io.cephcsi.bindings.cls.."));

  private static final ArchRule CLASS_CALLS_STAND_IN_ONE_PACKAGE =
      noClasses()
          .that()
          .resideOutsideOfPackages("io.cephcsi.bindings.cls..", "io.cephcsi.bindings.rados..")
          .should()
          .dependOnClassesThat()
          .haveNameMatching("io\\.cephcsi\\.bindings\\.rados\\.Class(Call|Output)");

  private static final ArchRule THE_PROTOCOL_NEEDS_NO_C =
      noClasses()
          .that()
          .resideInAPackage("io.cephcsi.bindings.cls..")
          .should()
          .dependOnClassesThat(resideInAPackage("io.cephcsi.bindings.internal.."));

  private static final ArchRule INTERNAL_KNOWS_NO_API =
      noClasses()
          .that()
          .resideInAPackage("io.cephcsi.bindings.internal..")
          .should()
          .dependOnClassesThat(
              resideInAnyPackage(
                  "io.cephcsi.bindings.rados..",
                  "io.cephcsi.bindings.rbd..",
                  "io.cephcsi.bindings.cls..",
                  "io.cephcsi.bindings.cephfs.."));

  private static JavaClasses offenders;

  @BeforeAll
  static void compileOffenders(@TempDir Path folder) {
    Offenders.compile(folder);
    offenders = new ClassFileImporter().importPath(folder);
  }

  private static Stream<Arguments> rules() {
    return Stream.of(
        rule("internal is used by the bindings only", INTERNAL_IS_INTERNAL, "Outsider"),
        rule("JNA stays in internal", JNA_STAYS_INTERNAL, "JnaUser"),
        rule(
            "the connection takes only Pointer of JNA",
            THE_HANDLE_TAKES_NO_MORE_OF_JNA_THAN_POINTER,
            "WideHandle"),
        rule("internal uses no rados-java", INTERNAL_USES_NO_RADOS_JAVA, "InternalRadosJavaUser"),
        rule("public methods show no JNA type", PUBLIC_METHODS_SHOW_NO_JNA, "JnaShower"),
        rule("no class is a bag", NO_CLASS_IS_A_BAG, "StringUtils"),
        rule("error knows nothing", ERROR_KNOWS_NOTHING_OF_THE_PROJECT, "KnowingError"),
        rule("rados does not know rbd", RADOS_KNOWS_NO_OTHER_API, "RbdUser"),
        rule("rbd does not know cls", LIBRBD_DOES_NOT_KNOW_ITS_PROTOCOL, "ClsUser"),
        rule("class calls stand in cls", CLASS_CALLS_STAND_IN_ONE_PACKAGE, "ClassCaller"),
        rule("cls needs no C", THE_PROTOCOL_NEEDS_NO_C, "InternalUser"),
        rule("internal knows no API", INTERNAL_KNOWS_NO_API, "InternalRadosUser"));
  }

  private static Arguments rule(String name, ArchRule rule, String offender) {
    return Arguments.of(Named.of(name, rule), offender);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("rules")
  void theModuleKeepsTheRule(ArchRule rule, String offender) {
    rule.allowEmptyShould(true).check(MAIN);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("rules")
  void aClassThatBreaksTheRuleIsFound(ArchRule rule, String offender) {
    JavaClasses broken =
        offenders.that(describe(offender, candidate -> candidate.getSimpleName().equals(offender)));
    assertThat(broken).hasSize(1);
    EvaluationResult result = rule.evaluate(broken);
    assertThat(result.hasViolation()).isTrue();
    assertThat(result.getFailureReport().getDetails()).allMatch(line -> line.contains(offender));
  }

  private static ArchCondition<JavaClass> showNothingOf(DescribedPredicate<JavaClass> hidden) {
    return new ArchCondition<>("show none of the hidden types in public methods") {
      @Override
      public void check(JavaClass shown, ConditionEvents events) {
        List<JavaCodeUnit> units = new ArrayList<>(shown.getAllMethods());
        units.addAll(shown.getConstructors());
        for (JavaCodeUnit unit : units) {
          boolean visible =
              unit.getModifiers().contains(JavaModifier.PUBLIC)
                  || unit.getModifiers().contains(JavaModifier.PROTECTED);
          if (!visible || !unit.getOwner().getPackageName().startsWith("io.cephcsi")) {
            continue;
          }
          Stream<JavaClass> types =
              Stream.concat(Stream.of(unit.getReturnType()), unit.getParameterTypes().stream())
                  .flatMap(type -> type.getAllInvolvedRawTypes().stream());
          if (types.anyMatch(hidden)) {
            events.add(SimpleConditionEvent.violated(unit, unit.getFullName() + " shows it"));
          }
        }
      }
    };
  }
}
