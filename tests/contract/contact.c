/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every contact model of the registry with solvers that it takes: what all must do.  Islands by
 * hand (impulses finite and not pulling, friction within its bound and against sliding, the
 * frictionless limit, dense and factored, refusals), and spheres and a box on the ground, where the
 * velocity after a step is judged by what it does to the gap. */
#include "experiments/scenes/scene_file.h"
#include "models/geometry/kinematics.h"
#include "tests/contract/under_test.h"
#include "tests/run_model.h"

#include "tests/count_malloc.h" /* last: looks for the C library */
#include "tests/contract/watch.h"

static perp_ctx ctx;
static const double tol = 1e-10, near_zero = 1e-6; /* of impulses of the size 1 */

/* ---- islands by hand ---- */

enum { NC = 4, NV = 24, ROWS = 3 * NC };

/* NC contacts of bodies of mass 1 .. 2: contact c touches the bodies c and c + 1 of six coordinates
 * each. */
typedef struct island {
  int r, n;
  double M[NV * 6], Minv[NV * 6], J[NC * 2 * 6 * 3], A[ROWS * ROWS], b[ROWS], diag[ROWS], mu[NC];
  int bptr[NV / 6 + 1], mptr[NV / 6 + 1], cptr[NC + 1], jptr[NC + 1], jblk[2 * NC],
      joff[2 * NC + 1], jgrp[2 * NC], tptr[NV / 6 + 1], tsub[2 * NC];
  perp_blocks F;
  perp_contact_island dense, factored;
} island;

static void make_island(island *s, int r, double mu, uint64_t seed)
{
  enum { NB = NV / 6 };
  *s = (island){ .r = r, .n = r * NC };
  perp_rng *rng = perp_rng_create(seed);
  for (int b = 0; b <= NB; b++) {
    s->bptr[b] = 6 * b;
    s->mptr[b] = 36 * b;
  }
  for (int b = 0; b < NB; b++)
    for (int i = 0; i < 6; i++) {
      double m = perp_rng_uniform(rng, 1, 2);
      s->M[36 * b + 7 * i] = m;
      s->Minv[36 * b + 7 * i] = 1 / m;
    }
  int sub = 0, at = 0;
  for (int c = 0; c < NC; c++) {
    s->cptr[c] = r * c;
    s->jptr[c] = sub;
    for (int side = 0; side < 2 && c + side < NB; side++) {
      s->jblk[sub] = c + side;
      s->joff[sub++] = at;
      for (int k = 0; k < 6 * r; k++) s->J[at++] = perp_rng_uniform(rng, -1, 1);
    }
    s->mu[c] = mu;
  }
  s->cptr[NC] = s->n;
  s->jptr[NC] = sub;
  s->joff[sub] = at;
  perp_blocks_transpose(NB, NC, s->jptr, s->jblk, s->jgrp, s->tptr, s->tsub);
  s->F = (perp_blocks){ .nv = NV,
                        .m = s->n,
                        .nb = NB,
                        .nc = NC,
                        .bptr = s->bptr,
                        .mptr = s->mptr,
                        .cptr = s->cptr,
                        .jptr = s->jptr,
                        .jblk = s->jblk,
                        .joff = s->joff,
                        .jgrp = s->jgrp,
                        .tptr = s->tptr,
                        .tsub = s->tsub,
                        .M = s->M,
                        .Minv = s->Minv,
                        .J = s->J };
  if (perp_blocks_check(&ctx, &s->F) != PERP_OK) bail("%s", ctx.msg);
  double scratch[64];
  perp_blocks_delassus(&s->F, s->A, s->n, scratch);
  for (int i = 0; i < s->n; i++) {
    s->diag[i] = s->A[i + s->n * i];
    /* all approach, so that none is idle at the start; they slide in all directions */
    s->b[i] = i % r == 0 ? -perp_rng_uniform(rng, 0.5, 2) : perp_rng_uniform(rng, -2, 2);
  }
  perp_rng_destroy(rng);
  s->dense = (perp_contact_island){
    .nc = NC, .mu = s->mu, .A = s->A, .lda = s->n, .diag = s->diag, .b = s->b
  };
  s->factored = s->dense;
  s->factored.A = NULL;
  s->factored.F = &s->F;
}

