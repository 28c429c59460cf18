/* Options, names, suggestions, units, arena, random numbers. */
#include "solvers/core/core.h"
#include "tests/tap.h"

#include <string.h>

struct toy_opts {
  double omega, h;
  int max_iter;
  bool fast;
  int mode;
  char inner[PERP_TEXT_MAX];
};
static const char *const modes[] = { "plain", "fancy", NULL };
static const perp_opt toy_options[] = {
  PERP_REAL(struct toy_opts, omega, 1.3, 0, 2, PERP_OPEN_MIN | PERP_OPEN_MAX, "", "relaxation"),
  PERP_REAL(struct toy_opts, h, 0.001, 0, HUGE_VAL, PERP_OPEN_MIN, "s", "step"),
  PERP_INT(struct toy_opts, max_iter, 100, 1, 1e9, "limit"),
  PERP_BOOL(struct toy_opts, fast, false, "hurry"),
  PERP_ENUM(struct toy_opts, mode, 0, modes, "manner"),
  PERP_TEXT(struct toy_opts, inner, "lemke", "sub-solver"),
  PERP_OPTIONS_END
};
static const perp_desc toy = { "toy", "s", "r", NULL, toy_options, sizeof(struct toy_opts), 0 };
static const perp_desc toy_colon = { "gsl:toy", "s",         "r",
                                     NULL,      toy_options, sizeof(struct toy_opts),
                                     0 };
static const perp_desc bare = { "bare", "s", "r", NULL, NULL, 0, 0 };
static const perp_plugin table[] = { { PERP_KIND_lcp, &toy },
                                     { PERP_KIND_lcp, &toy_colon },
                                     { PERP_KIND_lcp, &bare },
                                     { PERP_KIND_NONE, NULL } };

static void refuses(perp_ctx *ctx, const char *text, const char *part)
{
  perp_spec s;
  perp_status st = perp_spec_parse(ctx, PERP_KIND_lcp, text, &s);
  ok(st == PERP_ERR_OPTION && s.d == NULL, "'%s' is refused", text);
  if (!ok(strstr(ctx->msg, part) != NULL, "the message for '%s' says: %s", text, part))
    printf("# message: %s\n", ctx->msg);
}

/* Own tables before and after one of somebody else; the last of all that there can be. */
static void own(void)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  const perp_desc copy = bare;
  const perp_plugin other[] = { { PERP_KIND_lcp, &copy }, { PERP_KIND_NONE, NULL } };
  const perp_plugin first[] = { { PERP_KIND_lcp, &toy }, { PERP_KIND_NONE, NULL } };
  const perp_plugin last[] = { { PERP_KIND_lcp, &bare }, { PERP_KIND_NONE, NULL } };
  perp_register_own(&ctx, first);
  perp_register(&ctx, other);
  ok(perp_is_own(&ctx, &toy) && !perp_is_own(&ctx, &copy) && !perp_is_own(&ctx, &bare),
     "own is what is in an own table");
  while (ctx.n_tables + 1 < PERP_MAX_TABLES) perp_register(&ctx, other);
  ok(perp_register_own(&ctx, last) == PERP_OK && perp_is_own(&ctx, &bare) &&
         !perp_is_own(&ctx, &copy),
     "and in the last one, but not its copy");
  ok(perp_register_own(&ctx, other) == PERP_ERR_NOMEM && !perp_is_own(&ctx, &copy),
     "a table that there is no room for makes nothing own");
}

