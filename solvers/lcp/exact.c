/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/exact.h"

#include <stdlib.h>

void *perp_exact_alloc(int count, size_t size)
{
  void *p = calloc((size_t)count + 1, size);
  if (p == NULL) abort();
  return p;
}

static void exact_arrays(perp_exact *exact, int m, int k)
{
  exact->m = m;
  exact->k = k;
  const int count = m * (k + 1);
  mpz_t *z = perp_exact_alloc(count, sizeof *z);
  for (int i = 0; i < count; i++) mpz_init(z[i]);
  exact->D = z;
  exact->basic = perp_exact_alloc(m, sizeof *exact->basic);
  exact->non = perp_exact_alloc(k, sizeof *exact->non);
  exact->v = perp_exact_alloc(m + k, sizeof *exact->v);
  exact->row = perp_exact_alloc(m, sizeof *exact->row);
  exact->column = perp_exact_alloc(k + 1, sizeof *exact->column);
  for (int i = 0; i < m + k; i++) mpz_inits(exact->v[i].U, exact->v[i].origin, NULL);
  mpz_inits(exact->d, exact->s, exact->t, NULL);
}

/* exponent of the lowest bit of a dyadic rational that is not 0 */
static long exact_low(mpq_srcptr q)
{
  return (long)mpz_scan1(mpq_numref(q), 0) - (long)mpz_scan1(mpq_denref(q), 0);
}

static void exact_shift(mpz_t z, long by)
{
  if (by >= 0)
    mpz_mul_2exp(z, z, (mp_bitcnt_t)by);
  else
    mpz_tdiv_q_2exp(z, z, (mp_bitcnt_t)-by); /* exact where it is called */
}

/* z = q 2^by, an integer */
static void exact_integer(mpz_t z, mpq_srcptr q, long by)
{
  mpz_set(z, mpq_numref(q));
  exact_shift(z, by - (long)mpz_scan1(mpq_denref(q), 0));
}

/* The least exponent that makes count numbers, every step-th and each times 2^with, integers; 0
 * where all are zero. */
static long exact_need(mpq_t *q, int count, int step, const long *with)
{
  long most = 0;
  bool any = false;
  for (int k = 0; k < count; k++) {
    mpq_srcptr x = q[(size_t)k * (size_t)step];
    if (mpq_sgn(x) == 0) continue;
    const long need = -(exact_low(x) + (with != NULL ? with[k] : 0));
    if (!any || need > most) most = need;
    any = true;
  }
  return most;
}

void perp_exact_new(perp_exact *exact, int m, int k, mpq_t *R, mpq_t *upper, int64_t budget)
{
  exact_arrays(exact, m, k);
  int width = k + 1;
  for (int i = 0; i < m; i++)
    exact->row[i] = exact_need(R + (size_t)i * (size_t)width, width, 1, NULL);
  for (int j = 0; j < width; j++) exact->column[j] = exact_need(R + j, m, width, exact->row);
  /* x = y 2^(column_j - column_0): U must become an integer */
  for (int j = 1; j < width; j++)
    if (mpq_sgn(upper[j - 1]) > 0) {
      long need = exact->column[j] - exact_low(upper[j - 1]);
      if (need > exact->column[0]) exact->column[0] = need;
    }
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < width; j++) {
      mpq_ptr q = R[i * width + j];
      if (mpq_sgn(q) != 0)
        exact_integer(exact->D[i * width + j], q, exact->row[i] + exact->column[j]);
    }
    exact->basic[i] = k + i;
  }
  for (int j = 0; j < k; j++) {
    exact->non[j] = j;
    if (mpq_sgn(upper[j]) > 0)
      exact_integer(exact->v[j].U, upper[j], exact->column[0] - exact->column[j + 1]);
  }
  for (int i = 0; i < m + k; i++) exact->v[i].sign = 1;
  mpz_set_ui(exact->d, 1);
  exact->work = 0;
  exact->budget = budget;
}

void perp_exact_copy(const perp_exact *from, perp_exact *to)
{
  int m = from->m, k = from->k;
  exact_arrays(to, m, k);
  for (int i = 0; i < m * (k + 1); i++) mpz_set(to->D[i], from->D[i]);
  for (int i = 0; i < m; i++) to->basic[i] = from->basic[i], to->row[i] = from->row[i];
  for (int j = 0; j < k; j++) to->non[j] = from->non[j];
  for (int j = 0; j <= k; j++) to->column[j] = from->column[j];
  for (int i = 0; i < m + k; i++) {
    to->v[i].kind = from->v[i].kind;
    to->v[i].sign = from->v[i].sign;
    mpz_set(to->v[i].U, from->v[i].U);
    mpz_set(to->v[i].origin, from->v[i].origin);
  }
  mpz_set(to->d, from->d);
  to->work = from->work;
  to->budget = from->budget;
}

void perp_exact_free(perp_exact *exact)
{
  for (int i = 0; i < exact->m * (exact->k + 1); i++) mpz_clear(exact->D[i]);
  for (int i = 0; i < exact->m + exact->k; i++) mpz_clears(exact->v[i].U, exact->v[i].origin, NULL);
  mpz_clears(exact->d, exact->s, exact->t, NULL);
  free(exact->D);
  free(exact->basic);
  free(exact->non);
  free(exact->v);
  free(exact->row);
  free(exact->column);
}

/* The row of v; -1: it is not basic. */
static int exact_row(const perp_exact *exact, int v)
{
  for (int i = 0; i < exact->m; i++)
    if (exact->basic[i] == v) return i;
  return -1;
}

void perp_exact_restrict(perp_exact *exact, int v, enum perp_exact_kind kind)
{
  exact->v[v].kind = (unsigned char)kind;
}

