/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Four units of one colour at a time, one in each lane of a vector: contacts (n, t1, t2; boxes or
 * cones), or one or four normal rows, on one or two bodies in space with diagonal inertia.
 *
 * Their numbers lie one behind the other as a sweep reads them: where accumulators and rows are,
 * the columns of G = J L (first rows of the four, second ones, ...), Gram matrix, b, steps,
 * coefficients of friction, S where there is one.  Accumulators of the bodies are turned from
 * bodies to lanes on their way in, and back.
 *
 * Each function has one body, compiled twice: for AVX2, which is taken where the processor has it,
 * and plain.  All operations are those of single numbers in each lane and nothing is contracted, so
 * both give the same bits.  The steps are those of unit_sweep in rows_sweep.c but for the order of
 * its sums. */
#include "solvers/lcp/rows/rows_private.h"

#include <float.h>

typedef struct four_head {
  int a[4], b[4], row[4];
  int pad[4]; /* what follows begins at a multiple of 32 bytes */
} four_head;

/* What follows the columns of G, in vectors: the Gram matrix, and behind it b, steps, coefficients,
 * S. */
#define FOURS_GRAM(rows) ((rows) * ((rows)-1) / 2)
enum { MOST = PERP_UNIT_ROWS, LIMITS = 2 };
typedef struct four_rest {
  const perp_v4 *gram, *data, *step, *limit, *soft;
} four_rest;

/* Two pairs of numbers side by side. */
#define FOURS_PAIRS(type, x, y)                                                                    \
  __builtin_shufflevector(*(const type *)(x), *(const type *)(y), 0, 1, 2, 3)

/* x[q] = number q of the block of each lane */
PERP_CLONE_INLINE void fours_gather(const double *u, const int at[4], perp_v4 x[BODY_WIDTH])
{
  for (int q = 0; q < BODY_WIDTH; q += 2) {
    const perp_v4 even = FOURS_PAIRS(perp_v2, u + at[0] + q, u + at[2] + q);
    const perp_v4 odd = FOURS_PAIRS(perp_v2, u + at[1] + q, u + at[3] + q);
    x[q] = PERP_TURN4(even, odd, true);
    x[q + 1] = PERP_TURN4(even, odd, false);
  }
}

PERP_CLONE_INLINE void fours_scatter(const perp_v4 x[BODY_WIDTH], const int at[4], double *u)
{
  for (int q = 0; q < BODY_WIDTH; q += 2) {
    const perp_v4 even = PERP_TURN4(x[q], x[q + 1], true);
    const perp_v4 odd = PERP_TURN4(x[q], x[q + 1], false);
    *(perp_v2 *)(u + at[0] + q) = PERP_HALF4(even, false);
    *(perp_v2 *)(u + at[2] + q) = PERP_HALF4(even, true);
    *(perp_v2 *)(u + at[1] + q) = PERP_HALF4(odd, false);
    *(perp_v2 *)(u + at[3] + q) = PERP_HALF4(odd, true);
  }
}

PERP_CLONE_INLINE void fours_rest(const perp_v4 *g, const int blocks, const int rows,
                                  four_rest *rest)
{
  rest->gram = g + BODY_WIDTH * blocks * rows;
  rest->data = rest->gram + FOURS_GRAM(rows);
  rest->step = rest->data + rows;
  rest->limit = rest->step + rows;
  rest->soft = rest->limit + (rows == CONTACT_ROWS ? LIMITS : 0);
}

/* l[k] = row k of the unit of each lane */
PERP_CLONE_INLINE void fours_read(const double *x, const int row[4], const int rows, perp_v4 *l)
{
  int k = 0;
  for (; k + 2 <= rows; k += 2) {
    const perp_v4 even = FOURS_PAIRS(perp_v2_any, x + row[0] + k, x + row[2] + k);
    const perp_v4 odd = FOURS_PAIRS(perp_v2_any, x + row[1] + k, x + row[3] + k);
    l[k] = PERP_TURN4(even, odd, true);
    l[k + 1] = PERP_TURN4(even, odd, false);
  }
  if (k == rows) return;
  const perp_v2 low = { x[row[0] + k], x[row[1] + k] }, high = { x[row[2] + k], x[row[3] + k] };
  l[k] = __builtin_shufflevector(low, high, 0, 1, 2, 3);
}

