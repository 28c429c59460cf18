/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The expression language against conditions worked out by hand, and its messages. */
#include "experiments/expr/expr.h"
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
static perp_scope scope = {
  .ctx = &ctx, .columns = columns, .n_columns = 4, .rows = 5, .value = value, .counts = counts
};

/* rows: one character a cell, '1' where the condition holds */
static void holds(const char *text, const char *rows)
{
  perp_expr_error error;
  perp_expr *e = perp_expr_parse(&pool, &scope, text, &error);
  char got[6] = "error";
  for (int i = 0; i < 5 && e != NULL; i++) got[i] = perp_expr_true(e, &scope, i) ? '1' : '0';
  if (!ok(strcmp(got, rows) == 0, "%s holds in %s", text, rows))
    tap_note("got %s %s\n", got, e == NULL ? error.message : "");
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

/* ---- arithmetic of scene files ---- */

static const char *const ways[] = { "up", "down", NULL };
static const perp_column scene_columns[] = {
  { "n", PERP_COLUMN_NUMBER, "", PERP_KIND_NONE, NULL },
  { "edge", PERP_COLUMN_NUMBER, "m", PERP_KIND_NONE, NULL },
  { "g", PERP_COLUMN_NUMBER, "m/s^2", PERP_KIND_NONE, NULL },
  { "m", PERP_COLUMN_NUMBER, "kg", PERP_KIND_NONE, NULL },
  { "way", PERP_COLUMN_TEXT, NULL, PERP_KIND_NONE, ways },
};
static void scene_value(void *user, int row, int column, perp_value *v)
{
  static const double x[] = { 3, 0.5, 9.81, 2 };
  (void)user, (void)row;
  *v = column == 4 ? (perp_value){ PERP_VALUE_TEXT, 0, "down" }
                   : (perp_value){ PERP_VALUE_NUMBER, x[column], NULL };
}
static perp_scope scenes = { .ctx = &ctx,
                             .columns = scene_columns,
                             .n_columns = 5,
                             .rows = 1,
                             .value = scene_value,
                             .arithmetic = true };

static void test_arithmetic(void)
{
  static const struct {
    const char *text, *unit;
    double is;
  } good[] = {
    { "n-1", "", 2 },
    { "(n + 0.5) * edge", "m", 1.75 },
    { "edge + 1", "m", 1.5 },
    { "edge + 10 cm", "m", 0.6 },
    { "sqrt(2 * g * edge)", "m/s", 3.1320919526731650 },
    { "m * g * edge", "J", 9.81 },
    { "m * edge^2 / 12", "kg m^2", 2 * 0.25 / 12 },
    { "edge^(1/2) * edge^0.5", "m", 0.5 },
    { "mod(n, 2)", "", 1 },
    { "mod(-1, 5)", "", 4 },
    { "min(n, 2, 7) + max(1, 4)", "", 6 },
    { "abs(-2) + floor(2.7) + ceil(0.1)", "", 5 },
    { "sin(30 deg) + cos(60 deg)", "", 1 },
    { "atan2(edge, edge)", "rad", M_PI / 4 },
    { "if(way == up, 1, 2)", "m", 2 },
    { "if(mod(n, 2) == 1 and n > 2, edge, 1 m)", "m", 0.5 },
    { "1/240", "s", 1.0 / 240 },
    { "-edge", "m", -0.5 },
  };
  perp_expr_error e;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    const perp_expr *x = perp_expr_parse(&pool, &scenes, good[i].text, &e);
    if (ok(x != NULL && perp_expr_fits(x, &scenes, good[i].unit, &e), "%s is in '%s'", good[i].text,
           good[i].unit))
      near(perp_expr_eval(x, &scenes, 0).number, good[i].is, 1e-15, 1e-15, "%s", good[i].text);
    else
      printf("# %d: %s\n", e.offset, e.message);
  }
  static const struct {
    const char *text, *unit, *message;
    int offset;
  } bad[] = {
    { "edge + m", "m", "this is in kg; unit of the other operand: m", 7 },
    { "2 * edge", "kg", "this is in m; required here: kg", 0 },
    { "sqrt(2 * 9.81 * edge)", "m/s", "this is in m^0.5; required here: m/s", 0 },
    { "sin(edge)", "", "this is in m; required here: a pure number", 4 },
    { "edge^n", "m", "requires a number as exponent", 5 },
    { "min(edge, m)", "m", "this is in kg; unit of the other operand: m", 10 },
    { "if(edge > m, 1, 2)", "", "this is in kg; unit of the other operand: m", 10 },
    { "n > 1", "", "a number is required here", 0 },
    { "sine(1)", "", "unknown function 'sine'", 0 },
    { "sqrt(1, 2)", "", "one argument too many", 8 },
    { "mod(1)", "", "an argument is missing", 5 },
    { "if(1, 2, 3)", "", "a condition is required here", 3 },
    { "edg", "m", "unknown name 'edg'", 0 },
    { "2 +", "m", "the expression ends too early", 3 },
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const perp_expr *x = perp_expr_parse(&pool, &scenes, bad[i].text, &e);
    const bool refused = x == NULL || !perp_expr_fits(x, &scenes, bad[i].unit, &e);
    if (!ok(refused && e.offset == bad[i].offset && strstr(e.message, bad[i].message) != NULL,
            "%s: %s", bad[i].text, bad[i].message))
      printf("# %d: %s\n", e.offset, e.message);
  }
  char unit[64];
  perp_expr_unit(perp_expr_parse(&pool, &scenes, "m * edge^2 * g", &e), &scenes, unit, sizeof unit);
  ok(strcmp(unit, "m^3 kg s^-2") == 0, "a unit without a name: %s", unit);
}

