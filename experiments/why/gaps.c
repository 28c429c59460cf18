/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Can all contacts be separated at once?  To first order, by a displacement dq of the bodies:
 *
 *      J_n dq + gap >= 0 for each contact,    J dq = 0 for joints.
 *
 * With dq = M^-1 (J_n' x + J' y), x >= 0, that is the feasibility of a complementarity problem, and
 * a certificate against it is z >= 0 with J_n' z + J' y = 0, gap' z < 0: contacts that push against
 * each other.  Whatever the method of the run, which may pose other problems. */
#include "experiments/why/evidence.h"

#include "models/geometry/kinematics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GAPS_ROWS = 120 };
static const double GAPS_SLACK = 1e-5, /* of a body: overlaps that are none */
    GAPS_MARGIN = 1e-3;                /* of a body: contacts that count */

/* M^-1 of block b times x, added to y. */
static void gaps_minv(const perp_blocks *blocks, int b, const double *x, double *y)
{
  const int at = blocks->bptr[b], d = blocks->bptr[b + 1] - at;
  const double *H = blocks->Minv + blocks->mptr[b];
  for (int j = 0; j < d; j++)
    for (int i = 0; i < d; i++) y[at + i] += H[i + j * d] * x[at + j];
}

/* Row of the normal of a contact: gap' = row . v, in the coordinates of model.h. */
static void gaps_row(const perp_model *model, const double *q, const perp_contact *contact,
                     double *row)
{
  const int dim = perp_model_dim(model), nvb = dim == 3 ? 6 : 3, nqb = dim == 3 ? 7 : 3;
  double p[3];
  perp_contact_middle(contact, p);
  for (int k = 0; k < 2; k++) {
    const int body = contact->body[k];
    const double sign = k == 0 ? -1 : 1;
    if (body < 0) continue;
    double *out = row + nvb * body, R[9];
    const double *x = q + nqb * body;
    double r[3] = { p[0] - x[0], p[1] - x[1], dim == 3 ? p[2] - x[2] : 0 };
    for (int i = 0; i < dim; i++) out[i] += sign * contact->n[i];
    const double m[3] = { r[1] * contact->n[2] - r[2] * contact->n[1],
                          r[2] * contact->n[0] - r[0] * contact->n[2],
                          r[0] * contact->n[1] - r[1] * contact->n[0] };
    if (dim == 2) {
      out[2] += sign * m[2];
      continue;
    }
    perp_model_rotation(model, q, body, R);
    for (int i = 0; i < 3; i++)
      out[3 + i] += sign * (R[3 * i] * m[0] + R[3 * i + 1] * m[1] + R[3 * i + 2] * m[2]);
  }
}

static void gaps_solve(perp_ctx *ctx, perp_model *model, double t, const double *q, int n,
                       const perp_contact *contacts, perp_why_evidence *evidence)
{
  const perp_blocks *blocks = perp_model_assemble(model, t, q);
  const int m = blocks->m, rows = n + m;
  const size_t nv = (size_t)blocks->nv;
  perp_lcp_problem problem;
  if (rows > GAPS_ROWS ||
      perp_lcp_problem_new(ctx, rows, PERP_PART_A | PERP_PART_BOUNDS, &problem) != PERP_OK)
    return;
  const perp_lcp_arrays arrays = perp_lcp_edit(&problem);
  double *J = perp_xalloc(2 * (size_t)rows * nv, sizeof *J), *HJ = J + (size_t)rows * nv;
  for (int contact = 0; contact < n; contact++) {
    gaps_row(model, q, &contacts[contact], J + nv * (size_t)contact);
    arrays.b[contact] = contacts[contact].gap + GAPS_SLACK * evidence->body;
  }
  double *unit = perp_xalloc((size_t)m + 1, sizeof *unit);
  for (int i = 0; i < m; i++) {
    unit[i] = 1;
    perp_blocks_Jt(blocks, 1, unit, J + nv * (size_t)(n + i));
    unit[i] = 0;
    arrays.lo[n + i] = -HUGE_VAL;
  }
  free(unit);
  for (int row = 0; row < rows; row++)
    for (int b = 0; b < blocks->nb; b++)
      gaps_minv(blocks, b, J + nv * (size_t)row, HJ + nv * (size_t)row);
  for (int row = 0; row < rows; row++)
    for (int j = 0; j <= row; j++) {
      double sum = 0;
      for (size_t k = 0; k < nv; k++) sum += J[nv * (size_t)row + k] * HJ[nv * (size_t)j + k];
      arrays.A[row + (size_t)rows * (size_t)j] = arrays.A[j + (size_t)rows * (size_t)row] = sum;
    }
  int order[GAPS_ROWS];
  for (int i = 0; i < n; i++) order[i] = i;
  const perp_contact_place place = { .contact = contacts, .order = order, .nc = n, .rows = 1 };
  perp_why_contact(ctx, model, &place, &problem.p, t, evidence);
  free(J);
  perp_lcp_problem_free(&problem);
}

/* Contacts nearer than the margin at q, in memory of *collision, which the caller destroys. */
static int gaps_find(perp_ctx *ctx, perp_model *model, const double *q,
                     const perp_why_evidence *evidence, perp_collision **collision,
                     const perp_contact **contacts)
{
  const int dim = perp_model_dim(model), nqb = dim == 3 ? 7 : 3;
  *collision = NULL;
  if (perp_model_shapes(model) == 0 ||
      perp_collision_create(ctx, model, GAPS_MARGIN * evidence->body, collision) != PERP_OK)
    return 0;
  perp_pose *memory = perp_xalloc((size_t)perp_model_bodies(model) + 1, sizeof *memory),
            *pose = memory + 1;
  for (int i = 0; i < dim; i++) pose[-1].R[i * (dim + 1)] = 1;
  for (int body = 0; body < perp_model_bodies(model); body++)
    perp_pose_of(dim, q + body * nqb, &pose[body]);
  int n = 0;
  if (perp_collision_find(ctx, *collision, pose, contacts, &n) != PERP_OK) n = 0;
  free(memory);
  return n;
}

void perp_why_gaps(perp_ctx *ctx, perp_model *model, double t, const double *q,
                   perp_why_evidence *evidence)
{
  perp_collision *collision;
  const perp_contact *contacts;
  const int n = gaps_find(ctx, model, q, evidence, &collision, &contacts);
  if (n > 0) gaps_solve(ctx, model, t, q, n, contacts, evidence);
  perp_collision_destroy(collision);
}

void perp_why_touching(perp_ctx *ctx, perp_model *model, const double *q,
                       perp_why_evidence *evidence)
{
  perp_collision *collision;
  const perp_contact *contacts;
  const int n = gaps_find(ctx, model, q, evidence, &collision, &contacts);
  if (n > 0) evidence->contact.pairs = (perp_why_places){ 0 };
  for (int contact = 0; contact < n; contact++)
    perp_why_pair(model, &contacts[contact], &evidence->contact.pairs);
  perp_collision_destroy(collision);
}
