/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The expression language against conditions worked out by hand, and its messages. */
#include "experiments/base/expr.h"
#include "tests/tap.h"

#include <string.h>

/* two plug-ins of kind stab and a table of five cells */
struct toy_opts {
  double alpha;
  int passes;
  bool velocity;
};
static const perp_opt toy_options[] = {
  PERP_REAL(struct toy_opts, alpha, 10, 0, HUGE_VAL, 0, "1/s", "feedback"),
  PERP_INT(struct toy_opts, passes, 1, 1, 10, "passes"),
  PERP_BOOL(struct toy_opts, velocity, false, "velocity too"), PERP_OPTIONS_END
};
static const perp_desc none = { "none", "s", "r", NULL, NULL, 0, 0 };
static const perp_desc baumgarte = {
  "baumgarte", "s", "r", NULL, toy_options, sizeof(struct toy_opts), 0
};
static const perp_desc post = { "post", "s", "r", NULL, toy_options, sizeof(struct toy_opts), 0 };
static const perp_plugin table[] = { { PERP_KIND_stab, &none },
                                     { PERP_KIND_stab, &baumgarte },
                                     { PERP_KIND_stab, &post },
                                     { PERP_KIND_NONE, NULL } };

static const char *const statuses[] = { "ok", "diverged", "setup-failed", NULL };
static const perp_column columns[] = {
  { "stab", PERP_COLUMN_PLUGIN, NULL, PERP_KIND_stab, NULL },
  { "h", PERP_COLUMN_NUMBER, "s", PERP_KIND_NONE, NULL },
  { "status", PERP_COLUMN_TEXT, NULL, PERP_KIND_NONE, statuses },
  { "drift.pos.max", PERP_COLUMN_NUMBER, "m", PERP_KIND_NONE, NULL },
};
static const struct {
  const char *stab, *status;
  double h, drift;
} cells[] = { { "none", "ok", 0.001, 2e-2 },
              { "baumgarte:alpha=50", "ok", 0.001, 5e-3 },
              { "post", "ok", 0.002, 4e-6 },
              { "post:velocity=true", "ok", 0.004, 1e-6 },
              { "", "diverged", 1.0 / 256, (double)NAN } };

static void value(void *user, int row, int column, perp_value *v)
{
  (void)user;
  switch (column) {
  case 0:
    *v = (perp_value){ PERP_VALUE_TEXT, 0, cells[row].stab };
    break;
  case 1:
    *v = (perp_value){ PERP_VALUE_NUMBER, cells[row].h, NULL };
    break;
  case 2:
    *v = (perp_value){ PERP_VALUE_TEXT, 0, cells[row].status };
    break;
  default:
    *v = (perp_value){ PERP_VALUE_NUMBER, cells[row].drift, NULL };
  }
}
static bool counts(void *user, int row)
{
  (void)user;
  return strcmp(cells[row].status, "ok") == 0;
}

static perp_ctx ctx;
static perp_pool pool;
static perp_scope scope = { &ctx, columns, 4, false, 5, value, counts, NULL };

/* rows: one character a cell, '1' where the condition holds */
static void holds(const char *text, const char *rows)
{
  perp_expr_error error;
  perp_expr *e = perp_expr_parse(&pool, &scope, text, &error);
  char got[6] = "error";
  for (int i = 0; i < 5 && e != NULL; i++) got[i] = perp_expr_true(e, &scope, i) ? '1' : '0';
  if (!ok(strcmp(got, rows) == 0, "%s holds in %s", text, rows))
    printf("# got %s %s\n", got, e == NULL ? error.message : "");
}
static void refused(const char *text, int offset, const char *message, const char *hint)
{
  perp_expr_error error;
  perp_expr *e = perp_expr_parse(&pool, &scope, text, &error);
  if (!ok(e == NULL && error.offset == offset && strstr(error.message, message) != NULL &&
              strstr(error.hint, hint) != NULL,
          "refused: %s", text))
    printf("# %d: %s (%s)\n", error.offset, error.message, error.hint);
}
static void claim(const char *text, bool proved, bool undecided)
{
  perp_expr_error error;
  scope.aggregates = true;
  perp_expr *e = perp_expr_parse(&pool, &scope, text, &error);
  if (!ok(e != NULL && perp_expr_true(e, &scope, -1) == proved &&
              perp_expr_undecided(e, &scope) == undecided,
          "claim %s is %s%s", text, proved ? "proved" : "not proved",
          undecided ? ", undecided" : ""))
    printf("# %s\n", e == NULL ? error.message : "wrong verdict");
  scope.aggregates = false;
}

