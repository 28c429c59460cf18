/* Options, names, suggestions, units, arena, random numbers. */
#include "solvers/core/core.h"
#include "tests/tap.h"

#include <stdlib.h>
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
struct near_opts {
  int links, link;
};
static const char *const near_links[] = { "rod", "box", NULL };
static const perp_opt near_options[] = {
  PERP_INT(struct near_opts, links, 6, 1, 9, "Number of links."),
  PERP_ENUM(struct near_opts, link, 0, near_links, "Shape of the links."), PERP_OPTIONS_END
};
static const perp_desc near_keys = { "near", "s", "r", NULL, near_options, sizeof(struct near_opts),
                                     0 };
static const perp_desc bare = { "bare", "s", "r", NULL, NULL, 0, 0 };
static const perp_plugin table[] = { { PERP_KIND_lcp, &toy },
                                     { PERP_KIND_lcp, &toy_colon },
                                     { PERP_KIND_lcp, &near_keys },
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

/* Edits from a to b by definition: the first letters are equal, one is replaced, left out, put in,
 * or two change places. */
static int edits(const char *a, const char *b)
{
  if (*a == 0 || *b == 0) return (int)(strlen(a) + strlen(b));
  int least = edits(a + 1, b + 1) + (*a != *b);
  const int out = edits(a + 1, b) + 1, in = edits(a, b + 1) + 1;
  least = out < least ? out : least;
  least = in < least ? in : least;
  if (a[1] != 0 && b[1] != 0 && a[0] == b[1] && a[1] == b[0]) {
    const int swap = edits(a + 2, b + 2) + 1;
    least = swap < least ? swap : least;
  }
  return least;
}

/* The word that is meant: the one of least distance, the first of several; none beyond a third of
 * the letters and one. */
static const char *meant(const char *word, const char *const *of, int n)
{
  const size_t length = strlen(word);
  const char *best = NULL;
  int least = 2 + (int)length / 3;
  for (int i = 0; i < n; i++) {
    int d = edits(word, of[i]);
    if (length >= 3 && d > 1 && strncmp(word, of[i], length) == 0) d = 1;
    if (d < least) least = d, best = of[i];
  }
  return best;
}

static void suggestions(void)
{
  static const struct {
    const char *word, *near, *far; /* the candidates, in both orders */
    int distance;                  /* of the near one */
  } known[] = {
    { "lemke", "lemke", "lemkes", 0 },   { "lemkr", "lemke", "lexkr2", 1 },
    { "lmke", "lemke", "fake", 1 },      { "lemmke", "lemke", "lemons", 1 },
    { "lmeke", "lemke", "eleme", 1 },    { "elmek", "lemke", "lemons", 2 },
    { "dantzgi", "dantzig", "dane", 1 }, { "bamu", "baum", "bauer", 1 },
    { "bau", "baumgarte", "bxx", 6 },    { "xbaumgarte", "baumgarte", "baum", 1 },
  };
  int wrong = 0, cases = 0, none = 0;
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    const char *there[] = { known[k].near, known[k].far }, *back[] = { there[1], there[0] };
    ok(edits(known[k].word, known[k].near) == known[k].distance &&
           perp_closest(known[k].word, there, 2) == known[k].near &&
           perp_closest(known[k].word, back, 2) == known[k].near,
       "%s: %s, not %s", known[k].word, known[k].near, known[k].far);
  }
  ok(perp_closest("abc", (const char *const[]){ "xyz", "axyz" }, 2) == NULL,
     "abc: nothing is near");
  /* words of few letters, against the definition */
  perp_rng *g = perp_rng_create(6);
  for (int trial = 0; trial < 4000; trial++) {
    char text[4][9];
    const char *of[3] = { text[0], text[1], text[2] };
    for (int k = 0; k < 4; k++) {
      const int length = perp_rng_int(g, k < 3 ? 7 : 8);
      for (int i = 0; i < length; i++) text[k][i] = (char)('a' + perp_rng_int(g, 2 + trial % 4));
      text[k][length] = 0;
    }
    const char *want = meant(text[3], of, 3);
    wrong += perp_closest(text[3], of, 3) != want;
    none += want == NULL;
    cases++;
  }
  perp_rng_destroy(g);
  ok(wrong == 0 && none > 100 && none < cases - 1000, "%d of %d words mean another (none: %d)",
     wrong, cases, none);
  /* as long as can be, and longer: those are far from all */
  char longest[64], other[64], beyond[65], huge[300];
  memset(longest, 'a', 63), memset(other, 'a', 63), memset(beyond, 'a', 64), memset(huge, 'b', 299);
  longest[63] = other[63] = beyond[64] = huge[299] = 0;
  other[62] = 'b';
  const char *const both[] = { other, beyond };
  ok(perp_closest(longest, both, 1) == other, "63 letters, the last is another");
  ok(perp_closest("no", &both[1], 1) == NULL, "64 letters are not near two");
  ok(perp_closest(huge, both, 2) == NULL, "nor are 63 near 299 others");
}

