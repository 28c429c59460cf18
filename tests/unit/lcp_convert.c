/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conversions between kinds of LCPs: solutions correspond, in both directions, on random problems.
 */
#include "solvers/lcp/io/convert.h"
#include "solvers/solvers.h"
#include "tests/lcp_rel.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

static perp_lcp_problem make(perp_lcp_recipe recipe)
{
  perp_lcp_problem q;
  if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s: %s", recipe.family, ctx.msg);
  return q;
}

/* x out: a solution of p by the named method; the judge's rel */
static double solve(const char *method, const perp_lcp *p, double *x)
{
  perp_spec spec;
  perp_lcp_solver *s;
  perp_stats stats;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, method, &spec) != PERP_OK ||
      perp_lcp_create(&ctx, &spec, p->n, 0, &s) != PERP_OK)
    bail("%s", ctx.msg);
  memset(x, 0, (size_t)p->n * sizeof *x);
  if (perp_lcp_solve(&ctx, s, p, 1e-10, x, NULL, NULL, &stats) != PERP_OK) bail("%s", ctx.msg);
  perp_lcp_destroy(s);
  perp_spec_free(&spec);
  return stats.residual;
}

static void check_pure(void)
{
  static const char *const families[] = { "spd", "boxed", "boxed-psd" };
  double worst = 0, apart = 0;
  int kinds = 0;
  for (int k = 0; k < 300; k++) {
    perp_lcp_problem p = make(
        (perp_lcp_recipe){ .family = families[k % 3], .n = 1 + k / 3 % 6, .seed = (uint64_t)k });
    perp_lcp_problem q;
    perp_lcp_map *map;
    double z[40], x[8];
    if (perp_lcp_pure(&ctx, &p, &q, &map) != PERP_OK) bail("%s", ctx.msg);
    kinds |= q.p.n > p.p.n ? 2 : q.p.n < p.p.n ? 1 : 0;
    if (perp_lcp_needs(&q.p) != 0) bail("the pure problem is none");
    double own = solve("enumerate", &q.p, z);
    if (own > 1e-11)
      printf("# %s n=%d seed %d pure n=%d: %g\n", families[k % 3], p.p.n, k, q.p.n, own);
    worst = fmax(worst, own);
    perp_lcp_map_back(map, z, x);
    double rel = independent_rel(&p.p, p.p.A, x);
    worst = fmax(worst, isnan(rel) ? HUGE_VAL : rel);
    if (k % 3 != 2)
      for (int i = 0; i < p.p.n; i++) apart = fmax(apart, fabs(x[i] - p.solution[i]));
    perp_lcp_map_free(map);
    perp_lcp_problem_free(&p);
    perp_lcp_problem_free(&q);
  }
  /* rounding of the elimination of free rows with condition numbers of a few hundred; worst seen
   * 2e-13 */
  below(worst, 1e-11, "pure LCP: its solutions solve the boxed problem");
  below(apart, 1e-9, "pure LCP: a unique solution comes back");
  ok(kinds == 3, "both more and fewer rows than before were met");
}

/* singular block of free rows: the split is used, and exact */
static void check_split(void)
{
  double A[9] = { 1, 1, 0, 1, 1, 0, 0, 0, 2 }, b[3] = { -1, -1, -4 };
  double lo[3] = { -HUGE_VAL, -HUGE_VAL, 0 }, x[3], z[5];
  perp_lcp_problem p, q;
  perp_lcp_map *map;
  perp_lcp view = { .n = 3, .A = A, .lda = 3, .b = b, .lo = lo };
  if (perp_lcp_copy(&ctx, &view, &p) != PERP_OK) bail("%s", ctx.msg);
  if (perp_lcp_pure(&ctx, &p, &q, &map) != PERP_OK) bail("%s", ctx.msg);
  ok(q.p.n == 5, "a singular block of two free rows is split into four");
  below(solve("enumerate", &q.p, z), 1e-12, "the split problem is solved");
  perp_lcp_map_back(map, z, x);
  near(x[0] + x[1], 1, 0, 1e-12, "its solution satisfies the equality");
  near(x[2], 2, 0, 1e-12, "and the contact row");
  perp_lcp_map_free(map);
  perp_lcp_problem_free(&p);
  perp_lcp_problem_free(&q);
  p = make((perp_lcp_recipe){ .family = "stack-box", .n = 12 });
  ok(perp_lcp_pure(&ctx, &p, &q, &map) == PERP_ERR_UNSUPPORTED && map == NULL,
     "friction rows are refused");
  perp_lcp_problem_free(&p);
}