void perp_exact_reflect(perp_exact *exact, int v)
{
  perp_exact_var *var = &exact->v[v];
  bool box = var->kind == PERP_EXACT_BOX;
  int r = exact_row(exact, v), width = exact->k + 1;
  if (r >= 0) {
    mpz_t *D = exact->D + (size_t)r * width;
    for (int j = 0; j < width; j++) mpz_neg(D[j], D[j]);
    if (box) mpz_addmul(D[0], exact->d, var->U);
  } else {
    int c = 1;
    while (exact->non[c - 1] != v) c++;
    for (int i = 0; i < exact->m; i++) {
      mpz_t *D = exact->D + (size_t)i * width;
      if (box) mpz_addmul(D[0], D[c], var->U);
      mpz_neg(D[c], D[c]);
    }
  }
  if (box && var->sign > 0)
    mpz_add(var->origin, var->origin, var->U);
  else if (box)
    mpz_sub(var->origin, var->origin, var->U);
  var->sign = (signed char)-var->sign;
}

void perp_exact_value(const perp_exact *exact, int v, mpq_t out)
{
  int r = exact_row(exact, v);
  mpq_set_ui(out, 0, 1);
  if (r >= 0) {
    mpq_set_num(out, exact->D[(size_t)r * (size_t)(exact->k + 1)]);
    mpq_set_den(out, exact->d);
    mpq_canonicalize(out);
  }
  if (exact->v[v].sign < 0) mpq_neg(out, out);
  mpq_t o;
  mpq_init(o);
  mpq_set_z(o, exact->v[v].origin);
  mpq_add(out, out, o);
  mpq_clear(o);
}

void perp_exact_pivot(perp_exact *exact, int r, int c)
{
  int width = exact->k + 1;
  mpz_t *P = exact->D + (size_t)r * width;
  bool down = mpz_sgn(P[c]) < 0;
  size_t limbs = mpz_size(exact->d) + mpz_size(P[c]) + 1;
  int64_t updates = 0;
  for (int i = 0; i < exact->m; i++) {
    if (i == r) continue;
    mpz_t *D = exact->D + (size_t)i * width;
    bool plain = mpz_sgn(D[c]) == 0;
    for (int j = 0; j < width; j++) {
      if (j == c || (mpz_sgn(D[j]) == 0 && (plain || mpz_sgn(P[j]) == 0))) continue;
      updates++;
      mpz_mul(exact->s, P[c], D[j]);
      if (!plain) mpz_submul(exact->s, D[c], P[j]);
      mpz_divexact(D[j], exact->s, exact->d);
      if (down) mpz_neg(D[j], D[j]);
    }
    if (down) mpz_neg(D[c], D[c]);
  }
  /* row r: the entering variable; D[c] of the other rows times d / d is as it was */
  mpz_set(exact->s, P[c]);
  for (int j = 0; j < width; j++)
    if (j != c && !down) mpz_neg(P[j], P[j]);
  mpz_set(P[c], exact->d);
  if (down) mpz_neg(P[c], P[c]);
  mpz_abs(exact->d, exact->s);
  int leaving = exact->basic[r];
  exact->basic[r] = exact->non[c - 1];
  exact->non[c - 1] = leaving;
  exact->work += 20 * (int64_t)width + updates * (20 + (int64_t)(limbs * limbs));
}

/* Does basic row i break its condition?  Reflected where that makes its constant negative. */
static bool exact_broken(perp_exact *exact, int i)
{
  const perp_exact_var *var = &exact->v[exact->basic[i]];
  mpz_t *D = exact->D + (size_t)i * (size_t)(exact->k + 1);
  int sign = mpz_sgn(D[0]);
  if (var->kind == PERP_EXACT_FREE || sign == 0) return false;
  if (sign < 0) return true;
  if (var->kind == PERP_EXACT_BOX) {
    mpz_mul(exact->t, exact->d, var->U);
    if (mpz_cmp(D[0], exact->t) <= 0) return false;
  } else if (var->kind == PERP_EXACT_UP)
    return false;
  perp_exact_reflect(exact, exact->basic[i]);
  return true;
}

/* Column that raises row i from its negative constant, 0 when none can raise it to 0. */
static int exact_entering(perp_exact *exact, int i)
{
  mpz_t *D = exact->D + (size_t)i * (size_t)(exact->k + 1);
  int least = 0;
  bool bounded = true;
  mpz_set(exact->t, D[0]);
  for (int c = 1; c <= exact->k; c++) {
    const perp_exact_var *var = &exact->v[exact->non[c - 1]];
    int sign = mpz_sgn(D[c]);
    if (var->kind == PERP_EXACT_FREE && sign != 0) return c;
    if (var->kind == PERP_EXACT_FIXED || sign <= 0) continue;
    if (least == 0 || exact->non[c - 1] < exact->non[least - 1]) least = c;
    if (var->kind == PERP_EXACT_BOX)
      mpz_addmul(exact->t, D[c], var->U);
    else
      bounded = false;
  }
  return bounded && mpz_sgn(exact->t) < 0 ? 0 : least;
}

enum perp_exact_answer perp_exact_decide(perp_exact *exact, int *row)
{
  for (;;) {
    int r = -1, c = 0;
    for (int i = 0; i < exact->m; i++) {
      if (!exact_broken(exact, i)) continue;
      int entering = exact_entering(exact, i);
      if (entering == 0) {
        if (row != NULL) *row = i;
        return PERP_EXACT_IMPOSSIBLE;
      }
      if (r >= 0 && exact->basic[i] > exact->basic[r]) continue;
      r = i;
      c = entering;
    }
    if (r < 0) return PERP_EXACT_POSSIBLE;
    if (exact->work > exact->budget) return PERP_EXACT_SPENT;
    perp_exact_pivot(exact, r, c);
  }
}