struct lists {
  size_t n;
  double *x, *y;
  int *i;
};

static void layout(void *ws, perp_arena *a)
{
  struct lists *l = ws;
  PERP_DOUBLES(a, l->n, &l->x, &l->y);
  PERP_INTS(a, l->n, &l->i);
}

int main(void)
{
  own();
  suggestions();
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
  refuses(&ctx, "toy:omega=1x", "a number without a unit is expected; remove 'x'");
  refuses(&ctx, "toy:h=1kg", "wrong unit 'kg'");
  refuses(&ctx, "toy:h=0", "(0, inf)");
  refuses(&ctx, "toy:max_iter=1.5", "integer");
  refuses(&ctx, "toy:fast=yes", "true | false");
  refuses(&ctx, "toy:mode=odd", "plain | fancy");
  refuses(&ctx, "toy:omega", "key=value");
  /* a key that exists, with a value of another kind: the near key that takes it */
  refuses(&ctx, "near:link=6", "near.link must be one of rod | box: got 6; did you mean 'links'?");
  refuses(&ctx, "near:links=box", "did you mean 'link'?");
  refuses(&ctx, "near:link=0", "got 0"); /* links takes no 0 either */
  ok(strstr(ctx.msg, "did you mean") == NULL, "no key is near that takes it: %s", ctx.msg);
  refuses(&ctx, "near:links=0", "near.links must be an integer in [1, 9]: got 0");
  ok(strstr(ctx.msg, "did you mean") == NULL, "a number out of range is of the right kind: %s",
     ctx.msg);
  refuses(&ctx, "bare:x=1", "no options");
  refuses(&ctx, "", "unknown lcp");

  double v;
  ok(perp_parse_real(&ctx, "2^-8", "s", &v) == PERP_OK && v == 1.0 / 256, "2^-8");
  ok(perp_parse_real(&ctx, "1/240", "s", &v) == PERP_OK && v == 1.0 / 240, "1/240");
  ok(perp_parse_real(&ctx, "1/240 s", "s", &v) == PERP_OK && v == 1.0 / 240, "1/240 s");
  ok(perp_parse_real(&ctx, "3 m/s", "m/s", &v) == PERP_OK && v == 3, "a unit with a stroke");
  ok(perp_parse_real(&ctx, "1/0", "s", &v) == PERP_ERR_OPTION, "1/0 is no number");
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
  perp_arena_free(&a);

  struct lists like = { .n = 5 }, *lists;
  void *ws;
  ok(perp_workspace_create(&ctx, "lists", &like, sizeof like, layout, &ws) == PERP_OK, "workspace");
  lists = ws;
  ok(lists->n == 5 && lists->x + 8 <= lists->y && (char *)(lists->y + 5) <= (char *)lists->i &&
         (char *)lists->x >= (char *)ws + sizeof like && isnan(lists->y[4]) &&
         (uintptr_t)lists->y % 64 == 0,
     "the struct, then its arrays");
  free(ws);
  like.n = SIZE_MAX / 4;
  ok(perp_workspace_create(&ctx, "lists", &like, sizeof like, layout, &ws) == PERP_ERR_NOMEM &&
         ws == NULL && strncmp(ctx.msg, "lists: no memory", 16) == 0,
     "a workspace that cannot fit is refused: %s", ctx.msg);
  like.n = 3;
  ok(perp_arena_layout(&ctx, &a, layout, &like) == PERP_OK && isnan(like.x[2]), "arena layout");
  like.n = 300;
  ok(perp_arena_layout(&ctx, &a, layout, &like) == PERP_OK && isnan(like.x[299]), "it grows");
  perp_arena_free(&a);
  return tap_done();
}