static void velocity(const island *s, const double *impulse, double *u)
{
  for (int i = 0; i < s->n; i++) {
    u[i] = s->b[i];
    for (int j = 0; j < s->n; j++) u[i] += s->A[i + s->n * j] * impulse[j];
  }
}

typedef struct subject {
  const perp_contact_desc *d;
  perp_spec model, lcp;
  perp_contact_setup setup;
  char who[160];
  bool may_allocate;
} subject;

static void *create(const subject *x)
{
  void *ws = NULL;
  if (x->d->create(&ctx, &x->setup, x->model.opts, &ws) != PERP_OK) bail("%s", ctx.msg);
  return ws;
}

static bool all_finite(int n, const double *x)
{
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

static double largest(int n, const double *x, const double *y)
{
  double d = 0;
  for (int i = 0; i < n; i++) d = fmax(d, fabs(x[i] - y[i]));
  return d;
}

typedef struct seen {
  int times, n;
  bool finite, placed;
} seen;

static const perp_contact_place everywhere; /* as it is handed in, it is handed on */

static void look(void *user, const perp_contact_place *place, const perp_lcp *p,
                 const double *lambda, const perp_stats *stats)
{
  seen *s = user;
  s->times++;
  s->n = p->n;
  s->finite = all_finite(p->n, lambda) && stats != NULL;
  s->placed = place == &everywhere;
}

/* One random island: what its impulses must be. */
static void check_island(const subject *x, void *ws, const island *s, double mu, uint64_t seed)
{
  double impulse[ROWS] = { 0 }, again[ROWS] = { 0 }, u[ROWS], slip[NC] = { 0 };
  perp_contact_count count = { 0 };
  watch_begin();
  perp_status status = x->d->solve(&ctx, ws, &s->dense, impulse, slip, &count);
  watch_end();
  const bool good = status == PERP_OK && all_finite(s->n, impulse) &&
                    count.problems + count.reused == 1 && count.failures == 0;
  ok(good, "%s: island %d, mu %g: solved, counted, finite", x->who, (int)seed, mu);
  if (!good) {
    printf("# status %d, %d problems, %d failures\n", (int)status, (int)count.problems,
           (int)count.failures);
    return;
  }
  velocity(s, impulse, u);
  double pull = 0, sink = 0, both = 0, over = 0, feeds = 0;
  for (int c = 0; c < NC; c++) {
    const double *p = impulse + s->r * c, *v = u + s->r * c;
    double tangent = 0, power = 0;
    for (int k = 1; k < s->r; k++) tangent += p[k] * p[k], power += p[k] * v[k];
    pull = fmax(pull, -p[0]);
    sink = fmax(sink, -v[0]);
    /* relaxed: over the cone of friction, not over the normal */
    both = fmax(both, x->d->d.caps & PERP_CONTACT_RELAXED ? fabs(p[0] * v[0] + power)
                                                          : fabs(p[0] * v[0]));
    over = fmax(over, sqrt(tangent) - sqrt(2) * mu * p[0]); /* the corner of a pyramid */
    feeds = fmax(feeds, power);
  }
  below(pull, near_zero, "%s: ... normals do not pull", x->who);
  below(sink, near_zero, "%s: ... no contact closes further", x->who);
  below(both, 1e-5, "%s: ... a contact that opens has no force%s", x->who,
        x->d->d.caps & PERP_CONTACT_RELAXED ? ", or slides" : "");
  below(over, near_zero, "%s: ... friction within its bound", x->who);
  below(feeds, near_zero, "%s: ... friction takes energy, it gives none", x->who);

  void *other = create(x);
  x->d->solve(&ctx, other, &s->dense, again, slip, &count);
  ok(memcmp(impulse, again, sizeof impulse) == 0, "%s: ... another workspace, the same bits",
     x->who);
  memset(again, 0, sizeof again);
  status = x->d->solve(&ctx, other, &s->factored, again, slip, &count);
  ok(status == PERP_OK && all_finite(s->n, again), "%s: ... factored rows are served", x->who);
  if (mu == 0)
    below(largest(s->n, again, impulse), near_zero, "%s: ... with the same answer", x->who);
  x->d->destroy(other);
}

/* ---- known answers: contacts whose rows do not meet, each with A = 2 ---- */

typedef struct by_hand {
  const char *what;
  double mu, b[3], impulse[3]; /* n, t1, t2 */
} by_hand;

/* The known impulse of a relaxed law, with A = 2: the point of the friction cone next to -b / 2. */
static void known_relaxed(const by_hand *x, double *impulse)
{
  const double n = -x->b[0] / 2, t[2] = { -x->b[1] / 2, -x->b[2] / 2 }, size = hypot(t[0], t[1]);
  impulse[0] = impulse[1] = impulse[2] = 0;
  if (size <= x->mu * n) {
    impulse[0] = n, impulse[1] = t[0], impulse[2] = t[1];
  } else if (n + x->mu * size > 0) {
    impulse[0] = (n + x->mu * size) / (1 + x->mu * x->mu);
    for (int k = 0; k < 2; k++) impulse[1 + k] = x->mu * impulse[0] * t[k] / size;
  }
}

/* One to three contacts at once; friction along one tangent is the same for boxes, cones and
 * pyramids. */
static void check_known(const subject *x, void *ws)
{
  static const by_hand list[] = {
    { "slides", 0.4, { -2, 5, 0 }, { 1, -0.4, 0 } },
    { "slides the other way", 0.1, { -20, -9, 0 }, { 10, 1, 0 } },
    { "sticks", 0.4, { -2, 0.5, 0 }, { 1, -0.25, 0 } },
    { "barely slides", 1.5, { -2, 3.1, 0 }, { 1, -1.5, 0 } },
    { "has no friction", 0, { -2, 5, 0 }, { 1, 0, 0 } },
    { "is open", 0.7, { 1, 5, 0 }, { 0, 0, 0 } },
    { "slides along the other tangent", 0.25, { -8, 0, -12 }, { 4, 0, 1 } },
    { "sticks in both", 0.8, { -4, 1, -1.5 }, { 2, -0.5, 0.75 } },
  };
  enum { KNOWN = sizeof list / sizeof *list };
  const int r = x->d->rows(x->setup.dim), most = r < 3 ? 6 : KNOWN;
  const bool relaxed = x->d->d.caps & PERP_CONTACT_RELAXED;
  double projected[KNOWN][3];
  int least = 0; /* rows */
  static walled impulse, slip;
  double A[9 * KNOWN * KNOWN] = { 0 }, b[3 * KNOWN], diag[3 * KNOWN], mu[KNOWN], off = 0;
  const int n = r * most;
  for (int c = 0; c < most; c++) {
    mu[c] = list[c].mu;
    known_relaxed(&list[c], projected[c]);
    least += list[c].mu > 0 ? r : 1;
    for (int k = 0; k < r; k++) {
      A[(r * c + k) * (n + 1)] = diag[r * c + k] = 2;
      b[r * c + k] = list[c].b[k];
    }
  }
  perp_contact_island rows = { .nc = most, .mu = mu, .A = A, .lda = n, .diag = diag, .b = b };
  perp_contact_count count = { 0 };
  wall_set(&impulse, n, 0);
  wall_set(&slip, most, 0);
  uint64_t before = watch_hash(watch_hash(watch_hash(1, A, sizeof A), b, sizeof *b * (size_t)n), mu,
                               sizeof *mu * (size_t)most);
  watch_begin();
  perp_status status = x->d->solve(&ctx, ws, &rows, impulse.x, slip.x, &count);
  watch_end();
  ok(status == PERP_OK && count.failures == 0, "%s: %d contacts by hand are solved", x->who, most);
  for (int c = 0; c < most; c++)
    for (int k = 0; k < r; k++) {
      const double known = relaxed ? projected[c][k] : list[c].impulse[k];
      double error = fabs(impulse.x[r * c + k] - known);
      off = fmax(off, error);
      if (!(error < 2e-3))
        printf("# one that %s: row %d: %g, known %g\n", list[c].what, k, impulse.x[r * c + k],
               known);
    }
  below(off, 2e-3, "%s: ... with their known impulses", x->who);
  uint64_t after = watch_hash(watch_hash(watch_hash(1, A, sizeof A), b, sizeof *b * (size_t)n), mu,
                              sizeof *mu * (size_t)most);
  ok(wall_stands(&impulse) && wall_stands(&slip), "%s: ... and nothing is written beside them",
     x->who);
  ok(before == after, "%s: ... the island is only read", x->who);
  bool counts = watch_status(status) && count.problems >= 0 && count.reused >= 0 &&
                count.iterations >= 0 && count.again >= 0 && count.failures >= 0 &&
                count.solved >= 0 && count.swept >= 0 && count.data >= 0 &&
                count.problems == count.solved + count.swept + count.failures &&
                count.thrown >= 0 && count.rows >= least && count.rows < 100 * n &&
                count.residual >= 0;
  int64_t failed = 0;
  for (int k = 0; k < PERP_REASONS; k++) {
    counts = counts && count.failed[k] >= 0;
    failed += count.failed[k];
  }
  ok(counts && failed == count.failures, "%s: ... its counts are counts", x->who);
  if (r < 3) return;

  /* a direction between the tangents */
  rows.nc = 1;
  b[0] = -20, b[1] = 60, b[2] = 80, mu[0] = 0.5;
  count = (perp_contact_count){ 0 };
  wall_set(&impulse, 3, 0);
  x->d->solve(&ctx, ws, &rows, impulse.x, slip.x, &count);
  double size = hypot(impulse.x[1], impulse.x[2]), along = -0.6 * impulse.x[1] - 0.8 * impulse.x[2];
  if (relaxed) /* on the rim of its cone, pushed by both, and across it by the corners at most */
    ok(size <= 0.5 * impulse.x[0] + 1e-6 && impulse.x[0] > 10 && along >= 0.9 * size && size > 5,
       "%s: relaxed sliding presses more than 10 and is against the motion: %.9g, %.9g, %.9g",
       x->who, impulse.x[0], impulse.x[1], impulse.x[2]);
  else if (x->d->d.caps & PERP_CONTACT_CONE)
    ok(fabs(impulse.x[1] + 3) < 1e-6 && fabs(impulse.x[2] + 4) < 1e-6,
       "%s: a cone slides against the motion: %.9g, %.9g", x->who, impulse.x[1], impulse.x[2]);
  else if (x->d->d.caps & PERP_CONTACT_BOX)
    ok(fabs(impulse.x[1] + 5) < 1e-6 && fabs(impulse.x[2] + 5) < 1e-6,
       "%s: a box is full in both tangents: %.9g, %.9g", x->who, impulse.x[1], impulse.x[2]);
  else
    ok(size <= 5 * sqrt(2) + 1e-6 && size >= 3.5 && along >= 0.9 * size,
       "%s: sliding friction is against the motion: %.9g, %.9g", x->who, impulse.x[1],
       impulse.x[2]);
}

typedef struct lived {
  const subject *x;
  const island *s;
} lived;

static void life(void *user)
{
  const lived *l = user;
  void *ws = NULL;
  double impulse[ROWS] = { 0 }, slip[NC] = { 0 };
  perp_contact_count count = { 0 };
  if (l->x->d->create(&ctx, &l->x->setup, l->x->model.opts, &ws) != PERP_OK) return;
  l->x->d->solve(&ctx, ws, &l->s->dense, impulse, slip, &count);
  l->x->d->destroy(ws);
}

/* Without friction there is one answer, and it is that of the frictionless model of perp. */
static void check_limit(const subject *x, void *ws, const island *s)
{
  const perp_contact_desc *plain = (const void *)perp_find(&ctx, PERP_KIND_contact, "frictionless");
  double impulse[ROWS] = { 0 }, normal[NC] = { 0 }, A[NC * NC], b[NC], diag[NC], slip[NC] = { 0 };
  perp_contact_count count = { 0 };
  for (int i = 0; i < NC; i++) {
    for (int j = 0; j < NC; j++) A[i + NC * j] = s->A[s->r * i + s->n * s->r * j];
    b[i] = s->b[s->r * i];
    diag[i] = A[i + NC * i];
  }
  perp_contact_island rows = { .nc = NC, .mu = s->mu, .A = A, .lda = NC, .diag = diag, .b = b };
  perp_spec dantzig;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, "dantzig", &dantzig) != PERP_OK) bail("%s", ctx.msg);
  perp_contact_setup setup = { .dim = x->setup.dim, .lcp = &dantzig, .tol = tol };
  void *other = NULL;
  if (plain->create(&ctx, &setup, NULL, &other) != PERP_OK) bail("%s", ctx.msg);
  plain->solve(&ctx, other, &rows, normal, slip, &count);
  plain->destroy(other);
  perp_spec_free(&dantzig);
  x->d->solve(&ctx, ws, &s->dense, impulse, slip, &count);
  double worst = 0;
  for (int c = 0; c < NC; c++) worst = fmax(worst, fabs(impulse[s->r * c] - normal[c]));
  below(worst, near_zero, "%s: with mu = 0 the normals are those without friction", x->who);
}

