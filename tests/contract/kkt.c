/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every KKT formulation of the registry must do. */
#include "solvers/solvers.h"
#include "tests/contract/under_test.h"
#include "tests/count_malloc.h"
#include "tests/kkt_problems.h"
#include "tests/contract/watch.h"
#include "tests/tap.h"

static perp_ctx ctx;

struct solver {
  const perp_kkt_desc *kkt;
  perp_spec spec;
  void *ws;
};

static void open_solver(struct solver *s, const perp_desc *d, const problem *p)
{
  s->kkt = (const perp_kkt_desc *)d;
  if (perp_spec_parse(&ctx, PERP_KIND_kkt, d->name, &s->spec) != PERP_OK) bail("%s", ctx.msg);
  if (s->kkt->create(&ctx, &p->B, s->spec.opts, &s->ws) != PERP_OK) bail("%s", ctx.msg);
}

static void close_solver(struct solver *s)
{
  s->kkt->destroy(s->ws);
  perp_spec_free(&s->spec);
}

static int misnamed; /* reasons without a name, counts below zero */

/* factor and solve from lambda = 0 */
static perp_reason answer(struct solver *s, const problem *p, double *a, double *lambda)
{
  perp_stats stats = { 0 };
  for (int i = 0; i < p->B.m; i++) lambda[i] = 0;
  for (int i = 0; i < p->B.nv; i++) a[i] = 0;
  watch_begin();
  perp_status status = s->kkt->factor(&ctx, s->ws, &p->B, &stats);
  watch_end();
  if (status != PERP_OK) bail("%s", ctx.msg);
  misnamed += !watch_reason(stats.reason) || !watch_counts(&stats);
  if (stats.reason < 0) return stats.reason;
  watch_begin();
  status = s->kkt->solve(&ctx, s->ws, &p->B, p->f, p->c, a, lambda, &stats);
  watch_end();
  if (status != PERP_OK) bail("%s", ctx.msg);
  misnamed += !watch_reason(stats.reason) || !watch_counts(&stats);
  return stats.reason;
}

