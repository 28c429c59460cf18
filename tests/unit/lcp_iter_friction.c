/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Friction: the exact cone of one contact, blocks, staggering; boxes and cones on random contact
 * systems that slide, stick and open. */
#include "solvers/lcp/rows/cone.h"
#include "solvers/lcp/io/io.h"
#include "tests/lcp_random.h"
#include "tests/tap.h"

#include <dirent.h>

static perp_ctx ctx;

/* ---- one contact ---- */

/* how badly x violates Coulomb's law with w = K x + q, relative to the sizes involved */
static double coulomb_violation(double mu, const double *K, const double *q, const double *x)
{
  double w[3], sizes[3], size = 0, force = fabs(x[0]);
  for (int i = 0; i < 3; i++) {
    w[i] = q[i];
    sizes[i] = fabs(q[i]);
    for (int j = 0; j < 3; j++) {
      w[i] += K[i + 3 * j] * x[j];
      sizes[i] += fabs(K[i + 3 * j] * x[j]);
    }
    size = fmax(size, sizes[i]);
  }
  double t = hypot(x[1], x[2]), wt = hypot(w[1], w[2]);
  double v = fmax(-x[0] / fmax(force, 1e-300), -w[0] / size); /* signs */
  v = fmax(v, fmin(x[0] / fmax(force, 1e-300), w[0] / size)); /* complementarity */
  v = fmax(v, (t - mu * x[0]) / fmax(mu * force, 1e-300));    /* inside the cone */
  if (x[0] > 0) {
    double inside = mu > 0 ? fmax(0, 1 - t / fmax(mu * x[0], 1e-300)) : 0;
    v = fmax(v, fmin(inside, wt / size)); /* sticks inside ... */
    v = fmax(v, (w[1] * x[1] + w[2] * x[2] + wt * t) / (size * fmax(t, 1e-300))); /* ... opposed */
  }
  return v;
}

static void check_cone(perp_rng *g)
{
  int count[3] = { 0 }, failed = 0, lost = 0, moved = 0;
  double worst = 0, halved = 0;
  for (int trial = 0; trial < 30000; trial++) {
    double B[9], K[9], q[3], x[3], mu = perp_rng_uniform(g, 0, 2);
    if (trial % 11 == 0) mu = 0;
    double scale = trial % 3 == 0 ? 1 : trial % 3 == 1 ? 1e-9 : 1e9;
    int rank = trial % 7 == 0 ? 2 : 3;
    for (int i = 0; i < 9; i++) B[i] = perp_rng_uniform(g, -1, 1);
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        K[i + 3 * j] = 0;
        for (int k = 0; k < rank; k++) K[i + 3 * j] += scale * B[i + 3 * k] * B[j + 3 * k];
      }
    /* rank 2: q in the range, as in mechanics */
    double y[3];
    for (int i = 0; i < 3; i++) y[i] = perp_rng_uniform(g, -1, 1);
    for (int i = 0; i < 3; i++) {
      q[i] = 0;
      for (int j = 0; j < 3; j++) q[i] += K[i + 3 * j] * y[j];
    }
    if (!perp_cone_solve(mu, K, q, x)) {
      failed++;
      continue;
    }
    double v = coulomb_violation(mu, K, q, x);
    count[x[0] == 0 ? 0 : hypot(x[1], x[2]) < mu * x[0] * (1 - 1e-12) ? 1 : 2]++;
    if (!(v <= worst)) worst = v;
    if (rank < 3) continue;
    double z[3];
    if (!perp_cone_bisect(mu, K, q, z)) {
      lost++;
      continue;
    }
    v = coulomb_violation(mu, K, q, z);
    if (!(v <= halved)) halved = v;
    moved += hypot(z[0] - x[0], hypot(z[1] - x[1], z[2] - x[2])) >
             1e-4 * hypot(x[0], hypot(x[1], x[2]));
  }
  ok(lost == 0, "bisection: a solution for every one of the contacts of rank 3 (%d without)", lost);
  below(halved, 1e-6, "bisection: Coulomb's law holds");
  ok(moved <= 3, "bisection: the same as the cone, but for %d contacts", moved);
  ok(failed == 0, "cone: a solution for every one of 30000 contacts");
  ok(count[0] > 1000 && count[1] > 1000 && count[2] > 1000, "cone: %d open, %d stick, %d slide",
     count[0], count[1], count[2]);
  /* conditions of K reach 1e6; the roots are exact to rounding times that */
  below(worst, 1e-9, "cone: Coulomb's law holds");
  double K[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, q[3] = { -1, 3, 4 }, x[3];
  perp_cone_solve(0.5, K, q, x);
  near(x[1], -0.3, 0, 1e-15, "cone: K = I slides against q_T, length mu n");
  near(x[2], -0.4, 0, 1e-15, "... second component");
  ok(!perp_cone_solve(0.5, (double[9]){ 0 }, q, x), "cone: K_nn = 0 is refused");
}