PERP_CLONE_INLINE void fours_write(const perp_v4 *l, const int row[4], const int rows, double *x)
{
  int k = 0;
  for (; k + 2 <= rows; k += 2) {
    const perp_v4 even = PERP_TURN4(l[k], l[k + 1], true), odd = PERP_TURN4(l[k], l[k + 1], false);
    *(perp_v2_any *)(x + row[0] + k) = PERP_HALF4(even, false);
    *(perp_v2_any *)(x + row[2] + k) = PERP_HALF4(even, true);
    *(perp_v2_any *)(x + row[1] + k) = PERP_HALF4(odd, false);
    *(perp_v2_any *)(x + row[3] + k) = PERP_HALF4(odd, true);
  }
  for (int i = 0; k < rows && i < 4; i++) x[row[i] + k] = l[k][i];
}

/* y = G u, the sum of each body by itself: shorter chains */
PERP_CLONE_INLINE void fours_dot(const perp_v4 *g, const perp_v4 *x, const int blocks,
                                 const int rows, perp_v4 *y)
{
  for (int k = 0; k < rows; k++) {
    perp_v4 sum = g[k] * x[0];
    for (int q = 1; q < BODY_WIDTH; q++) sum += g[rows * q + k] * x[q];
    y[k] = sum;
    if (blocks == 1) continue;
    sum = g[rows * BODY_WIDTH + k] * x[BODY_WIDTH];
    for (int q = BODY_WIDTH + 1; q < 2 * BODY_WIDTH; q++) sum += g[rows * q + k] * x[q];
    y[k] += sum;
  }
}

/* x += G' c */
PERP_CLONE_INLINE void fours_add(const perp_v4 *g, const perp_v4 *c, const int blocks,
                                 const int rows, perp_v4 *x)
{
  for (int q = 0; q < BODY_WIDTH * blocks; q++) {
    perp_v4 sum = c[0] * g[rows * q];
    for (int k = 1; k < rows; k++) sum += c[k] * g[rows * q + k];
    x[q] += sum;
  }
}

#define FOURS_CLAMP(x, lo, hi)                                                                     \
  do {                                                                                             \
    x = PERP_CHOOSE4((x) < (lo), lo, x);                                                           \
    x = PERP_CHOOSE4((x) > (hi), hi, x);                                                           \
  } while (0)

/* ---- sweeps ---- */

/* The rows of a contact: l and what is added to it, from the steps y. */
PERP_CLONE_INLINE void fours_contact(const four_rest *rest, const bool cone, const perp_v4 *y,
                                     perp_v4 *l, perp_v4 *change)
{
  const perp_v4 *gram = rest->gram, least = -l[0];
  change[0] = PERP_CHOOSE4(y[0] > least, y[0], least);
  l[0] += change[0];
  const perp_v4 top = rest->limit[0] * l[0];
  if (cone) {
    const perp_v4 one = { 1, 1, 1, 1 };
    perp_v4 z1 = l[1] + y[1] - gram[0] * change[0], z2 = l[2] + y[2] - gram[1] * change[0], size;
    const perp_v4 square = z1 * z1 + z2 * z2;
    for (int k = 0; k < 4; k++) size[k] = __builtin_sqrt(square[k]);
    const perp_v4 shrink = top / size, scale = PERP_CHOOSE4(size > top, shrink, one);
    z1 *= scale;
    z2 *= scale;
    change[1] = z1 - l[1];
    change[2] = z2 - l[2];
    l[1] = z1;
    l[2] = z2;
    return;
  }
  for (int k = 1; k < CONTACT_ROWS; k++) {
    const perp_v4 bound = k == 1 ? top : rest->limit[1] * l[0];
    perp_v4 low = -bound - l[k], high = bound - l[k], d = y[k] - gram[FOURS_GRAM(k)] * change[0];
    if (k == 2) d -= gram[FOURS_GRAM(k) + 1] * change[1];
    FOURS_CLAMP(d, low, high);
    change[k] = d;
    d += l[k];
    low = -bound;
    FOURS_CLAMP(d, low, bound);
    l[k] = d;
  }
}

