/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the families of problems declare of themselves, by eigenvalues, minors and all sets of rows
 * of small ones, and by statistics of large ones. */
#include "solvers/lcp/problems/generate.h"
#include "tests/tap.h"

#include <lapacke.h>
#include <string.h>

enum { MOST = 12, LARGE = 300 };
static perp_ctx ctx;

static perp_lcp_problem make(const char *family, int n, uint64_t seed)
{
  perp_lcp_recipe r = { .family = family, .n = n, .seed = seed };
  perp_lcp_problem q;
  if (perp_lcp_generate(&ctx, &r, &q) != PERP_OK) bail("%s: %s", family, ctx.msg);
  return q;
}

/* eigenvalues of the symmetric part of the k rows of `set`, ascending; vectors in V */
static void eigen(const perp_lcp *p, int k, const int *set, double *V, double *value)
{
  for (int j = 0; j < k; j++)
    for (int i = 0; i < k; i++)
      V[i + j * k] = (p->A[set[i] + (size_t)set[j] * (size_t)p->lda] +
                      p->A[set[j] + (size_t)set[i] * (size_t)p->lda]) /
                     2;
  if (LAPACKE_dsyev(LAPACK_COL_MAJOR, 'V', 'U', k, V, k, value) != 0) bail("eigenvalues");
}

static int members(int n, int bits, int *set)
{
  int k = 0;
  for (int i = 0; i < n; i++)
    if (bits >> i & 1) set[k++] = i;
  return k;
}

/* x = K^-1 r; the determinant over the product of the largest entries of rows, 0: singular */
static double solve(const perp_lcp *p, int k, const int *set, double *x)
{
  double K[MOST * MOST], det = 1;
  for (int i = 0; i < k; i++) {
    double most = 0;
    for (int j = 0; j < k; j++) {
      K[i + j * k] = p->A[set[i] + (size_t)set[j] * (size_t)p->lda];
      most = fmax(most, fabs(K[i + j * k]));
    }
    if (most == 0) return 0;
    det /= most;
  }
  int pivot[MOST];
  const int bad = LAPACKE_dgetrf(LAPACK_COL_MAJOR, k, k, K, k, pivot);
  for (int i = 0; i < k; i++) det *= pivot[i] == i + 1 ? K[i + i * k] : -K[i + i * k];
  if (bad != 0 || fabs(det) < 1e-14) return 0;
  LAPACKE_dgetrs(LAPACK_COL_MAJOR, 'N', k, 1, K, k, pivot, x, k);
  return det;
}

typedef struct facts {
  bool symmetric, psd, pd, p, copositive, z, bimatrix, solvable, degenerate;
} facts;

/* by brute force, lo = 0 and hi = inf for what is said of solutions */
static facts find_out(const perp_lcp *p)
{
  const int n = p->n;
  facts f = { true, true, true, true, true, true, n % 2 == 0, false, false };
  int set[MOST];
  double V[MOST * MOST], value[MOST];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      const double a = p->A[i + (size_t)j * (size_t)p->lda],
                   t = p->A[j + (size_t)i * (size_t)p->lda];
      if (fabs(a - t) > 1e-14 * fabs(a)) f.symmetric = false;
      if (i != j && a > 0) f.z = false;
      if (((i < n / 2) == (j < n / 2)) ? a != 0 : !(a > 0 || p->b[i] != -1)) f.bimatrix = false;
    }
  for (int i = 0; i < n; i++)
    if (p->b[i] != -1) f.bimatrix = false;
  eigen(p, n, (members(n, (1 << n) - 1, set), set), V, value);
  const double top = fmax(fabs(value[0]), fabs(value[n - 1]));
  f.psd = value[0] >= -1e-12 * top;
  f.pd = value[0] > 1e-12 * top;
  for (int bits = 0; bits < 1 << n; bits++) {
    const int k = members(n, bits, set);
    double x[MOST];
    for (int i = 0; i < k; i++) x[i] = -p->b[set[i]];
    const double det = k > 0 ? solve(p, k, set, x) : 1;
    if (!(det > 0)) f.p = false;
    if (k > 0) { /* Kaplan: no positive eigenvector of a negative eigenvalue */
      eigen(p, k, set, V, value);
      for (int e = 0; e < k; e++) {
        int plus = 0, minus = 0;
        for (int i = 0; i < k; i++) plus += V[i + e * k] > 1e-9, minus += V[i + e * k] < -1e-9;
        if (value[e] < -1e-10 * top && (plus == k || minus == k)) f.copositive = false;
      }
    }
    if (det == 0) continue;
    bool good = true, zero = false;
    for (int i = 0; i < k; i++) good = good && x[i] > -1e-9, zero = zero || fabs(x[i]) < 1e-9;
    for (int i = 0; i < n && good; i++) {
      if (bits >> i & 1) continue;
      double w = p->b[i];
      for (int j = 0; j < k; j++) w += p->A[i + (size_t)set[j] * (size_t)p->lda] * x[j];
      good = w > -1e-9;
      zero = zero || fabs(w) < 1e-9;
    }
    if (good) f.solvable = true, f.degenerate = f.degenerate || zero;
  }
  return f;
}