int main(void)
{
  own();
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  ok(perp_register(&ctx, table) == PERP_OK, "a table is registered");

  perp_spec s;
  ok(perp_spec_parse(&ctx, PERP_KIND_lcp,
                     "toy:omega=1.1,h=2ms,mode=fancy,inner=(pgs:omega=1.2,tol=1e-9)",
                     &s) == PERP_OK,
     "a name with options is read");
  const struct toy_opts *o = s.opts;
  near(o->omega, 1.1, 0, 0, "omega");
  near(o->h, 0.002, 0, 1e-16, "2ms is 0.002 s");
  ok(o->mode == 1, "mode = fancy");
  ok(strcmp(o->inner, "pgs:omega=1.2,tol=1e-9") == 0, "parentheses protect commas");
  char text[512];
  perp_spec_format(&s, text, sizeof text);
  perp_spec again;
  ok(perp_spec_parse(&ctx, PERP_KIND_lcp, text, &again) == PERP_OK &&
         memcmp(again.opts, s.opts, sizeof *o) == 0,
     "canonical text reads back identically: %s", text);
  perp_spec_free(&again);
  perp_spec_free(&s);

  ok(perp_spec_parse(&ctx, PERP_KIND_lcp, "gsl:toy:max_iter=7", &s) == PERP_OK &&
         s.d == &toy_colon && ((struct toy_opts *)s.opts)->max_iter == 7,
     "a name may hold a colon");
  perp_spec_free(&s);
  ok(perp_spec_parse(&ctx, PERP_KIND_lcp, "bare", &s) == PERP_OK && s.opts == NULL,
     "a plug-in without options");
  perp_spec_free(&s);

  refuses(&ctx, "tyo", "did you mean 'toy'");
  refuses(&ctx, "gsl:toi:omega=1", "did you mean 'gsl:toy'");
  refuses(&ctx, "toy:omgea=1", "did you mean 'omega'");
  refuses(&ctx, "toy:omega=2", "toy.omega must be in (0, 2): got 2");
  refuses(&ctx, "toy:omega=nan", "not a number");
  refuses(&ctx, "toy:omega=1x", "pure number");
  refuses(&ctx, "toy:h=1kg", "wrong unit 'kg'");
  refuses(&ctx, "toy:h=0", "(0, inf)");
  refuses(&ctx, "toy:max_iter=1.5", "integer");
  refuses(&ctx, "toy:fast=yes", "true | false");
  refuses(&ctx, "toy:mode=odd", "plain | fancy");
  refuses(&ctx, "toy:omega", "key=value");
  refuses(&ctx, "bare:x=1", "no options");
  refuses(&ctx, "", "unknown lcp");

  double v;
  ok(perp_parse_real(&ctx, "2^-8", "s", &v) == PERP_OK && v == 1.0 / 256, "2^-8");
  ok(perp_parse_real(&ctx, "30deg", "rad", &v) == PERP_OK, "30deg");
  near(v, 0.52359877559829887307710723054658, 0, 1e-15, "30deg in rad");
  static const struct {
    const char *text, *si;
    double value;
  } known[] = { { "2s", "s", 2 },
                { "2ms", "s", 2e-3 },
                { "2us", "s", 2e-6 },
                { "2ns", "s", 2e-9 },
                { "2min", "s", 120 },
                { "2h", "s", 7200 },
                { "2m", "m", 2 },
                { "2mm", "m", 2e-3 },
                { "2cm", "m", 0.02 },
                { "2km", "m", 2000 },
                { "2kg", "kg", 2 },
                { "2g", "kg", 2e-3 },
                { "2t", "kg", 2000 },
                { "2rad", "rad", 2 },
                { "180deg", "rad", M_PI },
                { "2rad/s", "rad/s", 2 },
                { "360deg/s", "rad/s", 2 * M_PI },
                { "60rpm", "rad/s", 2 * M_PI },
                { "2m/s", "m/s", 2 },
                { "36km/h", "m/s", 10 },
                { "2m/s^2", "m/s^2", 2 },
                { "2Hz", "1/s", 2 },
                { "2N", "N", 2 },
                { "2kN", "N", 2000 },
                { "2Nm", "Nm", 2 },
                { "2N/m", "N/m", 2 },
                { "2Ns/m", "Ns/m", 2 },
                { "2kg/m^3", "kg/m^3", 2 },
                { "2kg m^2", "kg m^2", 2 },
                { "2J", "J", 2 } };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    const perp_status status = perp_parse_real(&ctx, known[i].text, known[i].si, &v);
    ok(status == PERP_OK && fabs(v - known[i].value) <= 1e-15 * known[i].value, "%s = %.9g %s",
       known[i].text, v, known[i].si);
  }
  ok(perp_parse_real(&ctx, "0.8 s", "s", &v) == PERP_OK && v == 0.8, "a blank before the unit");

  ok(perp_parse_real(&ctx, "9 ms", "s", &v) == PERP_OK && v == 0.009, "9 ms is 0.009 s exactly");
  ok(perp_parse_real(&ctx, "3 mm", "m", &v) == PERP_OK && v == 0.003, "3 mm is 0.003 m exactly");

  perp_rng *rng = perp_rng_create(42);
  double u = perp_rng_uniform(rng, 0, 1);
  perp_rng_destroy(rng);
  rng = perp_rng_create(42);
  ok(u == perp_rng_uniform(rng, 0, 1) && u >= 0 && u < 1, "equal seeds give equal numbers");
  perp_rng_destroy(rng);

  perp_arena a = { 0 };
  PERP_CARVE(&a, double, 10);
  PERP_CARVE(&a, int, 3);
  size_t counted = a.used;
  ok(perp_arena_reserve(&ctx, &a) == PERP_OK, "reserve");
  double *x = PERP_CARVE(&a, double, 10);
  PERP_CARVE(&a, int, 3);
  ok(a.used == counted && isnan(x[9]) && (uintptr_t)x % 64 == 0,
     "the second pass carves what the first counted");
  perp_arena_free(&a);
  PERP_CARVE(&a, double, SIZE_MAX / 4);
  ok(perp_arena_reserve(&ctx, &a) == PERP_ERR_NOMEM, "a request that cannot fit is refused");
  return tap_done();
}