int main(void)
{
  perp_ctx_init(&ctx);
  perp_register(&ctx, table);

  /* plug-ins as patterns: what the text does not name may be anything */
  holds("stab == \"post\" and h <= 2^-8", "00100");
  holds("stab == post", "00110");
  holds("stab == 'post:passes=1'", "00110");
  holds("stab == 'post:velocity=true'", "00010");
  holds("stab == 'post:velocity=false'", "00100");
  holds("stab == 'baumgarte:alpha=50 1/s'", "01000");
  holds("stab == 'baumgarte:alpha=51'", "00000");
  holds("stab in (none, \"baumgarte\")", "11000");
  holds("stab not in (none, baumgarte)", "00111");
  holds("stab != none", "01111"); /* a missing part is not none */
  holds("stab.alpha > 10", "01000");
  holds("stab.velocity == true", "00010");
  holds("stab.passes == 1", "01110");

  /* numbers, units, precedence */
  holds("h == 1 ms", "11000");
  holds("h == 1ms or h == 4 ms", "11010");
  holds("h == 2^-8", "00001");
  holds("h < 0.002 or h > 0.003 and h < 0.0039", "11000");
  holds("(h < 0.002 or h > 0.003) and h > 0.0039", "00011");
  holds("not h < 0.002 and not stab == post", "00001");
  holds("h * 1000 - 1 <= 1", "11100");
  holds("-h < -3.95 ms", "00010");
  holds("2 ^ -8 == h", "00001");
  holds("drift.pos.max < 1", "11110"); /* NaN is missing: false */
  holds("status == ok and drift.pos.max > 1 mm", "11000");
  holds("status in (diverged, setup-failed)", "00001");

  refused("stbb == post", 0, "unknown column 'stbb'", "did you mean 'stab'");
  refused("stab == pst", 8, "unknown stab 'pst'", "did you mean 'post'");
  refused("stab == 'post:pases=1'", 8, "no option 'pases'", "did you mean 'passes'");
  refused("stab == 'post:passes=0'", 8, "must be an integer in [1, 10]", "");
  refused("stab.alhpa > 1", 0, "no stab has an option 'alhpa'", "");
  refused("status == crsh", 10, "status is never 'crsh'", "");
  refused("h == 1 kg", 5, "wrong unit: s cannot be compared with kg", "");
  refused("h == 1 furlong", 7, "unknown unit 'furlong'", "");
  refused("h = 1 ms", 2, "compares nothing", "did you mean '=='?");
  refused("h == ", 5, "ends too early", "");
  refused("h == 1 ms and", 13, "ends too early", "");
  refused("(h == 1 ms", 10, "expected ')'", "");
  refused("h == 'abc", 5, "quote is not closed", "");
  refused("h == 'abc'", 5, "cannot be compared with a text", "");
  refused("stab < post", 7, "no order", "");
  refused("h", 0, "a condition is needed", "");
  refused("h == 1 ms h", 10, "'h' is out of place", "");
  refused("h == 1 ms $", 10, "unexpected character", "");
  refused("", 0, "ends too early", "");
  refused("max(h) < 1 ms", 0, "works in claims only", "");
  char deep[400];
  memset(deep, '(', sizeof deep);
  deep[399] = '\0';
  refused(deep, 30, "nested too deeply", "");

  /* claims, over the four cells that ended ok */
  claim("max(drift.pos.max, stab == post) < 1e-5", true, false);
  claim("max(drift.pos.max, stab == post) == 4e-6", true, false);
  claim("max(drift.pos.max) < 1e-5", false, false);
  claim("min(drift.pos.max) == 1e-6 and median(drift.pos.max) == 0.002502", true, false);
  claim("mean(h, stab == post) == 3 ms and sum(h, stab == post) == 6 ms", true, false);
  claim("count(status == ok) == 4 and count(status == diverged) == 1", true, false);
  claim("max(drift.pos.max, stab == none) > 3 * max(drift.pos.max, stab == baumgarte)", true,
        false);
  claim("max(drift.pos.max, h > 1 s) < 1", false, true);
  claim("slope(h * h, h) == 2", true, false);
  scope.aggregates = true;
  refused("drift.pos.max < 1", 0, "use max(drift.pos.max, ...)", "");
  refused("maxi(h) < 1 s", 0, "unknown function 'maxi'", "did you mean 'max'");
  refused("max(max(h)) < 1 s", 4, "inside of another", "");
  refused("max(stab) < 1", 4, "must be a number", "");
  refused("max(h, h) < 1 s", 7, "must be a condition", "");
  refused("slope(h) < 1", 7, "an argument is missing", "");
  refused("max(h, h < 1 s, 2) < 1 s", 16, "one argument too many", "");
  scope.aggregates = false;

  double x[] = { 1, 2, 4, 8, 16 }, y[] = { 3, 12, 48, 192, 1 };
  near(perp_log_slope(x, y, 4), 2, 0, 1e-14, "y = 3 x^2 has the slope 2");
  near(perp_log_slope(x, y, 5), 2, 0, 1e-14, "one outlier of five does not decide the slope");
  ok(isnan(perp_log_slope(x, y, 1)), "one point has no slope");
  perp_pool_free(&pool);
  return tap_done();
}