/* ---- systems ---- */

struct result {
  int solved, lies, total, slipping;
};

static void run(const char *spec, int friction, int contacts, double softness, struct result *r)
{
  perp_rng *g = perp_rng_create(77);
  perp_spec s;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, spec, &s) != PERP_OK) bail("%s", ctx.msg);
  *r = (struct result){ 0 };
  for (int trial = 0; trial < 30; trial++) {
    random_lcp q = random_factored(g, contacts, contacts, trial % 3, friction, softness);
    perp_lcp_solver *solver;
    perp_lcp_judgement j;
    perp_stats stats;
    double x[80] = { 0 }, w[80], scratch[2000];
    /* the form of the problem alternates, the judge looks at the dense one */
    const perp_lcp *p = trial % 2 ? random_as_dense(&q) : random_as_factored(&q);
    if (perp_lcp_create(&ctx, &s, p->n, p->F != NULL ? p->F->nv : 0, &solver) != PERP_OK)
      bail("%s", ctx.msg);
    if (perp_lcp_solve(&ctx, solver, p, 1e-8, x, w, &j, &stats) != PERP_OK) bail("%s", ctx.msg);
    perp_lcp_judge(random_as_dense(&q), x, w, scratch, &j);
    r->total++;
    r->solved += stats.reason == PERP_CONVERGED;
    r->lies += stats.reason == PERP_CONVERGED && !(j.rel <= 1.01e-8);
    for (int i = 1; i < q.p.n; i += 3)
      if (x[i - 1] > 0 && fabs(w[i]) > 1e-6) r->slipping++;
    perp_lcp_destroy(solver);
    random_free(&q);
  }
  perp_spec_free(&s);
  perp_rng_destroy(g);
}

/* ---- groups of several contacts ---- */

/* Groups of 1 to 6 contacts with cones, which are cut into blocks of at most 8 rows, but not
 * between the rows of a cone: at any order of rows in the group.  The answer satisfies Coulomb's
 * law in each contact. */
static void check_groups(perp_rng *g)
{
  enum { MOST_CONTACTS = 6, MOST_ROWS = 3 * MOST_CONTACTS };
  static const char *const orders[] = { "normals between", "normals first", "normals last" };
  for (int order = 0; order < 3; order++) {
    int solved = 0, total = 0, slide = 0;
    double worst = 0;
    for (int trial = 0; trial < 40; trial++) {
      const int contacts = 1 + trial % MOST_CONTACTS, n = 3 * contacts, nv = n + 3;
      /* one body of nv columns, M = 1, and one group: A = J J' */
      int bptr[2] = { 0, nv }, mptr[2] = { 0, nv * nv }, cptr[2] = { 0, n }, jptr[2] = { 0, 1 };
      int jblk[1] = { 0 }, joff[2] = { 0, n * nv }, jgrp[1], tptr[2], tsub[1], of[MOST_ROWS];
      double Minv[(MOST_ROWS + 3) * (MOST_ROWS + 3)] = { 0 }, J[MOST_ROWS * (MOST_ROWS + 3)];
      double b[MOST_ROWS], mu[MOST_ROWS], A[MOST_ROWS * MOST_ROWS] = { 0 }, x[MOST_ROWS] = { 0 };
      signed char cone[MOST_ROWS] = { 0 };
      for (int i = 0; i < nv; i++) Minv[i + i * nv] = 1;
      for (int i = 0; i < n; i++)
        for (int k = 0; k < nv; k++) J[i + k * n] = (i == k) + perp_rng_uniform(g, -0.2, 0.2);
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
          for (int k = 0; k < nv; k++) A[i + j * n] += J[i + k * n] * J[j + k * n];
      int normal[MOST_CONTACTS], tangent[MOST_CONTACTS];
      for (int c = 0; c < contacts; c++) {
        normal[c] = order == 0 ? 3 * c : order == 1 ? c : 2 * contacts + c;
        tangent[c] = order == 0 ? 3 * c + 1 : order == 1 ? contacts + 2 * c : 2 * c;
        of[normal[c]] = -1;
        mu[normal[c]] = 0;
        of[tangent[c]] = of[tangent[c] + 1] = normal[c];
        mu[tangent[c]] = mu[tangent[c] + 1] = perp_rng_uniform(g, 0.2, 0.6);
        cone[tangent[c]] = 1;
        b[normal[c]] = perp_rng_uniform(g, -2, 0.2);
        for (int k = 0; k < 2; k++) b[tangent[c] + k] = perp_rng_uniform(g, -1, 1);
      }
      perp_blocks F = { .nb = 1, .nc = 1, .nv = nv, .m = n };
      F.bptr = bptr, F.mptr = mptr, F.cptr = cptr, F.jptr = jptr, F.jblk = jblk, F.joff = joff;
      F.jgrp = jgrp, F.tptr = tptr, F.tsub = tsub, F.M = Minv, F.Minv = Minv, F.J = J;
      perp_blocks_transpose(1, 1, jptr, jblk, jgrp, tptr, tsub);
      const perp_lcp p = { .n = n, .F = &F, .b = b, .fric_of = of, .mu = mu, .cone = cone };
      perp_spec s;
      perp_lcp_solver *solver;
      perp_stats stats;
      if (perp_spec_parse(&ctx, PERP_KIND_lcp, "block-gs:by=group", &s) != PERP_OK ||
          perp_lcp_create(&ctx, &s, n, nv, &solver) != PERP_OK ||
          perp_lcp_solve(&ctx, solver, &p, 1e-12, x, NULL, NULL, &stats) != PERP_OK)
        bail("%s", ctx.msg);
      perp_lcp_destroy(solver);
      perp_spec_free(&s);
      total++;
      solved += stats.reason == PERP_CONVERGED;
      for (int c = 0; c < contacts && stats.reason == PERP_CONVERGED; c++) {
        const int row[3] = { normal[c], tangent[c], tangent[c] + 1 };
        double K[9], q[3], y[3];
        for (int i = 0; i < 3; i++) {
          q[i] = b[row[i]];
          y[i] = x[row[i]];
          for (int j = 0; j < n; j++) q[i] += A[row[i] + j * n] * x[j];
          for (int j = 0; j < 3; j++) {
            K[i + 3 * j] = A[row[i] + row[j] * n];
            q[i] -= K[i + 3 * j] * x[row[j]];
          }
        }
        worst = fmax(worst, coulomb_violation(mu[row[1]], K, q, y));
        slide += y[0] > 1e-3 && hypot(y[1], y[2]) > 0.999 * mu[row[1]] * y[0];
      }
    }
    ok(solved == total && slide > 20, "groups of contacts, %s: %d of %d, %d contacts slide",
       orders[order], solved, total, slide);
    below(worst, 1e-9, "... by Coulomb's law");
  }
}