/* beta_k alone is a force along direction k of n_d */
static void check_directions(int n_d)
{
  perp_lcp_problem p = make((perp_lcp_recipe){ .family = "incline-cone", .n = 12 });
  double z[4 + 4 * 16 + 4], back[12], worst = 0;
  for (int k = 0; k < n_d; k++) {
    memset(z, 0, sizeof z);
    z[4 + k] = 2;
    perp_lcp_pyramid_back(&p.p, n_d, z, back);
    worst = fmax(
        worst, hypot(back[1] - 2 * cos(2 * M_PI * k / n_d), back[2] - 2 * sin(2 * M_PI * k / n_d)));
    worst = fmax(worst, fabs(back[0]));
  }
  below(worst, 1e-15, "%d directions at equal angles", n_d);
  perp_lcp_problem_free(&p);
}

/* a cube on a slope of 20 degrees, g h = 0.0981 m/s: the friction laws by their closed forms */
static void check_slope(void)
{
  double g = 0.0981, s = 0.34202014332566873, c = 0.93969262078590838, x[24], back[12];
  /* one step of sliding with mu = 0.2 takes mu m g h cos of momentum down to m g h (sin - mu cos)
   */
  perp_lcp_problem p = make((perp_lcp_recipe){ .family = "incline-box", .n = 12 }), q;
  double tangential = 0, normal = 0;
  below(solve("fixed-point", &p.p, x), 1e-10, "a sliding cube with boxed friction is solved");
  for (int k = 0; k < 4; k++) {
    normal += x[3 * k];
    tangential += x[3 * k + 1];
  }
  near(normal, g * c, 0, 1e-9, "its normal impulses carry m g h cos");
  near(tangential, -0.2 * g * c, 0, 1e-9, "its friction is mu times that");
  perp_lcp_problem_free(&p);

  p = make((perp_lcp_recipe){ .family = "incline-cone", .n = 12 });
  if (perp_lcp_pyramid(&ctx, &p, 8, &q) != PERP_OK) bail("%s", ctx.msg);
  double big[4 + 32 + 4];
  below(solve("lemke", &q.p, big), 1e-10, "the same with pyramids of 8 directions");
  perp_lcp_pyramid_back(&p.p, 8, big, back);
  /* slip along one of the directions: the pyramid touches the cone there */
  below(independent_rel(&p.p, p.p.A, back), 1e-9, "slip along a direction: exact on the cone");
  perp_lcp_problem_free(&q);
  if (perp_lcp_boxes(&ctx, &p, 1, &q) != PERP_OK) bail("%s", ctx.msg);
  ok(q.p.cone == NULL && perp_lcp_needs(&q.p) == PERP_LCP_FRICTION, "cones become boxes");
  perp_lcp_problem_free(&q);
  ok(perp_lcp_boxes(&ctx, &p, 2, &q) == PERP_ERR_ARG, "a factor above one is refused");
  perp_lcp_problem_free(&p);

  static const struct {
    const char *family;
    double mu;
  } slopes[] = { { "incline-slide", 0.2 },
                 { "incline-stick", 0.5 },
                 { "incline-edge", 0.3639702 } };
  for (int k = 0; k < 3; k++) {
    p = make((perp_lcp_recipe){ .family = slopes[k].family, .n = 24 });
    below(solve("lemke", &p.p, x), 1e-10, "%s is solved", slopes[k].family);
    double w[24], speed = fmax(0, g * (s - slopes[k].mu * c));
    perp_lcp_product(&p.p, x, w, NULL);
    /* w of direction +x of the first contact is slip + gamma, of -x is gamma - slip */
    near(0.5 * (w[4] - w[6]), speed, 1e-7 * g, 1e-9, "%s: slips at g h (sin - mu cos) or sticks",
         slopes[k].family);
    perp_lcp_problem_free(&p);
  }
}