static int said(const perp_lcp_family *f, unsigned bit, bool is, bool both, const char *what)
{
  const bool says = (f->classes & bit) != 0;
  if (says == is || (!both && !says)) return 0;
  printf("# %s %s %s\n", f->name, says ? "is not" : "is", what);
  return 1;
}

/* Every class that a family declares is true, and where it is no matter of chance one that it does
 * not is not. */
static void check_classes(void)
{
  int wrong = 0, looked = 0, solutions = 0;
  const perp_lcp_family *f;
  for (int i = 0; (f = perp_lcp_family_at(i)) != NULL; i++) {
    const bool ill = strcmp(f->name, "hilbert") == 0 || strcmp(f->name, "fathi") == 0;
    for (int n = f->least; n <= (ill ? 4 : 9) && n <= f->most; n++) {
      if (perp_lcp_family_rows(f, n) != n) continue;
      for (uint64_t seed = 1; seed <= (f->seeded ? 4 : 1); seed++) {
        perp_lcp_problem q = make(f->name, n, seed);
        const facts x = find_out(&q.p);
        const bool random = f->seeded, small = n < 3 && f->most > 3;
        looked++;
        wrong += q.classes != f->classes || strcmp(q.family, f->name) != 0 || q.p.n != n;
        wrong += said(f, PERP_CLASS_SYMMETRIC, x.symmetric, !small, "symmetric");
        wrong += said(f, PERP_CLASS_PSD, x.psd, false, "semidefinite");
        wrong += said(f, PERP_CLASS_PD, x.pd, !small && !random, "definite");
        wrong += said(f, PERP_CLASS_P, x.p, !small && !random, "a P-matrix");
        wrong += said(f, PERP_CLASS_Z, x.z, !small && !random && f->most > 4, "a Z-matrix");
        wrong += said(f, PERP_CLASS_BIMATRIX, x.bimatrix, true, "a bimatrix game");
        wrong += said(f, PERP_CLASS_COPOSITIVE, x.copositive, false, "copositive");
        wrong += x.psd && !x.copositive; /* of the checks themselves */
        if (q.p.lo == NULL && q.p.fric_of == NULL) {
          solutions++;
          wrong += said(f, PERP_CLASS_SOLVABLE, x.solvable, true, "solvable");
          wrong += said(f, PERP_CLASS_UNSOLVABLE, !x.solvable, true, "without solution");
          if (!random && !f->contact)
            wrong += said(f, PERP_CLASS_DEGENERATE, x.degenerate, true, "of a degenerate solution");
        }
        perp_lcp_problem_free(&q);
      }
    }
  }
  ok(wrong == 0, "families are what they say (%d of %d are not)", wrong, looked);
  ok(looked > 150 && solutions > 100, "%d problems, solutions of %d", looked, solutions);
}