/* ---- contact problems of other projects, as exact cones ---- */

static void check_file(const char *path, const char *name, const char *method, double tol)
{
  perp_lcp_problem q;
  perp_spec s;
  perp_lcp_solver *solver;
  perp_stats stats;
  if (perp_lcp_read(&ctx, path, &q) != PERP_OK) {
    skip(ctx.msg, "%s", name);
    return;
  }
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, method, &s) != PERP_OK) bail("%s", ctx.msg);
  double *x = calloc((size_t)q.p.n + 1, sizeof *x);
  if (x == NULL) bail("no memory");
  if (perp_lcp_create(&ctx, &s, q.p.n, 0, &solver) != PERP_OK ||
      perp_lcp_solve(&ctx, solver, &q.p, tol, x, NULL, NULL, &stats) != PERP_OK)
    bail("%s", ctx.msg);
  ok(stats.reason == PERP_CONVERGED, "%s: %s, n = %d, solved to %g in %d iterations", method, name,
     q.p.n, tol, stats.iterations);
  free(x);
  perp_lcp_destroy(solver);
  perp_lcp_problem_free(&q);
  perp_spec_free(&s);
}

static void check_files(void)
{
  char path[1024];
  const char *folder = getenv("PERP_PROBLEMS");
  snprintf(path, sizeof path, "%s/fc", folder != NULL ? folder : "");
  DIR *dir = folder != NULL ? opendir(path) : NULL;
  if (dir == NULL) {
    skip("PERP_PROBLEMS/fc is not there", "contact problems from files");
    return;
  }
  for (struct dirent *e; (e = readdir(dir)) != NULL;) {
    if (strstr(e->d_name, ".dat") == NULL) continue;
    snprintf(path, sizeof path, "%s/fc/%.200s", folder, e->d_name);
    check_file(path, e->d_name, "block-gs:max_iter=20000", 1e-8);
    check_file(path, e->d_name, "cone-newton", 1e-10);
    check_file(path, e->d_name, "prox", 1e-8);
    if (strstr(e->d_name, "i101-404") == NULL) check_file(path, e->d_name, "aclm", 1e-8);
  }
  closedir(dir);
}

/* Cubes that slide on each other, four redundant contacts each: sweeps need 1e5 sweeps and more
 * here. */