/* The last contact taken as rows of a joint, which come to rest; A between other numbers, of which
 * nothing is read. */
static void check_joint(const subject *x, void *ws, const island *s)
{
  enum { LD = ROWS + 2 };
  double impulse[2][ROWS] = { { 0 } }, u[ROWS], slip[NC] = { 0 }, A[LD * (ROWS + 2)], off = 0;
  perp_contact_count count = { 0 };
  if (!(x->lcp.d->caps & PERP_LCP_FREE)) return;
  perp_contact_island rows = s->dense;
  rows.nc = NC - 1;
  rows.joints = s->r;
  perp_status status = x->d->solve(&ctx, ws, &rows, impulse[0], slip, &count);
  velocity(s, impulse[0], u);
  for (int i = s->r * rows.nc; i < s->n; i++) off = fmax(off, fabs(u[i]));
  ok(status == PERP_OK && count.failures == 0 && all_finite(s->n, impulse[0]) && off < near_zero,
     "%s: rows of a joint come to rest, to %.2g", x->who, off);
  for (int i = 0; i < LD * (ROWS + 2); i++) A[i] = (double)NAN;
  for (int i = 0; i < s->n; i++)
    for (int j = 0; j < s->n; j++) A[1 + i + LD * (1 + j)] = s->A[i + s->n * j];
  rows.A = A + 1 + LD;
  rows.lda = LD;
  memset(slip, 0, sizeof slip);
  void *other = create(x);
  status = x->d->solve(&ctx, other, &rows, impulse[1], slip, &count);
  x->d->destroy(other);
  ok(status == PERP_OK && count.failures == 0 && all_finite(s->n, impulse[1]) &&
         largest(s->n, impulse[0], impulse[1]) < near_zero,
     "%s: ... and nothing is read beside A", x->who);
}

