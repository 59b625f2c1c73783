/* check.h - the smallest test harness that does: a program per subject, checks that
 * count, and the suite's closing line. A failed check prints itself and the run goes on.
 */
#ifndef CHECK_H
#define CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_passed, check_failed, check_skipped;

static inline int check_that(int ok, const char *file, int line, const char *text)
{
    if (ok)
        check_passed++;
    else {
        check_failed++;
        printf("FAIL %s:%d: %s\n", file, line, text);
    }
    return ok;
}

static inline int check_near(double have, double want, double tolerance, const char *file,
                             int line, const char *text)
{
    if (fabs(have - want) <= tolerance) { /* false for NaN on either side */
        check_passed++;
        return 1;
    }
    check_failed++;
    printf("FAIL %s:%d: %s: have %.17g, want %.17g +- %.3g\n", file, line, text, have,
           want, tolerance);
    return 0;
}

#define CHECK(condition) check_that(!!(condition), __FILE__, __LINE__, #condition)
#define CHECK_NEAR(have, want, tolerance) \
    check_near(have, want, tolerance, __FILE__, __LINE__, #have)
#define CHECK_STRING(have, want)                                                \
    (check_that(!strcmp(have, want), __FILE__, __LINE__, #have " is " #want) || \
     (printf("     have \"%s\"\n     want \"%s\"\n", have, want), 0))
#define CHECK_OK(call)                                     \
    (check_that((call) == 0, __FILE__, __LINE__, #call) || \
     (printf("     %s\n", sim_error_text()), 0))

static inline void check_skip(const char *why)
{
    check_skipped++;
    printf("SKIP %s\n", why);
}

static inline int check_report(void)
{
    printf("%d passed, %d failed, %d skipped\n", check_passed, check_failed,
           check_skipped);
    return check_failed != 0;
}

#endif