/* Stewart and Trinkle's problem from contact data: F has one group of three rows a contact,
 * b = J v + ... [3 nc], mu [nc] */
static perp_status from_contacts(const perp_blocks *F, const double *b, const double *mu, int n_d,
                                 perp_lcp_problem *out)
{
  perp_lcp_problem p, dense;
  *out = (perp_lcp_problem){ 0 };
  for (int c = 0; c < F->nc; c++)
    if (F->cptr[c + 1] - F->cptr[c] != 3)
      return PERP_FAIL(&ctx, PERP_ERR_DIM, "contact %d has %d rows, not 3", c,
                       F->cptr[c + 1] - F->cptr[c]);
  PERP_TRY(perp_lcp_problem_new(&ctx, F->m, PERP_PART_FRICTION | PERP_PART_CONE, &p));
  perp_lcp_arrays x = perp_lcp_edit(&p);
  for (int c = 0; c < F->nc; c++) {
    for (int k = 0; k < 3; k++) x.b[3 * c + k] = b[3 * c + k];
    for (int k = 1; k < 3; k++) {
      x.fric_of[3 * c + k] = 3 * c;
      x.mu[3 * c + k] = mu[c];
    }
    x.cone[3 * c + 1] = 1;
  }
  perp_status status = perp_lcp_problem_set_blocks(&ctx, &p, F);
  if (status == PERP_OK) status = perp_lcp_problem_form(&ctx, &p, &dense);
  perp_lcp_problem_free(&p);
  if (status != PERP_OK) return status;
  status = perp_lcp_pyramid(&ctx, &dense, n_d, out);
  perp_lcp_problem_free(&dense);
  return status;
}

/* cones in factored form make the same pyramid as formed ones */
static void check_builder(void)
{
  perp_lcp_problem f = make(
      (perp_lcp_recipe){ .family = "incline-cone", .n = 24, .factored = true });
  perp_lcp_problem d = make((perp_lcp_recipe){ .family = "incline-cone", .n = 24 }), a, b;
  double mu[8];
  for (int c = 0; c < 8; c++) mu[c] = 0.2;
  if (from_contacts(f.p.F, f.p.b, mu, 4, &a) != PERP_OK) bail("%s", ctx.msg);
  if (perp_lcp_pyramid(&ctx, &d, 4, &b) != PERP_OK) bail("%s", ctx.msg);
  ok(a.p.n == 48 && memcmp(a.p.A, b.p.A, sizeof(double) * 48 * 48) == 0 &&
         memcmp(a.p.b, b.p.b, sizeof(double) * 48) == 0,
     "Stewart-Trinkle from contact data: 6 rows a contact, the same bits");
  perp_lcp_problem_free(&a);
  perp_lcp_problem_free(&b);
  perp_lcp_problem_free(&d);
  perp_lcp_problem_free(&f);
}