static void check_refusals(const subject *x, void *ws, island *s)
{
  double impulse[ROWS] = { 0 }, slip[NC] = { 0 };
  perp_contact_count count = { 0 };
  const double kept = s->b[0];
  s->b[0] = (double)NAN;
  perp_status status = x->d->solve(&ctx, ws, &s->dense, impulse, slip, &count);
  s->b[0] = kept;
  ok(status != PERP_OK || (count.failures == 1 && all_finite(s->n, impulse)),
     "%s: NaN in the velocities: refused, or a failure with finite impulses", x->who);
  memset(impulse, 0, sizeof impulse);
  count = (perp_contact_count){ 0 };
  ok(x->d->solve(&ctx, ws, &s->dense, impulse, slip, &count) == PERP_OK && count.failures == 0,
     "%s: ... and the next problem is solved", x->who);
}

static void check_memory(const subject *x, void *ws, const island *s)
{
  double impulse[ROWS] = { 0 }, slip[NC] = { 0 };
  perp_contact_count count = { 0 };
  if (!COUNTS_MALLOC || x->may_allocate) {
    skip(COUNTS_MALLOC ? "a part may allocate" : "sanitizer", "%s: no allocation", x->who);
    return;
  }
  for (int k = 0; k < 2; k++) x->d->solve(&ctx, ws, &s->dense, impulse, slip, &count);
  memset(impulse, 0, sizeof impulse);
  long before = count_malloc;
  x->d->solve(&ctx, ws, &s->dense, impulse, slip, &count);
  ok(count_malloc == before, "%s: a problem no larger than before allocates nothing (%ld)", x->who,
     count_malloc - before);
  void *small = create(x); /* which has no room to spare */
  perp_contact_island one = s->dense;
  one.nc = 1;
  for (int k = 0; k < 2; k++) x->d->solve(&ctx, small, &one, impulse, slip, &count);
  memset(impulse, 0, sizeof impulse);
  before = count_malloc;
  x->d->solve(&ctx, small, &one, impulse, slip, &count);
  ok(count_malloc == before, "%s: nor does one contact again (%ld)", x->who, count_malloc - before);
  x->d->destroy(small);
}