/* Numbers of rows, forms and seeds. */
static void check_forms(void)
{
  int wrong = 0;
  static const char *const from_one[] = { "murty1", "murty2", "fathi", "csizmadia", "spd" };
  for (size_t k = 0; k < sizeof from_one / sizeof *from_one; k++) {
    const perp_lcp_family *one = perp_lcp_family_find(from_one[k]);
    ok(one != NULL && perp_lcp_family_rows(one, 1) == 1, "%s begins with one row", from_one[k]);
  }
  const perp_lcp_family *f;
  for (int i = 0; (f = perp_lcp_family_at(i)) != NULL; i++) {
    int bad = perp_lcp_family_find(f->name) != f;
    const int n = perp_lcp_family_rows(f, 24);
    perp_lcp_recipe r = { .family = f->name, .seed = 3 };
    perp_lcp_problem p, q;
    /* no number: the least */
    bad += perp_lcp_generate(&ctx, &r, &p) != PERP_OK || p.p.n != f->least;
    perp_lcp_problem_free(&p);
    bad += perp_lcp_family_rows(f, f->least - 1) != f->least ||
           perp_lcp_family_rows(f, 0) != f->least;
    const int top = perp_lcp_family_rows(f, f->most);
    bad += top > f->most || perp_lcp_family_rows(f, f->most + 1) != top ||
           (f->step > 0 && !f->contact && top != f->most);
    if (f->step > 1 && strncmp(f->name, "wall", 4) != 0)
      bad += perp_lcp_family_rows(f, f->least + f->step / 2 - 1) != f->least ||
             perp_lcp_family_rows(f, f->least + (f->step + 1) / 2) != f->least + f->step;
    /* one row fewer than there can be, one more than there can be */
    r.n = f->least - 1;
    if (r.n > 0) bad += perp_lcp_generate(&ctx, &r, &p) != PERP_ERR_OPTION;
    r.n = f->most + 1;
    bad += perp_lcp_generate(&ctx, &r, &p) != PERP_ERR_OPTION;
    r.n = n;
    r.factored = true;
    bad += (perp_lcp_generate(&ctx, &r, &p) == PERP_OK) != f->factored;
    if (f->factored) bad += p.p.F == NULL || p.p.A != NULL, perp_lcp_problem_free(&p);
    r = (perp_lcp_recipe){ .family = f->name, .boxes = 2 };
    const bool boxes = perp_lcp_generate(&ctx, &r, &p) == PERP_OK;
    bad += boxes != f->contact;
    if (boxes) perp_lcp_problem_free(&p);
    bad += f->contact != (strncmp(f->name, "stack", 5) == 0 || strncmp(f->name, "wall", 4) == 0 ||
                          strncmp(f->name, "incline", 7) == 0 || strstr(f->name, "-cone") != NULL);
    /* four contacts of a cube: a row, three rows or six */
    const char *end = strrchr(f->name, '-');
    const int rows = end == NULL || strcmp(end, "-cfm") == 0                 ? 1
                     : strcmp(end, "-box") == 0 || strcmp(end, "-cone") == 0 ? 3
                                                                             : 6;
    if (f->contact) bad += f->least != 4 * rows || f->step != f->least || f->factored != (rows < 6);
    if (!f->contact) bad += f->factored;
    /* two seeds */
    p = make(f->name, n, 1);
    q = make(f->name, n, 2);
    const size_t size = sizeof(double) * (size_t)n;
    const bool differ = memcmp(p.p.b, q.p.b, size) != 0 ||
                        memcmp(p.p.A, q.p.A, size * (size_t)n) != 0;
    bad += differ != f->seeded;
    perp_lcp_problem_free(&q);
    /* four times as much is exact; 0 and 1 are once */
    for (int k = 0; k < 3; k++) {
      r = (perp_lcp_recipe){ .family = f->name, .n = n, .seed = 1, .scale = k == 2 ? 4 : k };
      if (perp_lcp_generate(&ctx, &r, &q) != PERP_OK) bail("%s", ctx.msg);
      for (int a = 0; a < n * n; a++) bad += q.p.A[a] != (k == 2 ? 4 : 1) * p.p.A[a];
      for (int a = 0; a < n; a++) bad += q.p.b[a] != (k == 2 ? 4 : 1) * p.p.b[a];
      perp_lcp_problem_free(&q);
    }
    r.scale = -1;
    bad += perp_lcp_generate(&ctx, &r, &q) != PERP_ERR_OPTION;
    r.scale = HUGE_VAL;
    bad += perp_lcp_generate(&ctx, &r, &q) != PERP_ERR_OPTION;
    /* permuted: the same numbers elsewhere */
    r = (perp_lcp_recipe){ .family = f->name, .n = n, .seed = 1, .permute = true };
    if (perp_lcp_generate(&ctx, &r, &q) != PERP_OK) bail("%s", ctx.msg);
    double sum[2] = { 0 }, trace[2] = { 0 }, b[2] = { 0 }, most = 1;
    for (int a = 0; a < n * n; a++) {
      sum[0] += p.p.A[a], sum[1] += q.p.A[a];
      most = fmax(most, fabs(p.p.A[a]));
      if (!f->seeded && a % (n + 1) == 0) trace[0] += p.p.A[a], trace[1] += q.p.A[a];
    }
    for (int a = 0; a < n; a++)
      b[0] += p.p.b[a], b[1] += q.p.b[a], most = fmax(most, fabs(p.p.b[a]));
    bad += fabs(sum[0] - sum[1]) > 1e-12 * n * n * most ||
           fabs(trace[0] - trace[1]) > 1e-12 * n * most || fabs(b[0] - b[1]) > 1e-12 * n * most;
    perp_lcp_problem_free(&q);
    perp_lcp_problem_free(&p);
    if (bad != 0) printf("# %s: %d\n", f->name, bad);
    wrong += bad;
  }
  ok(wrong == 0, "rows, forms, boxes, seeds, scales and permutations of all families");
  ok(perp_lcp_family_at(-1) == NULL && perp_lcp_family_find("nothing") == NULL, "no others");
}

