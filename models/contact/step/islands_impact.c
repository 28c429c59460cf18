/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Impacts by a law of one contact (models/contact/laws/impact.h), which says nothing of several at
 * once. The contacts of an island that meet are taken one after the other, the fastest first, each
 * as if it were alone (the propagation of STAR 2012, section 4.3.3), until none of them approaches
 * faster than the threshold:
 *
 *      u = b + A p,   p_c += impulse(A_cc, u_c)
 *
 * The approach is that before the step with what impacts have changed, n . (J_c v + (A p)_c): the
 * velocity that gravity gives a contact at rest within a step is no impact, but touching contacts
 * that others push together are. The complementarity problem of the island then starts from u
 * instead of b, without restitution: contacts that rest, limits and motors take up what the impacts
 * leave.  After ROUNDS impacts an island is left to it as it is.
 *
 * Cost: a product with A for each impact.  No allocation. */
#include "models/contact/step/islands_problem.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 1000 };

/* A_cc of contact c of the island, r x r */
static void islands_impact_block(const perp_contact_island *problem, int r, int c, double *A)
{
  const perp_blocks *blocks = problem->F;
  if (blocks == NULL) {
    for (int k = 0; k < r; k++)
      for (int i = 0; i < r; i++)
        A[i + k * r] = problem->A[(size_t)(r * c + i) + (size_t)problem->lda * (size_t)(r * c + k)];
    return;
  }
  memset(A, 0, (size_t)(r * r) * sizeof *A);
  for (int q = blocks->jptr[c]; q < blocks->jptr[c + 1]; q++) {
    const int body = blocks->jblk[q], d = blocks->bptr[body + 1] - blocks->bptr[body];
    const double *J = blocks->J + blocks->joff[q], *W = blocks->Minv + blocks->mptr[body];
    for (int k = 0; k < r; k++)
      for (int l = 0; l < d; l++) {
        double y = 0; /* (M^-1 J_k')_l */
        for (int m = 0; m < d; m++) y += W[l + m * d] * J[k + m * r];
        for (int i = 0; i < r; i++) A[i + k * r] += J[i + l * r] * y;
      }
  }
}

bool perp_islands_impact(perp_islands *s, lane *own, const perp_island_task *task,
                         perp_contact_island *problem, int i)
{
  const int contact = s->start[i].first[CONTACTS], body = s->start[i].first[BODIES];
  const int n = s->r * problem->nc, m = n + problem->joints;
  const size_t first = islands_first_row(s, i);
  double *u = s->row.b_decompression + first, *p = s->row.x_decompression + first;
  const perp_lcp base = {
    .n = m, .A = problem->A, .lda = problem->lda, .F = problem->F, .b = problem->b
  };
  bool any = false;
  for (int round = 0; round < ROUNDS; round++) {
    const double *now = any ? u : problem->b;
    double fastest = -task->impact->threshold;
    int c = -1;
    for (int k = 0; k < problem->nc; k++) {
      const double un = now[s->r * k];
      const double speed = fmax(un, s->contact.least[contact + k] + un - problem->b[s->r * k]);
      if (s->contact.restitution[contact + k] >= 0 && speed < fastest) fastest = speed, c = k;
    }
    if (c < 0) break;
    if (!any) memset(p, 0, (size_t)m * sizeof *p);
    any = true;
    perp_impact x = { .r = s->r,
                      .mu = s->contact.mu[contact + c],
                      .e = s->contact.restitution[contact + c] };
    double more[3];
    islands_impact_block(problem, s->r, c, x.A);
    memcpy(x.u, now + s->r * c, (size_t)s->r * sizeof *now);
    perp_impact_impulse(task->impact, &x, more);
    for (int k = 0; k < s->r; k++) {
      p[s->r * c + k] += more[k];
      s->row.x[first + (size_t)(s->r * c + k)] = 0; /* the guess of what is left */
    }
    perp_lcp_product(&base, p, u, s->work.product + 2 * (size_t)s->model->nvb * (size_t)body);
    own->count.work += (double)m;
    if (!(more[0] > 0)) break;
  }
  if (any) problem->b = u;
  return any;
}

void perp_islands_impact_add(const perp_islands *islands, int i)
{
  const size_t first = islands_first_row(islands, i);
  const int n = islands->r * islands_number(islands, i, CONTACTS);
  for (int k = 0; k < n; k++)
    islands->row.x[first + (size_t)k] += islands->row.x_decompression[first + (size_t)k];
}