/* equilibration leaves the answer where it was */
static void check_equilibration(void)
{
  double worst = 0, apart = 0;
  for (int k = 0; k < 60; k++) {
    perp_lcp_problem p = make((perp_lcp_recipe){ .family = "boxed", .n = 6, .seed = (uint64_t)k });
    perp_lcp_arrays x = perp_lcp_edit(&p);
    double D[6], z[6] = { 0 };
    perp_rng *rng = perp_rng_create((uint64_t)k);
    for (int i = 0; i < 6; i++) D[i] = ldexp(1, perp_rng_int(rng, 41) - 20);
    perp_rng_destroy(rng);
    /* badly scaled: D A D, D b, lo / D, hi / D */
    for (int i = 0; i < 6; i++) {
      for (int j = 0; j < 6; j++) x.A[i + 6 * j] *= D[i] * D[j];
      x.b[i] *= D[i];
      x.lo[i] /= D[i];
      x.hi[i] /= D[i];
      x.solution[i] /= D[i];
    }
    perp_spec spec;
    perp_lcp_solver *s;
    perp_stats stats;
    if (perp_spec_parse(&ctx, PERP_KIND_lcp, "lemke", &spec) != PERP_OK ||
        perp_lcp_create(&ctx, &spec, 6, 0, &s) != PERP_OK ||
        perp_lcp_equilibrate(&ctx, s, true) != PERP_OK ||
        perp_lcp_solve(&ctx, s, &p.p, 1e-10, z, NULL, NULL, &stats) != PERP_OK)
      bail("%s", ctx.msg);
    worst = fmax(worst, independent_rel(&p.p, p.p.A, z));
    for (int i = 0; i < 6; i++) apart = fmax(apart, fabs(z[i] - x.solution[i]) * D[i]);
    perp_lcp_destroy(s);
    perp_spec_free(&spec);
    perp_lcp_problem_free(&p);
  }
  below(worst, 1e-10, "equilibrated solves pass the judge of the problem as given");
  below(apart, 1e-9, "and find its solution, over twelve decades of row scales");
}

/* A known solution stays one without cones, and is none of the boxes that take their place. */
static void check_boxes_solution(void)
{
  static const char *const families[] = { "spd", "stack-cone" };
  for (int k = 0; k < 2; k++) {
    perp_lcp_problem p, boxes;
    const perp_lcp_recipe recipe = { .family = families[k], .n = 12, .seed = 1 };
    if (perp_lcp_generate(&ctx, &recipe, &p) != PERP_OK ||
        perp_lcp_boxes(&ctx, &p, 0.5, &boxes) != PERP_OK)
      bail("%s", ctx.msg);
    ok(p.solution != NULL && (boxes.solution != NULL) == (k == 0),
       "%s: a solution is known before, %s after", families[k], k == 0 ? "and" : "but not");
    perp_lcp_problem_free(&p);
    perp_lcp_problem_free(&boxes);
  }
}

/* The slack of a contact of Stewart and Trinkle is an impulse: A_nn of its normal brings it to the
 * units of w. */
static void check_units(void)
{
  double A[4] = { 4, 0.5, 0.5, 2 }, b[2] = { -1, 0.3 }, unit[2] = { 0.25, 0.5 }, mu[2] = { 0, 0.7 };
  int fric_of[2] = { -1, 0 };
  const double lo[2] = { 0, 0 }, hi[2] = { HUGE_VAL, 0 };
  for (int k = 0; k < 2; k++) {
    perp_lcp_problem p = {
      .p = { .n = 2, .A = A, .lda = 2, .b = b, .lo = lo, .hi = hi, .mu = mu, .fric_of = fric_of }
    };
    if (k == 1) p.p.unit = unit;
    perp_lcp_problem pure;
    if (perp_lcp_pyramid(&ctx, &p, 4, &pure) != PERP_OK) bail("%s", ctx.msg);
    ok(pure.p.n == 4, "a normal row, two directions and a slack");
    near(pure.p.unit[3], k == 1 ? 1 : 4, 0, 0, "the unit of the slack");
    perp_lcp_problem_free(&pure);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  check_pure();
  check_split();
  check_directions(6);
  check_directions(16);
  check_slope();
  check_builder();
  check_equilibration();
  check_boxes_solution();
  check_units();
  return tap_done();
}