/* The nearest wall, by trying all of them. */
static void check_walls(void)
{
  int wrong = 0;
  for (int boxes = 0; boxes < 2; boxes++)
    for (int n = 1; n < 700; n++) {
      int W, H, least = 1 << 30;
      perp_lcp_wall_nearest(boxes ? 0 : n, boxes ? n : 0, &W, &H);
      for (int w = 1; w < 60; w++)
        for (int h = 1; h < 60; h++) {
          if (w > 2 * h || h > 2 * w) continue;
          const int rows = (h + 1) / 2,
                    count = boxes ? rows * w + (h - rows) * (w - 1) : 4 * w + 8 * (h - 1) * (w - 1);
          if (count < 1) continue;
          if (abs(count - n) < least) least = abs(count - n);
        }
      const int rows = (H + 1) / 2, many = rows * W + (H - rows) * (W - 1),
                contacts = 4 * W + 8 * (H - 1) * (W - 1);
      wrong += W > 2 * H || H > 2 * W || abs((boxes ? many : contacts) - n) != least ||
               perp_lcp_wall_contacts(W, H) != contacts || perp_lcp_wall_boxes(W, H) != many;
    }
  ok(wrong == 0, "the nearest wall (%d are not)", wrong);
}

/* ---- large ones: what is random is as random as is said ---- */