static void check_observer(const subject *x, void *ws, const island *s)
{
  double impulse[ROWS] = { 0 }, slip[NC] = { 0 };
  perp_contact_count count = { 0 };
  seen o = { 0 };
  perp_contact_island placed = s->dense;
  placed.place = &everywhere;
  x->d->observe(ws, look, &o);
  x->d->solve(&ctx, ws, &placed, impulse, slip, &count);
  bool told = o.times >= 1 && o.n >= s->n && o.finite && o.placed;
  int times = o.times;
  x->d->observe(ws, NULL, NULL);
  x->d->solve(&ctx, ws, &s->dense, impulse, slip, &count);
  ok(told && o.times == times,
     "%s: an observer sees the problem, and whose it is, until it is sent away", x->who);
}

/* ---- scenes: the gap is the judge ---- */

enum { BALLS = 3 };
static const double radius = 0.1, mu_ground = 0.4;

static void add_shape(perp_model *model, int body, perp_shape_kind kind)
{
  perp_shape_def def = { .kind = kind,
                         .body = body,
                         .radius = radius,
                         .surface = { .mu = mu_ground, .mu_dynamic = mu_ground } };
  run_shape(&ctx, model, def);
}

/* Spheres above, at, and just above the ground: one falls, one slides, one does both. */
static perp_model *ground(void)
{
  static const double gap[BALLS] = { 5e-4, 0, 1e-4 }, vx[BALLS] = { 0, 2, -1 },
                      vz[BALLS] = { -1, 0, -0.5 };
  perp_model *model = run_model(&ctx, 3);
  add_shape(model, PERP_WORLD, PERP_SHAPE_PLANE);
  for (int i = 0; i < BALLS; i++) {
    perp_body_def ball = { .mass = perp_mass_sphere(1 + i, radius),
                           .x = { i, 0, radius + gap[i] },
                           .v = { vx[i], 0, vz[i] } };
    add_shape(model, run_body(&ctx, model, ball), PERP_SHAPE_SPHERE);
  }
  return run_finish(&ctx, model);
}