static bool all_finite(int n, const double *x)
{
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

static double *numbers(int n)
{
  return problem_memory((size_t)n, sizeof(double));
}

/* ---- the checks ---- */

static void description(const perp_desc *d)
{
  ok(d->summary != NULL && d->reference != NULL && d->equation != NULL,
     "%s: summary, reference and equation", d->name);
  char text[64];
  snprintf(text, sizeof text, "%s:no_such_option=1", d->name);
  perp_spec spec;
  ok(perp_spec_parse(&ctx, PERP_KIND_kkt, text, &spec) == PERP_ERR_OPTION,
     "%s: an unknown option is refused", d->name);
  for (const perp_opt *o = d->opts; o != NULL && o->type != PERP_OPT_END; o++) {
    snprintf(text, sizeof text, "%s:%s=nan", d->name, o->key);
    ok(perp_spec_parse(&ctx, PERP_KIND_kkt, text, &spec) == PERP_ERR_OPTION,
       "%s: %s = nan is refused", d->name, o->key);
  }
}

static void life_cycle(const perp_desc *d)
{
  const perp_kkt_desc *kkt = (const perp_kkt_desc *)d;
  kkt->destroy(NULL); /* is allowed */

  problem *p = problem_carousel("carousel", 3, 3), *other = problem_heap("heap", 7, 3);
  int nv = p->B.nv, m = p->B.m;
  double *a = numbers(nv), *l = numbers(m), *a2 = numbers(nv), *l2 = numbers(m);
  double *scratch = numbers(2 * (nv + m));
  struct solver s;
  open_solver(&s, d, p);
  perp_reason reason = answer(&s, p, a, l);
  ok(reason > 0, "%s: an answer (%s)", d->name, perp_reason_name(reason));
  below(perp_kkt_residual(&p->B, p->f, p->c, a, l, scratch), 1e-9, "%s: the judge accepts it",
        d->name);

  /* the same again, bit by bit, without allocation */
  long before = count_malloc;
  answer(&s, p, a2, l2);
  long after = count_malloc;
  if (!COUNTS_MALLOC || (d->caps & PERP_CAP_ALLOCATES))
    skip("not counted", "%s: no allocation", d->name);
  else
    ok(before > 0 && before == after, "%s: factor and solve allocate nothing (%ld)", d->name,
       after - before);
  ok(memcmp(a, a2, sizeof *a * (size_t)nv) == 0 && memcmp(l, l2, sizeof *l * (size_t)m) == 0,
     "%s: the second answer is identical", d->name);

  /* a factor serves other right-hand sides: the problem is linear */
  perp_stats stats = { 0 };
  for (int i = 0; i < nv; i++) p->f[i] *= 2;
  for (int i = 0; i < m; i++) p->c[i] *= 2, l2[i] = 0;
  s.kkt->solve(&ctx, s.ws, &p->B, p->f, p->c, a2, l2, &stats);
  for (int i = 0; i < nv; i++) a[i] *= 2;
  below(problem_difference(nv, a2, a), 1e-9, "%s: twice the right-hand side, twice the answer",
        d->name);

  ok(s.kkt->factor(&ctx, s.ws, &other->B, &stats) == PERP_ERR_DIM, "%s: blocks of another size",
     d->name);
  close_solver(&s);
  p->B.nv++;
  void *ws = &ws;
  perp_spec spec;
  perp_spec_parse(&ctx, PERP_KIND_kkt, d->name, &spec);
  ok(kkt->create(&ctx, &p->B, spec.opts, &ws) == PERP_ERR_DIM && ws == NULL,
     "%s: create refuses a wrong pattern", d->name);
  perp_spec_free(&spec);
  free(a), free(l), free(a2), free(l2), free(scratch);
  problem_free(p), problem_free(other);
}

/* Nothing to hold: a = M^-1 f. */
static void unconstrained(const perp_desc *d)
{
  problem *p = problem_open("free", 2, 0);
  perp_rng *rng = perp_rng_create(3);
  problem_body(p, rng, 6, 1, false);
  problem_body(p, rng, 3, 2, false);
  perp_rng_destroy(rng);
  problem_close(p);
  double a[9], want[9], none[1] = { 0 };
  struct solver s;
  open_solver(&s, d, p);
  perp_reason reason = answer(&s, p, a, none);
  perp_blocks_Minv(&p->B, p->f, want);
  ok(reason > 0 && problem_difference(9, a, want) <= 1e-14, "%s: m = 0 gives M^-1 f", d->name);
  close_solver(&s);
  problem_free(p);
}

/* Dependent rows that agree with each other. */
static void redundant(const perp_desc *d, problem *p)
{
  int nv = p->B.nv, m = p->B.m, n = p->B.nb;
  double *a = numbers(nv), *l = numbers(m), *a0 = numbers(nv), *l0 = numbers(m);
  double *scratch = numbers(2 * (nv + m));
  struct solver s;
  open_solver(&s, d, p);
  perp_reason reason = answer(&s, p, a, l);
  if (!(d->caps & PERP_KKT_REDUNDANT)) {
    ok(reason < 0, "%s: %s: refused (%s)", d->name, p->name, perp_reason_name(reason));
  } else {
    ok(reason == PERP_REGULARIZED || reason == PERP_CONVERGED, "%s: %s: %s", d->name, p->name,
       perp_reason_name(reason));
    /* round-off in the null space, amplified by 1/delta = 1e10, does not reach the motion */
    below(perp_kkt_residual(&p->B, p->f, p->c, a, l, scratch), 1e-8,
          "%s: %s: the constraints and the dynamics hold", d->name, p->name);
    /* without the copy the motion is the same, and the copies share the force */
    problem *q = problem_twice("single", n, m == 3 * (n + 1) && n > 1 ? 1 : 0, false);
    q->B.nc--;
    problem_close(q);
    problem_solve(q, a0, l0);
    below(problem_difference(nv, a, a0), 1e-8, "%s: %s: the motion is that without the copy",
          d->name, p->name);
    int which = n > 1 ? 1 : 0;
    for (int i = 0; i < 3; i++) {
      l0[3 * n + i] = l0[3 * which + i] / 2;
      l0[3 * which + i] /= 2;
    }
    if (d->caps & PERP_KKT_MIN_NORM)
      below(problem_difference(m, l, l0), 1e-5, "%s: %s: the multiplier of least norm", d->name,
            p->name);
    problem_free(q);
  }
  close_solver(&s);
  free(a), free(l), free(a0), free(l0), free(scratch);
  problem_free(p);
}

/* A light body on the world, rows of it, and a heavy body welded to it. */
static problem *light(const char *name, int rows)
{
  perp_rng *rng = perp_rng_create(3);
  problem *p = problem_open(name, 2, 2);
  problem_body(p, rng, 6, 0.01, false);
  problem_body(p, rng, 6, 100, false);
  problem_joint(p, rng, rows, 1, (int[]){ 0 });
  problem_joint(p, rng, 6, 2, (int[]){ 1, 0 });
  perp_rng_destroy(rng);
  return problem_close(p);
}

/* Joints hold one of their rows twice: the motion is that of the joints with each row once. */
static void row_twice(const perp_desc *d, bool is_light)
{
  enum { BODIES = 5, ROWS = 3 };
  problem *p = is_light
                   ? light("a row twice, a light body", ROWS + 1)
                   : problem_chain("a row twice in each joint", BODIES, 6, ROWS + 1, true, false),
          *q = is_light ? light("once", ROWS) : problem_chain("once", BODIES, 6, ROWS, true, false);
  const int nv = p->B.nv, m = p->B.m;
  double *a = numbers(nv), *l = numbers(m), *a0 = numbers(nv), *l0 = numbers(m),
         *scratch = numbers(2 * (nv + m));
  for (int c = 0; c < p->B.nc; c++) {
    const int rp = p->cptr[c + 1] - p->cptr[c], rq = q->cptr[c + 1] - q->cptr[c];
    double *cp = p->c + p->cptr[c], *cq = q->c + q->cptr[c];
    for (int i = rq; i < rp; i++) cp[i] = cp[0];
    for (int i = 0; i < rq; i++) cq[i] = cp[i];
    for (int k = p->B.jptr[c]; k < p->B.jptr[c + 1]; k++)
      for (int j = 0; j < 6; j++) {
        double *from = p->J + p->joff[k] + rp * j, *to = q->J + q->joff[k] + rq * j;
        for (int i = rq; i < rp; i++) from[i] = from[0];
        for (int i = 0; i < rq; i++) to[i] = from[i];
      }
  }
  memcpy(q->M, p->M, (size_t)p->mptr[p->B.nb] * sizeof *p->M);
  memcpy(q->Minv, p->Minv, (size_t)p->mptr[p->B.nb] * sizeof *p->M);
  memcpy(q->f, p->f, (size_t)nv * sizeof *p->f);
  struct solver s;
  open_solver(&s, d, p);
  const perp_reason reason = answer(&s, p, a, l);
  if (!(d->caps & PERP_KKT_REDUNDANT)) {
    ok(reason < 0, "%s: %s: refused (%s)", d->name, p->name, perp_reason_name(reason));
  } else {
    ok(reason == PERP_REGULARIZED || reason == PERP_CONVERGED, "%s: %s: %s", d->name, p->name,
       perp_reason_name(reason));
    below(perp_kkt_residual(&p->B, p->f, p->c, a, l, scratch), 1e-8,
          "%s: %s: the constraints and the dynamics hold", d->name, p->name);
    problem_solve(q, a0, l0);
    below(problem_difference(nv, a, a0), 1e-7, "%s: %s: the motion is that of the rows once",
          d->name, p->name);
  }
  close_solver(&s);
  free(a), free(l), free(a0), free(l0), free(scratch);
  problem_free(p);
  problem_free(q);
}

/* Two copies of a joint that ask for different things: refused, and the output is the least-squares
 * compromise, the mean of the two. */
static void contradictory(const perp_desc *d, int N, int which)
{
  problem *p = problem_twice("torn apart", N, which, true),
          *q = problem_twice("mean", N, which, true);
  int nv = p->B.nv, m = p->B.m;
  double *a = numbers(nv), *l = numbers(m), *a0 = numbers(nv), *l0 = numbers(m);
  struct solver s;
  open_solver(&s, d, p);
  perp_reason reason = answer(&s, p, a, l);
  ok(reason == PERP_INFEASIBLE, "%s: chain %d torn apart: %s", d->name, N,
     perp_reason_name(reason));
  ok(all_finite(nv, a) && all_finite(m, l), "%s: chain %d torn apart: finite", d->name, N);
  for (int i = 0; i < 3; i++) q->c[3 * which + i] = (p->c[3 * which + i] + p->c[3 * N + i]) / 2;
  q->B.nc--;
  problem_close(q);
  problem_solve(q, a0, l0);
  /* round-off of the contradiction, amplified by 1e10 into lambda and cancelled in J' lambda */
  below(problem_difference(nv, a, a0), 1e-6, "%s: chain %d torn apart: the motion in between",
        d->name, N);
  for (int i = 0; i < 3; i++) l0[3 * N + i] = l0[3 * which + i] /= 2;
  if (d->caps & PERP_KKT_MIN_NORM)
    below(problem_difference(m, l, l0), 1e-5, "%s: chain %d torn apart: multiplier of least norm",
          d->name, N);
  close_solver(&s);
  free(a), free(l), free(a0), free(l0);
  problem_free(p), problem_free(q);
}

/* A number that is not finite, anywhere, is refused and the output is finite. */
static void not_finite(const perp_desc *d)
{
  problem *p = problem_carousel("carousel", 3, 2);
  p->B.s = p->s;
  int nv = p->B.nv, m = p->B.m;
  double *a = numbers(nv), *l = numbers(m);
  struct solver s;
  open_solver(&s, d, p);
  double *places[] = {
    p->f + 8, p->c + 4, p->J + 3, p->J + p->joff[4] + 2, p->s + 5, p->Minv + 80
  };
  const char *names[] = { "f", "c", "J of the root", "J", "S", "M^-1" };
  for (int i = 0; i < 6; i++)
    for (int k = 0; k < 2; k++) {
      double keep = *places[i], keep_M = p->M[80];
      *places[i] = k == 0 ? (double)NAN : HUGE_VAL;
      if (places[i] == p->Minv + 80) p->M[80] = *places[i];
      perp_reason reason = answer(&s, p, a, l);
      *places[i] = keep;
      p->M[80] = keep_M;
      if (!ok(reason == PERP_NOT_FINITE && all_finite(nv, a) && all_finite(m, l),
              "%s: %s in %s is refused", d->name, k == 0 ? "NaN" : "infinity", names[i]))
        printf("# reason %s\n", perp_reason_name(reason));
    }
  ok(answer(&s, p, a, l) > 0, "%s: and the next good one is served", d->name);
  close_solver(&s);
  free(a), free(l);
  problem_free(p);
}

/* An M that is not positive definite is not a mass matrix. */
static void bad_mass(const perp_desc *d)
{
  problem *p = problem_chain("bad mass", 3, 6, 3, true, true);
  double a[18], l[9];
  for (int b = 0; b < 3; b++)
    for (int i = 0; i < 6; i++) p->M[b * 36 + 7 * i] *= -1, p->Minv[b * 36 + 7 * i] *= -1;
  struct solver s;
  open_solver(&s, d, p);
  perp_reason reason = answer(&s, p, a, l);
  ok(reason < 0 && all_finite(18, a) && all_finite(9, l), "%s: negative masses: %s", d->name,
     perp_reason_name(reason));
  close_solver(&s);
  problem_free(p);
}

/* Masses spread over eight decades: the judge still accepts. */
static void badly_scaled(const perp_desc *d)
{
  problem *p = problem_masses("masses 1e0 ... 1e8", 9, 8);
  int nv = p->B.nv, m = p->B.m;
  double *a = numbers(nv), *l = numbers(m), *scratch = numbers(2 * (nv + m));
  struct solver s;
  open_solver(&s, d, p);
  perp_reason reason = answer(&s, p, a, l);
  ok(reason > 0, "%s: %s: %s", d->name, p->name, perp_reason_name(reason));
  below(perp_kkt_residual(&p->B, p->f, p->c, a, l, scratch), 1e-7, "%s: %s: residual", d->name,
        p->name);
  close_solver(&s);
  free(a), free(l), free(scratch);
  problem_free(p);
}

/* Systems of all shapes that the method takes, against elimination of the whole matrix in long
 * double. */
static void known(const perp_desc *d)
{
  problem *list[] = { problem_chain("chain", 5, 6, 3, true, true), problem_heap("heap", 3, 3),
                      problem_masses("masses", 5, 2), problem_carousel("carousel", 3, 2) };
  const char *names[] = { "a chain", "a heap", "unequal masses", "a carousel" };
  for (int k = 0; k < 4; k++) {
    problem *p = list[k];
    int nv = p->B.nv, m = p->B.m;
    double *a0 = numbers(nv), *l0 = numbers(m);
    static walled a, l;
    struct solver s;
    problem_solve(p, a0, l0);
    perp_spec spec;
    perp_spec_parse(&ctx, PERP_KIND_kkt, d->name, &spec);
    void *ws = NULL;
    bool takes = ((const perp_kkt_desc *)d)->create(&ctx, &p->B, spec.opts, &ws) == PERP_OK;
    ((const perp_kkt_desc *)d)->destroy(ws);
    perp_spec_free(&spec);
    if (takes) {
      open_solver(&s, d, p);
      size_t subs = (size_t)p->joff[p->jptr[p->B.nc]], inertia = (size_t)p->mptr[p->B.nb];
      uint64_t before = watch_hash(1, p->J, subs * sizeof(double));
      before = watch_hash(before, p->M, inertia * sizeof(double));
      before = watch_hash(before, p->f, (size_t)nv * sizeof(double));
      before = watch_hash(before, p->c, (size_t)m * sizeof(double));
      perp_reason reason = answer(&s, p, wall_set(&a, nv, 0), wall_set(&l, m, 0));
      uint64_t after = watch_hash(1, p->J, subs * sizeof(double));
      after = watch_hash(after, p->M, inertia * sizeof(double));
      after = watch_hash(after, p->f, (size_t)nv * sizeof(double));
      after = watch_hash(after, p->c, (size_t)m * sizeof(double));
      ok(reason > 0 && problem_difference(nv, a.x, a0) <= 1e-7 &&
             problem_difference(m, l.x, l0) <= 1e-7,
         "%s: %s: the known motion and forces (%s, off by %.2g, %.2g)", d->name, names[k],
         perp_reason_name(reason), problem_difference(nv, a.x, a0), problem_difference(m, l.x, l0));
      ok(wall_stands(&a) && wall_stands(&l), "%s: %s: nothing is written beside a and lambda",
         d->name, names[k]);
      ok(before == after, "%s: %s: the system is only read", d->name, names[k]);
      close_solver(&s);
    }
    free(a0), free(l0);
    problem_free(p);
  }
}

struct lived {
  const perp_desc *d;
  const problem *p;
  double *a, *l;
};

static void life(void *user)
{
  struct lived *x = user;
  struct solver s;
  open_solver(&s, x->d, x->p);
  perp_stats stats = { 0 };
  s.kkt->factor(&ctx, s.ws, &x->p->B, &stats);
  s.kkt->solve(&ctx, s.ws, &x->p->B, x->p->f, x->p->c, x->a, x->l, &stats);
  close_solver(&s);
}

static void memory(const perp_desc *d)
{
  problem *p = problem_carousel("carousel", 3, 3);
  struct lived x = { d, p, numbers(p->B.nv), numbers(p->B.m) };
  watch_begin();
  life(&x);
  watch_end();
  watch_memory(d->name, life, &x);
  free(x.a), free(x.l);
  problem_free(p);
  watch_silent(d->name);
  ok(misnamed == 0, "%s: reasons that perp knows, and counts", d->name);
  misnamed = 0;
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("register");
  register_under_test(&ctx);
  for (int i = 0;; i++) {
    const perp_desc *d = perp_plugin_at(&ctx, PERP_KIND_kkt, i);
    if (d == NULL) break;
    if (!under_test(d)) continue;
    description(d);
    life_cycle(d);
    unconstrained(d);
    redundant(d, problem_twice("pendulum held twice", 1, 0, false));
    redundant(d, problem_twice("chain with a joint twice", 5, 1, false));
    row_twice(d, false);
    row_twice(d, true);
    contradictory(d, 1, 0);
    contradictory(d, 6, 3);
    not_finite(d);
    bad_mass(d);
    badly_scaled(d);
    known(d);
    memory(d);
  }
  return tap_done();
}