static void check_statistics(void)
{
  enum { N = LARGE };
  static double V[N * N], value[N];
  static int all[N];
  for (int i = 0; i < N; i++) all[i] = i;
  perp_lcp_problem q = make("spd", N, 1);
  double sum = 0;
  for (int i = 0; i < N; i++) sum += q.p.A[i * (N + 1)] / N;
  /* N^2 squares: sqrt(2) / N */
  near(sum, 1.05, 0.02, 0, "spd: normal deviates of variance 1, and I / 20");
  eigen(&q.p, N, all, V, value);
  ok(value[0] > 0.05 - 1e-12 && value[0] < 0.06, "... least eigenvalue %g", value[0]);
  int at = 0, degenerate = 0;
  for (int i = 0; i < N; i++) {
    at += q.solution[i] == 0;
    degenerate += q.solution[i] != 0 && !(q.solution[i] >= 0.1 && q.solution[i] < 1);
  }
  ok(abs(at - N / 2) < 40 && degenerate == 0, "... half of the rows at zero: %d", at);
  perp_lcp_problem_free(&q);

  for (int k = 0; k < 3; k++) {
    static const char *const family[] = { "spd", "spd-degenerate", "psd" };
    q = make(family[k], N, 2);
    int zero = 0;
    at = 0;
    for (int i = 0; i < N; i++) {
      double w = q.p.b[i];
      for (int j = 0; j < N; j++) w += q.p.A[i + j * N] * q.solution[j];
      at += q.solution[i] == 0;
      zero += q.solution[i] == 0 && fabs(w) < 1e-9;
      if (q.solution[i] == 0 && fabs(w) >= 1e-9 && !(w > 0.1 - 1e-9 && w < 1)) zero = -N;
      if (q.solution[i] != 0 && fabs(w) > 1e-9) zero = -N;
    }
    near(zero,
         at * (k == 0   ? 0
               : k == 1 ? 0.5
                        : 0.25),
         k == 0 ? 0 : 20, 0, "%s: %d of %d rows at zero have w = 0", family[k], zero, at);
    if (k == 2) {
      int rank = 0;
      eigen(&q.p, N, all, V, value);
      for (int i = 0; i < N; i++) rank += value[i] > 1e-9;
      ok(rank == N / 2, "psd: rank %d", rank);
    }
    perp_lcp_problem_free(&q);
  }

  q = make("pd-nonsymmetric", N, 1);
  sum = 0;
  for (int j = 0; j < N; j++)
    for (int i = 0; i < j; i++) {
      const double s = (q.p.A[i + j * N] - q.p.A[j + i * N]) / 2;
      sum += s * s / (N * (N - 1) / 2);
    }
  near(sum, 0.25, 0.01, 0, "pd-nonsymmetric: the skew part");
  perp_lcp_problem_free(&q);

  q = make("p-matrix", N, 1);
  double off = 0, mean = 0, square = 0;
  for (int i = 0; i < N; i++) {
    double row = 0;
    for (int j = 0; j < N; j++)
      if (i != j) row += fabs(q.p.A[i + j * N]), square += q.p.A[i + j * N] * q.p.A[i + j * N];
    off = fmax(off, fabs(q.p.A[i * (N + 1)] / (1.05 * row + 0.1) - 1));
    mean += q.p.b[i] / N;
  }
  ok(off < 1e-14 && fabs(mean) < 0.25, "p-matrix: diagonals by 5 %% larger than their rows");
  near(square / (N * (N - 1)), 1, 0.02, 0, "... entries of variance 1");
  perp_lcp_problem_free(&q);

  q = make("copositive", N, 1);
  double entries = 0;
  int negative = 0;
  square = 0;
  for (int j = 0; j < N; j++)
    for (int i = 0; i < j; i++) {
      const double s = q.p.A[i + j * N] + q.p.A[j + i * N]; /* of the skew part nothing */
      entries += s / (N * (N - 1));
      negative += s < -1e-12;
      square += q.p.A[i + j * N] < 0;
    }
  for (int i = 0; i < N; i++) negative += q.p.A[i * (N + 1)] < 0.1 - 1e-15;
  near(entries, 0.2, 0.01, 0, "copositive: four of ten entries, uniform");
  ok(negative == 0 && square > N * N / 10,
     "... no sum of a pair is negative, but many entries are");
  perp_lcp_problem_free(&q);

  static const char *const bounded[] = { "boxed", "boxed-psd" };
  for (int k = 0; k < 2; k++) {
    q = make(bounded[k], N, 3);
    int kinds[6] = { 0 }, wrong = 0, lower = 0, upper = 0;
    for (int i = 0; i < N; i++) {
      const double lo = q.p.lo[i], hi = q.p.hi[i], x = q.solution[i];
      const int kind = lo == hi                            ? 4
                       : lo == -HUGE_VAL && hi == HUGE_VAL ? 5
                       : lo == -HUGE_VAL                   ? 3
                       : hi == HUGE_VAL                    ? 0
                       : lo < 0                            ? 1
                                                           : 2;
      kinds[kind]++;
      wrong += !(x >= lo && x <= hi) || (kind == 0 && lo != 0);
      wrong += kind == 3 && !(hi >= 0.1 && hi < 1);
      wrong += kind == 4 && !(fabs(lo) <= 0.5);
      wrong += kind == 1 && !(lo <= -0.1 && lo > -1 && hi >= -lo + 0.1 && hi < -lo + 1);
      wrong += kind == 2 && !(lo >= 0.1 && lo < 1 && hi >= lo + 0.1 - 1e-15 && hi < lo + 1);
      lower += (kind == 1 || kind == 2) && x == lo;
      upper += (kind == 1 || kind == 2) && x == hi;
    }
    for (int c = 0; c < 5; c++) wrong += abs(kinds[c] - N / 7) > 25;
    wrong += abs(kinds[5] - 2 * N / 7) > 30;
    ok(wrong == 0, "%s: kinds of bounds %d %d %d %d %d %d", bounded[k], kinds[0], kinds[1],
       kinds[2], kinds[3], kinds[4], kinds[5]);
    const double boxes = kinds[1] + kinds[2];
    ok(fabs(lower - boxes / 2) < 20 && fabs(upper - boxes / 4) < 16,
       "... of %g boxes %d at the lower bound, %d at the upper one", boxes, lower, upper);
    perp_lcp_problem_free(&q);
  }

  /* a vector of zeros and ones with A z = 0 and b'z = -1, to the last bit */
  int proved = 0;
  for (int n = 2; n <= 11; n++) {
    q = make("infeasible", n, (uint64_t)n);
    bool found = false;
    for (int bits = 1; bits < 1 << n && !found; bits += 2) {
      double b = 0;
      found = true;
      for (int i = 0; i < n; i++) {
        double w = 0;
        for (int j = 0; j < n; j++) w += (bits >> j & 1) * q.p.A[i + j * n];
        if (w != 0) found = false;
        b += (bits >> i & 1) * q.p.b[i];
      }
      found = found && b == -1;
    }
    proved += found;
    perp_lcp_problem_free(&q);
  }
  ok(proved == 10, "infeasible: the vector that proves it (%d of 10)", proved);

  q = make("harker-pang", N, 1);
  sum = mean = square = 0;
  double least = 1e9, lowest = 0, highest = -1e9;
  for (int j = 0; j < N; j++) {
    sum += q.p.A[j * (N + 1)] / N;
    mean += q.p.b[j] / N;
    lowest = fmin(lowest, q.p.b[j]);
    highest = fmax(highest, q.p.b[j]);
    for (int i = 0; i < j; i++) {
      const double s = (q.p.A[i + j * N] - q.p.A[j + i * N]) / 2;
      square += s * s / (N * (N - 1) / 2);
      least = fmin(least, s);
    }
  }
  near(sum, N * 25 / 3., 0, 0.02, "harker-pang: the diagonal of A A'");
  near(square, 25 / 3., 0, 0.02, "... the skew part");
  ok(least > -5.01 && least < -4.9 && lowest > -500 && lowest < -480 && highest < 0 &&
         highest > -20 && fabs(mean + 250) < 40,
     "... b in (-500, 0), mean %g", mean);
  perp_lcp_problem_free(&q);
}

int main(void)
{
  perp_ctx_init(&ctx);
  check_classes();
  check_forms();
  check_walls();
  check_statistics();
  return tap_done();
}