/* ---- units as products, quotients and powers ---- */

static void units_of(const perp_scope *names, const char *text, const char *unit, double is)
{
  perp_expr_error e = { 0 };
  const perp_expr *x = perp_expr_parse(&pool, names, text, &e);
  if (ok(x != NULL && perp_expr_fits(x, names, unit, &e), "%s is in '%s'", text, unit))
    near(perp_expr_eval(x, names, 0).number, is, 1e-15, 2e-16, "%s", text);
  else
    printf("# %d: %s\n", e.offset, e.message);
}

static void units_refused(const perp_scope *names, const char *text, const char *unit, int offset,
                          const char *message, const char *hint)
{
  perp_expr_error e = { 0 };
  const perp_expr *x = perp_expr_parse(&pool, names, text, &e);
  const bool refused = x == NULL || !perp_expr_fits(x, names, unit, &e);
  if (!ok(refused && e.offset == offset && strstr(e.message, message) != NULL &&
              strstr(e.hint, hint) != NULL,
          "%s: %s", text, message))
    printf("# %d: %s (%s)\n", e.offset, e.message, e.hint);
}

static void test_units(void)
{
  perp_scope plain = scenes; /* no value is called m */
  plain.n_columns = 3;
  static const struct {
    const char *text, *unit;
    double is;
  } good[] = {
    { "2 kg/m * 1 m", "kg", 2 },       { "1 s^2", "s^2", 1 },
    { "3 N m / rad", "Nm", 3 },        { "1/s", "1/s", 1 },
    { "5/s * 2 s", "", 10 },           { "4 1/s", "1/s", 4 },
    { "4 1/s^2 * 1 m", "m/s^2", 4 },   { "2 kg m^2/s^2", "J", 2 },
    { "2 kg m^2 s^-2", "J", 2 },       { "2 kg*m^2/s^2", "J", 2 },
    { "7 J/(kg s)", "m^2 s^-3", 7 },   { "7 J / (kg s^2)", "m^2 s^-4", 7 },
    { "3 g/cm^3", "kg/m^3", 3000 },    { "36 km/h", "m/s", 10 },
    { "6 m/min", "m/s", 0.1 },         { "90 deg/s", "rad/s", M_PI / 2 },
    { "60 rpm", "1/s", 2 * M_PI },     { "2 N/mm", "N/m", 2000 },
    { "5 mm^2", "m^2", 5e-6 },         { "2 cm^3", "m^3", 2e-6 },
    { "8 N s/m", "Ns/m", 8 },          { "8 Ns/m", "Ns/m", 8 },
    { "4 Nms/rad", "Nms/rad", 4 },     { "4 N m s / rad", "Nms/rad", 4 },
    { "9 Nm/rad * 2", "Nm", 18 },      { "3 kN/m/s", "kg s^-3", 3000 },
    { "2 W / (3 m/s)", "N", 2.0 / 3 }, { "1e5 Pa * 2 m^2", "N", 2e5 },
    { "(2 m)^2", "m^2", 4 },           { "3 m^0.5 * 2 m^0.5", "m", 6 },
    { "2 m / min(1, 2)", "m", 2 },     { "2 kg/m + 1", "kg/m", 3 },
  };
  for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    units_of(&plain, good[i].text, good[i].unit, good[i].is);
  /* a value called m: behind a number and behind "/" without blanks it is the metre */
  units_of(&scenes, "3 m", "m", 3);
  units_of(&scenes, "6 N/m", "N/m", 6);
  units_of(&scenes, "6 N / m", "m/s^2", 3);
  units_of(&scenes, "6 kg/m", "kg/m", 6);
  units_of(&scenes, "6/m", "kg^-1", 3);
  units_of(&scenes, "6 / m", "kg^-1", 3);
  units_of(&scenes, "6 N*m", "N kg", 12);
  units_of(&scenes, "6 1/m", "m^-1", 6);
  units_of(&scenes, "2 kg m^2", "kg m^2", 2);
  units_of(&scenes, "6 N m", "Nm", 6);

  units_refused(&plain, "2 kgm", "kg", 2, "unknown unit 'kgm'", "kg m^2/s");
  units_refused(&plain, "2 furlong/s", "m/s", 2, "unknown unit 'furlong'", "");
  units_refused(&plain, "2 m/foo", "m/s", 4, "unknown name 'foo'", "");
  units_refused(&plain, "1 s^", "s", 3, "the power of a unit must be a number '^'", "");
  units_refused(&plain, "1 s^n", "s", 3, "the power of a unit must be a number '^n'", "");
  units_refused(&plain, "1 m^2 m3", "m^3", 6, "'m3' is not allowed here", "");
  units_refused(&plain, "1 kg/", "kg", 5, "the expression ends too early", "");
  units_refused(&plain, "1 kg//m", "kg", 5, "'/' is not allowed here", "");
  units_refused(&plain, "1 kg/(m + s)", "kg/m", 6, "unknown name 'm'", "1 m");
  units_refused(&plain, "2 * s", "s", 4, "unknown name 's'", "a unit stands behind a number: 1 s");
  units_refused(&plain, "s", "s", 0, "unknown name 's'", "a unit stands behind a number: 1 s");
  units_refused(&plain, "2 kg/m", "kg", 0, "this is in kg/m; required here: kg", "");
  units_refused(&plain, "3 N m / rad", "N", 0, "this is in Nm; required here: N", "");
  units_refused(&plain, "1 s^2 + 1 s", "s^2", 8, "this is in s; unit of the other operand: s^2",
                "");

  static const char *const are[] = { "", "kg", "N", "kg/m", "kg m^2/s", "1/s^2", "N m / rad" },
                           *const are_not[] = { "furlong", "mm", "m or rad", "kg/", "2 kg", "min" };
  for (size_t i = 0; i < sizeof are / sizeof *are; i++)
    ok(perp_expr_unit_is(are[i]), "'%s' is an SI unit", are[i]);
  for (size_t i = 0; i < sizeof are_not / sizeof *are_not; i++)
    ok(!perp_expr_unit_is(are_not[i]), "'%s' is no SI unit", are_not[i]);
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
  refused("status == crsh", 10, "status never has the value 'crsh'", "");
  refused("h == 1 kg", 5, "wrong unit: s cannot be compared with kg", "");
  refused("h == 1 furlong", 7, "unknown unit 'furlong'", "");
  refused("h = 1 ms", 2, "is not a comparison", "did you mean '=='?");
  refused("h == ", 5, "ends too early", "");
  refused("h == 1 ms and", 13, "ends too early", "");
  refused("(h == 1 ms", 10, "expected ')'", "");
  refused("h == 'abc", 5, "quote is not closed", "");
  refused("h == 'abc'", 5, "cannot be compared with a text", "");
  refused("stab < post", 7, "no order", "");
  refused("h", 0, "a condition is required", "");
  refused("h == 1 ms h", 10, "'h' is not allowed here", "");
  refused("h == 1 ms $", 10, "unexpected character", "");
  refused("", 0, "ends too early", "");
  refused("max(h) < 1 ms", 0, "works only in claims", "");
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
  claim("order(h * h, h) == 2", true, false); /* another name */
  scope.aggregates = true;
  refused("drift.pos.max < 1", 0, "use max(drift.pos.max, ...)", "");
  refused("maxi(h) < 1 s", 0, "unknown function 'maxi'", "did you mean 'max'");
  refused("max(max(h)) < 1 s", 4, "cannot stand inside another", "");
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
  test_arithmetic();
  test_units();
  return tap_done();
}