PERP_CLONE_INLINE void fours_relax(const perp_rows *R, const double *data, double *restrict lambda,
                                   const int blocks, const int rows, const int contents, bool soft,
                                   perp_v4 *worst)
{
  const four_head *head = (const four_head *)(const void *)data;
  const perp_v4 *g = (const perp_v4 *)(const void *)(head + 1);
  perp_v4 x[2 * BODY_WIDTH], y[MOST], l[MOST], change[MOST];
  four_rest rest;
  fours_rest(g, blocks, rows, &rest);
  fours_gather(R->u, head->a, x);
  if (blocks == 2) fours_gather(R->u, head->b, x + BODY_WIDTH);
  fours_read(lambda, head->row, rows, l);
  fours_dot(g, x, blocks, rows, y);
  for (int k = 0; k < rows; k++) {
    y[k] += rest.data[k];
    if (soft) y[k] += rest.soft[k] * l[k];
    y[k] *= -rest.step[k];
  }
  if (contents == NORMALS) {
    for (int k = 0; k < rows; k++) {
      perp_v4 d = y[k];
      for (int j = 0; j < k; j++) d -= rest.gram[FOURS_GRAM(k) + j] * change[j];
      const perp_v4 least = -l[k];
      change[k] = PERP_CHOOSE4(d > least, d, least);
      l[k] += change[k];
    }
  } else
    fours_contact(&rest, contents == CONTACT_CONE, y, l, change);
  fours_write(l, head->row, rows, lambda);
  fours_add(g, change, blocks, rows, x);
  fours_scatter(x, head->a, R->u);
  if (blocks == 2) fours_scatter(x + BODY_WIDTH, head->b, R->u);
  for (int k = 0; k < rows; k++) {
    const perp_v4 size = PERP_SIZE4(change[k]);
    *worst = PERP_LARGER4(size, *worst);
  }
}

/* What is alike in units that are done together. */
static inline int fours_alike(const perp_unit *unit)
{
  return 100 * unit->contents + 10 * unit->r + (unit->b < 0 ? 1 : 2);
}
#define FOURS_ALIKE(contents, rows, blocks) (100 * (contents) + 10 * (rows) + (blocks))

/* Does f(rows, blocks) for unit t, both constants. */
#define FOURS_FOR_SIZE(t, f)                                                                       \
  switch (10 * (t)->r + ((t)->b < 0 ? 1 : 2)) {                                                    \
  case 11:                                                                                         \
    f(1, 1) break;                                                                                 \
  case 12:                                                                                         \
    f(1, 2) break;                                                                                 \
  case 31:                                                                                         \
    f(3, 1) break;                                                                                 \
  case 32:                                                                                         \
    f(3, 2) break;                                                                                 \
  case 41:                                                                                         \
    f(4, 1) break;                                                                                 \
  default:                                                                                         \
    f(4, 2)                                                                                        \
  }

PERP_CLONE_INLINE double fours_sweep(const perp_rows *R, int t, int end, double *lambda)
{
  const bool soft = R->p->F->s != NULL;
  perp_v4 worst = { 0, 0, 0, 0 };
  while (t < end) { /* as many of one kind as there are */
    const int alike = fours_alike(&R->unit[t]);
#define FOURS_RUN(contents, rows, blocks)                                                          \
  case FOURS_ALIKE(contents, rows, blocks):                                                        \
    for (; t < end && fours_alike(&R->unit[t]) == alike; t += 4)                                   \
      fours_relax(R, R->data + R->unit[t].at, lambda, blocks, rows, contents, soft, &worst);       \
    break;
    switch (alike) {
      FOURS_RUN(CONTACT_BOX, 3, 1)
      FOURS_RUN(CONTACT_BOX, 3, 2)
      FOURS_RUN(CONTACT_CONE, 3, 1)
      FOURS_RUN(CONTACT_CONE, 3, 2)
      FOURS_RUN(NORMALS, 1, 1)
      FOURS_RUN(NORMALS, 1, 2)
      FOURS_RUN(NORMALS, 4, 1)
    default:
      for (; t < end && fours_alike(&R->unit[t]) == alike; t += 4)
        fours_relax(R, R->data + R->unit[t].at, lambda, 2, 4, NORMALS, soft, &worst);
    }
#undef FOURS_RUN
  }
  double most = worst[0];
  for (int k = 1; k < 4; k++) most = larger(most, worst[k]);
  return most;
}

/* ---- products ---- */

PERP_CLONE_INLINE void fours_Gt_of(const double *data, const double *x, double *u, const int blocks,
                                   const int rows)
{
  const four_head *head = (const four_head *)(const void *)data;
  const perp_v4 *g = (const perp_v4 *)(const void *)(head + 1);
  perp_v4 c[MOST], y[2 * BODY_WIDTH];
  fours_read(x, head->row, rows, c);
  fours_gather(u, head->a, y);
  if (blocks == 2) fours_gather(u, head->b, y + BODY_WIDTH);
  fours_add(g, c, blocks, rows, y);
  fours_scatter(y, head->a, u);
  if (blocks == 2) fours_scatter(y + BODY_WIDTH, head->b, u);
}