static double height(const double *q, int ball)
{
  return q[7 * ball + 2] - radius;
}

/* The speed of a sphere along the ground in a step that begins `gap` above it: halfway between the
 * two. */
static double sliding(const double *q, const double *v, int ball, double gap)
{
  const double down[3] = { 0, 0, -radius - gap / 2 };
  double w[3], u[3];
  perp_pose pose;
  perp_pose_of(3, q + 7 * ball, &pose);
  perp_turn(3, pose.R, v + 6 * ball + 3, w);
  perp_cross(w, down, u);
  return hypot(v[6 * ball] + u[0], v[6 * ball + 1] + u[1]);
}

static void check_scene(const subject *x)
{
  const bool relaxed = x->d->d.caps & PERP_CONTACT_RELAXED;
  enum { STEPS = 40 };
  const double h = 1e-3, weight = 9.81 * h;
  char lcp[128];
  perp_spec_format(&x->lcp, lcp, sizeof lcp);
  perp_model *model = ground();
  perp_sim *sim = run_start(
      &ctx, model,
      (run_parts){ .formulation = "velocity:residual=1e-10", .lcp = lcp, .contact = x->d->d.name },
      h);
  double t, before[BALLS], off = 0, through = 0, both = 0, pull = 0, over = 0, energy[2][2],
                           pressed = 0; /* on the second, N s */
  const double *q, *v;
  perp_step_info info = { .reason = PERP_RUNNING };
  bool good = true;
  int contacts = 0;
  perp_sim_state(sim, &t, &q, &v);
  perp_model_energy(model, 0, q, v, &energy[0][0], &energy[0][1]);
  for (int k = 0; k < STEPS; k++) {
    for (int i = 0; i < BALLS; i++) before[i] = height(q, i);
    good = good && perp_sim_step(&ctx, sim, HUGE_VAL, &info) == PERP_OK && info.reason > 0;
    perp_sim_state(sim, &t, &q, &v);
    for (int i = 0; i < BALLS; i++) {
      off = fmax(off, fabs((height(q, i) - before[i]) / h - v[6 * i + 2]));
      through = fmax(through, -height(q, i));
    }
    for (int c = 0; c < info.n_contacts; c++, contacts++) {
      const perp_contact *at = &info.contacts[c];
      const double *p = info.impulse + 3 * c;
      double n = perp_dot(3, at->n, p), size = perp_dot(3, p, p);
      double tangent = sqrt(fmax(0, size - n * n));
      pull = fmax(pull, -n);
      over = fmax(over, tangent - sqrt(2) * mu_ground * n);
      const double lift = height(q, at->body[1]),
                   slide = relaxed ? mu_ground * sliding(q, v, at->body[1], before[at->body[1]]) * h
                                   : 0;
      both = fmax(both, fabs(n) * fabs(lift - slide) / h);
      if (at->body[1] == 1) pressed += n;
    }
  }
  perp_model_energy(model, 0, q, v, &energy[1][0], &energy[1][1]);
  ok(good && contacts >= 2 * STEPS, "%s: spheres on the ground: %d steps, %d contacts", x->who,
     STEPS, contacts);
  below(off, 1e-9, "%s: ... J v is the rate of the gap", x->who);
  below(through, 1e-6 * radius, "%s: ... nothing goes through the ground", x->who);
  below(both, 1e-4 * weight, "%s: ... what is off the ground has no impulse%s", x->who,
        relaxed ? ", but at mu |u_t| h" : "");
  below(pull, 1e-9, "%s: ... the ground does not pull", x->who);
  below(over, 1e-6 * weight, "%s: ... friction within its bound", x->who);
  if (x->d->d.caps & PERP_CONTACT_FRICTION) {
    /* the second one slides from 2 m/s: v' = -mu g, and turns: w' = 5/2 mu g / radius */
    if (!relaxed) near(pressed, 2 * weight * STEPS, 1e-6, 0, "%s: ... presses with m g", x->who);
    const double slowed = mu_ground * pressed / 2;
    near(v[6], 2 - slowed, 1e-3, 0, "%s: ... a sliding sphere is slowed by mu times that", x->who);
    near(fabs(v[6 + 4]), 2.5 * slowed / radius, 1e-2, 0, "%s: ... and turned", x->who);
  } else
    near(v[6], 2, 1e-9, 0, "%s: ... a sphere without friction keeps its speed", x->who);
  ok(energy[1][0] + energy[1][1] <= energy[0][0] + energy[0][1] + 1e-9,
     "%s: ... and the energy does not grow: %g, %g J", x->who, energy[0][0] + energy[0][1],
     energy[1][0] + energy[1][1]);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* ---- all ---- */

static void contract(const perp_contact_desc *d, const char *lcp, int dim)
{
  static const double friction[] = { 0, 0.3, 1 };
  subject x = { .d = d };
  if (perp_spec_parse(&ctx, PERP_KIND_contact, d->d.name, &x.model) != PERP_OK ||
      perp_spec_parse(&ctx, PERP_KIND_lcp, lcp, &x.lcp) != PERP_OK)
    bail("%s", ctx.msg);
  x.setup = (perp_contact_setup){ .dim = dim, .lcp = &x.lcp, .tol = tol };
  x.may_allocate = (d->d.caps | x.lcp.d->caps) & PERP_CAP_ALLOCATES;
  snprintf(x.who, sizeof x.who, "%s + %s, %d-dimensional", d->d.name, lcp, dim);
  void *ws = create(&x);
  static island s;
  for (size_t i = 0; i < sizeof friction / sizeof *friction; i++) {
    make_island(&s, d->rows(dim), friction[i], 10 + i);
    check_island(&x, ws, &s, friction[i], 10 + i);
    if (friction[i] == 0) check_limit(&x, ws, &s);
  }
  check_known(&x, ws);
  check_joint(&x, ws, &s);
  check_refusals(&x, ws, &s);
  check_memory(&x, ws, &s);
  check_observer(&x, ws, &s);
  d->destroy(ws);
  if (dim == 3) check_scene(&x);
  lived l = { &x, &s };
  watch_begin();
  life(&l);
  watch_end();
  watch_memory(x.who, life, &l);
  watch_silent(x.who);
  perp_spec_free(&x.lcp);
  perp_spec_free(&x.model);
}

static void all_of(const perp_contact_desc *d)
{
  static const char *const solvers[] = { "dantzig", "lemke", "block-gs" };
  perp_spec model;
  if (perp_spec_parse(&ctx, PERP_KIND_contact, d->d.name, &model) != PERP_OK) bail("%s", ctx.msg);
  for (int dim = 2; dim <= 3; dim++) {
    const int r = d->rows(dim);
    ok(r >= 1 && r <= dim && (r > 1) == !!(d->d.caps & PERP_CONTACT_FRICTION),
       "%s: %d row(s) a contact in %d dimensions", d->d.name, r, dim);
    int fit = 0, answered = 0, known = 0, served = 0;
    const perp_desc *lcp;
    for (; (lcp = perp_plugin_at(&ctx, PERP_KIND_lcp, known)) != NULL; known++) {
      ctx.msg[0] = '\0';
      perp_status status = d->fits(&ctx, model.opts, dim, lcp);
      fit += status == PERP_OK;
      answered += status == PERP_OK || (status == PERP_ERR_UNSUPPORTED && ctx.msg[0] != '\0');
    }
    ok(fit > 0 && answered == known, "%s: takes %d of %d solvers, and says why not the others",
       d->d.name, fit, known);
    for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++) {
      lcp = perp_find(&ctx, PERP_KIND_lcp, solvers[i]);
      if (lcp == NULL || d->fits(&ctx, model.opts, dim, lcp) != PERP_OK) continue;
      /* sweeps where nothing else serves */
      if (strcmp(solvers[i], "block-gs") == 0 && served > 0) continue;
      contract(d, solvers[i], dim);
      served++;
    }
    ok(served > 0, "%s: one of dantzig, lemke, block-gs serves it", d->d.name);
  }
  d->destroy(NULL);
  ok(true, "%s: NULL is destroyed", d->d.name);
  perp_spec_free(&model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  register_under_test(&ctx);
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_contact, i)) != NULL; i++)
    if (under_test(d)) all_of((const perp_contact_desc *)(const void *)d);
  return tap_done();
}