static void check_inclines(void)
{
  static const char *const families[] = { "incline-cone", "wall-cone", "stack-cone",
                                          "incline-box" };
  perp_spec s;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, "cone-newton", &s) != PERP_OK) bail("%s", ctx.msg);
  for (size_t f = 0; f < sizeof families / sizeof *families; f++)
    for (int k = 0; k < 8; k++) {
      static const int rows[] = { 12, 48, 96, 192 };
      bool factored = k >= 4;
      int n = perp_lcp_family_rows(perp_lcp_family_find(families[f]), rows[k % 4]);
      perp_lcp_problem q;
      perp_lcp_recipe recipe = { .family = families[f], .n = n, .seed = 1, .factored = factored };
      perp_lcp_solver *solver;
      perp_stats stats;
      double x[256] = { 0 };
      if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK ||
          perp_lcp_create(&ctx, &s, n, q.p.F != NULL ? q.p.F->nv : 0, &solver) != PERP_OK ||
          perp_lcp_solve(&ctx, solver, &q.p, 1e-10, x, NULL, NULL, &stats) != PERP_OK)
        bail("%s", ctx.msg);
      ok(stats.reason == PERP_CONVERGED, "cone-newton: %s, n = %d%s, %.1e in %d steps", families[f],
         n, factored ? ", factored" : "", stats.residual, stats.iterations);
      perp_lcp_destroy(solver);
      perp_lcp_problem_free(&q);
    }
  perp_spec_free(&s);
}

/* Work of 20 sweeps over one contact, whose rows have the cosine c between them, by projections. */
static double projections(double c)
{
  const double A[9] = { 1, c, c, c, 1, c, c, c, 1 }, b[3] = { -1, 0.3, -0.2 },
               mu[3] = { 0, 0.9, 0.9 };
  const int fric_of[3] = { -1, 0, 0 };
  const perp_lcp p = { .n = 3,
                       .A = A,
                       .lda = 3,
                       .b = b,
                       .lo = (double[3]){ 0 },
                       .hi = (double[3]){ HUGE_VAL, 0, 0 },
                       .fric_of = fric_of,
                       .mu = mu };
  perp_spec s;
  perp_lcp_solver *solver;
  perp_stats stats;
  double x[3] = { 0 };
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, "block-gs:block=projection,sweeps=20", &s) != PERP_OK ||
      perp_lcp_create(&ctx, &s, 3, 0, &solver) != PERP_OK ||
      perp_lcp_solve(&ctx, solver, &p, 1e-8, x, NULL, NULL, &stats) != PERP_OK)
    bail("%s", ctx.msg);
  perp_lcp_destroy(solver);
  perp_spec_free(&s);
  return stats.work;
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  /* a limit of work stops what counts: independent rows take two rounds, nearly parallel ones 50 */
  const double few = projections(0), many = projections(0.999999);
  ok(many > 3 * few, "block-gs: projections within a block count as work: %g, then %g", few, many);
  perp_rng *g = perp_rng_create(3);
  check_cone(g);
  check_groups(g);
  perp_rng_destroy(g);

  static const struct {
    const char *spec;
    bool cones, no_boxes;
    int least; /* of 30 problems; there is no theorem, the figure is what was found, with a margin
                */
  } cases[] = {
    { "pgs", true, false, 25 },
    { "block-gs", true, false, 25 },
    { "block-gs:block=projection", true, false, 25 },
    { "block-gs:order=symmetric", true, false, 25 },
    { "staggered", true, false, 25 },
    { "staggered:depth=0", true, false, 20 },
    { "staggered:normal=interior-point,friction=pgs", true, false, 20 },
    { "cone-newton", true, false, 25 },
    { "prox", true, false, 25 },
    { "admm", true, false, 25 },
    { "aclm", true, false, 25 },
    { "extragradient", true, false, 25 },
    { "pgs-subspace", true, false, 25 },
    { "shock", true, false, 25 },
    { "block-gs:block=bisection", true, true, 25 },
    { "block-gs:block=cone", true, true, 25 },
    { "fischer-newton", false, false, 25 },
    { "minmap-newton", false, false, 25 },
    { "interior-point", false, false, 20 },
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    for (int friction = 1; friction <= (cases[k].cones ? 2 : 1); friction++)
      for (int soft = 0; soft < 2; soft++) {
        struct result r;
        if (friction == 1 && cases[k].no_boxes) continue;
        run(cases[k].spec, friction, 4 + soft, soft ? 0.2 : 0, &r);
        const char *what = friction == 1 ? "boxes" : "cones";
        ok(r.lies == 0, "%s, %s: no false success", cases[k].spec, what);
        ok(r.solved >= cases[k].least, "%s, %s: %d of %d solved", cases[k].spec, what, r.solved,
           r.total);
        if (k == 0) ok(r.slipping > 10, "%d rows slip", r.slipping);
      }
  check_inclines();
  check_files();
  return tap_done();
}