PERP_CLONE_INLINE void fours_Gt(const perp_rows *R, int t, int end, const double *x, double *u)
{
  for (; t < end; t += 4) {
#define FOURS_SIZED(rows, blocks) fours_Gt_of(R->data + R->unit[t].at, x, u, blocks, rows);
    FOURS_FOR_SIZE(&R->unit[t], FOURS_SIZED)
#undef FOURS_SIZED
  }
}

PERP_CLONE_INLINE void fours_G_of(const double *data, const double *u, const double *x, bool soft,
                                  bool b, double *y, const int blocks, const int rows)
{
  const four_head *head = (const four_head *)(const void *)data;
  const perp_v4 *g = (const perp_v4 *)(const void *)(head + 1);
  perp_v4 v[2 * BODY_WIDTH], l[MOST], w[MOST];
  four_rest rest;
  fours_rest(g, blocks, rows, &rest);
  fours_gather(u, head->a, v);
  if (blocks == 2) fours_gather(u, head->b, v + BODY_WIDTH);
  fours_dot(g, v, blocks, rows, w);
  fours_read(x, head->row, rows, l);
  for (int k = 0; k < rows; k++) {
    if (soft) w[k] += rest.soft[k] * l[k];
    if (b) w[k] += rest.data[k];
  }
  fours_write(w, head->row, rows, y);
}

PERP_CLONE_INLINE void fours_G(const perp_rows *R, int t, int end, const double *u, const double *x,
                               bool b, double *y)
{
  const bool soft = R->p->F->s != NULL;
  for (; t < end; t += 4) {
#define FOURS_SIZED(rows, blocks)                                                                  \
  fours_G_of(R->data + R->unit[t].at, u, x, soft, b, y, blocks, rows);
    FOURS_FOR_SIZE(&R->unit[t], FOURS_SIZED)
#undef FOURS_SIZED
  }
}

/* ---- packing ---- */

/* Column q of a block of four contacts, L of each: n, t1, t2. */
PERP_CLONE_INLINE void fours_column(const double *const J[4], const double *const L[4], int q,
                                    perp_v4 *g)
{
  perp_v4 c[4];
  for (int k = 0; k < 4; k++) {
    const double *from = J[k] + CONTACT_ROWS * q;
    if (q + 1 < BODY_WIDTH)
      c[k] = *(const perp_v4_any *)from; /* one of the next comes along */
    else
      c[k] = (perp_v4){ from[0], from[1], from[2], 0 };
    c[k] *= L[k][q];
  }
  const perp_v4 a = PERP_TURN4(c[0], c[1], true), b = PERP_TURN4(c[2], c[3], true);
  const perp_v4 d = PERP_TURN4(c[0], c[1], false), e = PERP_TURN4(c[2], c[3], false);
  g[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  g[1] = __builtin_shufflevector(d, e, 0, 1, 4, 5);
  g[2] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
}

/* The columns of one block, and what they add to the diagonal and to the products of two rows. */
PERP_CLONE_INLINE void fours_columns(const perp_rows *R, int t, const int block, const int rows,
                                     bool contacts, perp_v4 *g, perp_v4 *diag, perp_v4 *product)
{
  const perp_blocks *blocks = R->p->F;
  const double *J[4], *L[4];
  perp_v4 sum[MOST] = { { 0 } };
  for (int k = 0; k < 4; k++) {
    const int at = blocks->jptr[R->unit[t + k].group] + block;
    J[k] = blocks->J + blocks->joff[at];
    L[k] = R->root + blocks->bptr[blocks->jblk[at]];
  }
  for (int q = 0; q < BODY_WIDTH && contacts; q++) fours_column(J, L, q, g + CONTACT_ROWS * q);
  for (int l = 0; l < rows && !contacts; l++) /* rows of groups of any size */
    for (int k = 0; k < 4; k++) {
      const perp_unit *unit = &R->unit[t + k];
      int c = unit->group;
      while (unit->row + l >= blocks->cptr[c + 1]) c++;
      const int r = blocks->cptr[c + 1] - blocks->cptr[c];
      const double *row = blocks->J + blocks->joff[blocks->jptr[c] + block] +
                          (unit->row + l - blocks->cptr[c]);
      for (int q = 0; q < BODY_WIDTH; q++) g[rows * q + l][k] = row[r * q] * L[k][q];
    }
  for (int q = 0; q < BODY_WIDTH; q++, g += rows)
    for (int k = 0; k < rows; k++) {
      sum[k] += g[k] * g[k];
      for (int j = 0; j < k; j++) product[FOURS_GRAM(k) + j] += g[k] * g[j];
    }
  for (int k = 0; k < rows; k++) diag[k] += sum[k];
}

PERP_CLONE_INLINE bool fours_pack_of(perp_rows *R, int t, double omega, const int blocks,
                                     const int rows)
{
  const perp_unit *unit = &R->unit[t];
  const perp_lcp *lcp = R->p;
  const bool contacts = unit->contents != NORMALS;
  four_head *head = (four_head *)(void *)(R->data + unit->at);
  perp_v4 *g = (perp_v4 *)(void *)(head + 1), *gram = g + BODY_WIDTH * blocks * rows;
  perp_v4 *data = gram + FOURS_GRAM(rows), *step = data + rows, *next = step + rows;
  perp_v4 diag[MOST] = { { 0 } }, product[FOURS_GRAM(MOST)] = { { 0 } };
  for (int k = 0; k < 4; k++) {
    head->a[k] = unit[k].a;
    head->b[k] = unit[k].b;
    head->row[k] = unit[k].row;
    head->pad[k] = 0;
  }
  if (rows == CONTACT_ROWS) {
    perp_v4 mu[CONTACT_ROWS] = { { 0 } };
    fours_read(lcp->mu, head->row, rows, mu);
    *next++ = mu[1];
    *next++ = mu[2];
  }
  if (lcp->F->s != NULL) {
    fours_read(lcp->F->s, head->row, rows, diag);
    for (int k = 0; k < rows; k++) next[k] = diag[k];
  }
  fours_columns(R, t, 0, rows, contacts, g, diag, product);
  if (blocks == 2) fours_columns(R, t, 1, rows, contacts, g + BODY_WIDTH * rows, diag, product);
  fours_write(diag, head->row, rows, R->diag);
  for (int k = 0; k < rows; k++)
    for (int i = 0; i < 4; i++)
      if (!(diag[k][i] > DBL_MIN)) return false;
  for (int k = 0; k < rows; k++) step[k] = omega / diag[k];
  fours_write(step, head->row, rows, R->inv);
  if (unit->contents == CONTACT_CONE) {
    for (int i = 0; i < 4; i++)
      perp_rows_step_cone(R, head->row[i] + 1, product[FOURS_GRAM(2) + 1][i], omega);
    fours_read(R->inv, head->row, rows, step);
  }
  for (int k = 1; k < rows; k++)
    for (int j = 0; j < k; j++) gram[FOURS_GRAM(k) + j] = step[k] * product[FOURS_GRAM(k) + j];
  fours_read(lcp->b, head->row, rows, data);
  return true;
}

PERP_CLONE_INLINE bool fours_pack(perp_rows *R, int t, double omega)
{
#define FOURS_SIZED(rows, blocks) return fours_pack_of(R, t, omega, blocks, rows);
  FOURS_FOR_SIZE(&R->unit[t], FOURS_SIZED)
#undef FOURS_SIZED
}

/* ---- both ways ---- */

static bool fours_kept_plain;

void perp_fours_force_plain(bool plain)
{
  fours_kept_plain = plain;
}

/* A function of its own for each way. */
#if defined(__x86_64__) && defined(__linux__)
#define FOURS_WAYS(type, give, name, parameters, arguments)                                        \
  __attribute__((target("avx2"))) static type name##_avx2 parameters                               \
  {                                                                                                \
    give name arguments;                                                                           \
  }                                                                                                \
  static type name##_plain parameters                                                              \
  {                                                                                                \
    give name arguments;                                                                           \
  }                                                                                                \
  type perp_##name parameters                                                                      \
  {                                                                                                \
    if (!fours_kept_plain && __builtin_cpu_supports("avx2"))                                       \
      give name##_avx2 arguments;                                                                  \
    else                                                                                           \
      give name##_plain arguments;                                                                 \
  }
#else
#define FOURS_WAYS(type, give, name, parameters, arguments)                                        \
  type perp_##name parameters                                                                      \
  {                                                                                                \
    give name arguments;                                                                           \
  }
#endif

FOURS_WAYS(bool, return, fours_pack, (perp_rows * rows, int t, double omega), (rows, t, omega))
FOURS_WAYS(double, return, fours_sweep, (const perp_rows *rows, int t, int end, double *lambda),
           (rows, t, end, lambda))
FOURS_WAYS(void, , fours_Gt, (const perp_rows *rows, int t, int end, const double *x, double *u),
           (rows, t, end, x, u))
FOURS_WAYS(void, , fours_G,
           (const perp_rows *rows, int t, int end, const double *u, const double *x, bool b,
            double *y),
           (rows, t, end, u, x, b, y))
