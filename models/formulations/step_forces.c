/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/step_forces.h"

#include "models/multibody/model_private.h"
#include "solvers/kkt/kkt.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* more rows than these: no eigenvectors, joints are not said to be unique */
enum { ROWS_MOST = 600 };
static const double NULL_SHARE = 1e-4; /* of a vector of dependent rows in those of a joint */
static const double RANK = 1e-12;      /* of J J' with rows of length 1 */

typedef struct perp_step_forces_scratch {
  double *q, *dq, *f, *c, *a, *lambda; /* [nq], [nv], [nv], [m], [nv], [m] */
  double *G, *sigma, *work;            /* [m m], [m], [34 m]; NULL: too many rows */
  void *kkt;                           /* joint coordinates: their multipliers are solved for */
  const perp_kkt_desc *kkt_desc;
  bool coordinates;
  int room; /* pairs */
} scratch;

/* ---- life ---- */

/* Out of one block: the numbers of a scratch. */
static double *step_forces_carve(double **next, int n)
{
  double *here = *next;
  *next += n;
  return here;
}

static perp_status step_forces_numbers(perp_ctx *ctx, perp_step_forces *forces)
{
  const perp_model *model = forces->model;
  scratch *work = forces->scratch;
  const int m = model->m, small = m <= ROWS_MOST ? m : 0;
  const size_t n = (size_t)model->nq + 3 * (size_t)model->nv + 2 * (size_t)m +
                   (size_t)small * (size_t)(small + 35) + (size_t)model->n_drives + 1;
  double *next = calloc(n, sizeof *next);
  forces->joint = calloc((size_t)model->n_joints + 1, sizeof *forces->joint);
  forces->unique = calloc((size_t)model->n_joints + 1, sizeof *forces->unique);
  work->q = next; /* first in the block, which goes with it */
  if (next == NULL || forces->joint == NULL || forces->unique == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the forces of %d joints", model->n_joints);
  step_forces_carve(&next, model->nq);
  work->dq = step_forces_carve(&next, model->nv);
  work->f = step_forces_carve(&next, model->nv);
  work->a = step_forces_carve(&next, model->nv);
  work->c = step_forces_carve(&next, m);
  work->lambda = step_forces_carve(&next, m);
  work->G = small > 0 ? step_forces_carve(&next, small * small) : NULL;
  work->sigma = step_forces_carve(&next, small);
  work->work = step_forces_carve(&next, 34 * small);
  forces->drive = step_forces_carve(&next, model->n_drives);
  return PERP_OK;
}

static perp_status step_forces_kkt(perp_ctx *ctx, perp_step_forces *forces)
{
  scratch *work = forces->scratch;
  const perp_model *model = forces->model;
  const char *name = model->m <= ROWS_MOST ? "schur-svd" : "schur-sparse";
  const perp_kkt_desc *kkt = (const perp_kkt_desc *)perp_find(ctx, PERP_KIND_kkt, name);
  perp_spec spec;
  if (model->m == 0 || kkt == NULL) return PERP_OK;
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_kkt, name, &spec));
  const perp_status status = kkt->create(ctx, perp_model_blocks(model), spec.opts, &work->kkt);
  perp_spec_free(&spec);
  if (status == PERP_OK) work->kkt_desc = kkt;
  return status;
}

perp_status perp_step_forces_create(perp_ctx *ctx, perp_model *model, const perp_sim *sim,
                                    perp_step_forces **out)
{
  *out = NULL;
  if (perp_sim_groups(sim) != NULL)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "forces of joints and contacts are not available with simulation groups, whose "
        "steps differ in length: use the formulation inside of them alone");
  if (perp_sim_resolved(sim, (char[2]){ 0 }, 2) && (model->n_joints > 0 || model->n_drives > 0))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "this engine does not report forces of joints and motors: use a formulation "
                     "of perp, such as --formulation velocity");
  perp_step_forces *forces = calloc(1, sizeof *forces);
  if (forces == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the forces of a run");
  forces->model = model;
  forces->time = perp_sim_forces_time(sim);
  forces->joints = model->n_joints;
  forces->drives = model->n_drives;
  forces->bodies = model->n_bodies;
  forces->scratch = calloc(1, sizeof *forces->scratch);
  perp_status status = forces->scratch != NULL
                           ? step_forces_numbers(ctx, forces)
                           : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the forces of a run");
  if (status == PERP_OK) {
    forces->scratch->coordinates = perp_sim_joint_coordinates(sim);
    if (forces->scratch->coordinates) status = step_forces_kkt(ctx, forces);
  }
  if (status == PERP_OK)
    *out = forces;
  else
    perp_step_forces_destroy(forces);
  return status;
}

void perp_step_forces_destroy(perp_step_forces *forces)
{
  if (forces == NULL) return;
  if (forces->scratch != NULL) {
    if (forces->scratch->kkt_desc != NULL) forces->scratch->kkt_desc->destroy(forces->scratch->kkt);
    free(forces->scratch->q);
  }
  free(forces->scratch);
  free(forces->joint);
  free(forces->unique);
  free(forces->pair);
  free(forces);
}

/* ---- joints ---- */

/* Which joints take part in a vector y with J' y = 0, |y| = 1?  Those are the eigenvectors of J J'
 * of eigenvalue 0, with rows of J scaled to length 1. */
static void step_forces_unique(perp_step_forces *forces, const perp_blocks *blocks, int redundant)
{
  scratch *work = forces->scratch;
  const perp_model *model = forces->model;
  const int lda = model->m;
  for (int joint = 0; joint < model->n_joints; joint++) forces->unique[joint] = redundant == 0;
  if (redundant == 0 || work->G == NULL) return;
  memset(work->G, 0, (size_t)lda * (size_t)lda * sizeof *work->G);
  /* column r of J J': J' e_r, then J times that */
  for (int r = 0; r < lda; r++) {
    memset(work->lambda, 0, (size_t)lda * sizeof *work->lambda);
    memset(work->dq, 0, (size_t)model->nv * sizeof *work->dq);
    work->lambda[r] = 1;
    perp_blocks_Jt(blocks, 1, work->lambda, work->dq);
    perp_blocks_J(blocks, 1, work->dq, work->G + (size_t)lda * (size_t)r);
  }
  for (int r = 0; r < lda; r++) work->c[r] = sqrt(fmax(work->G[r + (size_t)lda * (size_t)r], 0));
  for (int r = 0; r < lda; r++)
    for (int k = 0; k < lda; k++)
      if (work->c[r] > 0 && work->c[k] > 0)
        work->G[k + (size_t)lda * (size_t)r] /= work->c[r] * work->c[k];
  if (LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', lda, work->G, lda, work->sigma, work->work,
                         34 * lda) != 0)
    return;
  for (int joint = 0; joint < model->n_joints; joint++) {
    forces->unique[joint] = true;
    for (int n = 0; n < lda && (redundant > 0 ? n < redundant : work->sigma[n] < RANK * lda); n++)
      for (int r = model->pattern.cptr[joint]; r < model->pattern.cptr[joint + 1]; r++)
        if (work->c[r] > 0 && fabs(work->G[r + (size_t)lda * (size_t)n]) > NULL_SHARE)
          forces->unique[joint] = false;
  }
}

static void step_forces_joints(perp_step_forces *forces, double t, const double *q,
                               const double *lambda, int redundant)
{
  perp_model *model = forces->model;
  const perp_blocks *blocks = perp_model_assemble(model, t, q);
  for (int joint = 0; joint < model->n_joints; joint++)
    perp_model_reaction(model, q, blocks, joint, lambda, &forces->joint[joint]);
  forces->joints_known = true;
  step_forces_unique(forces, blocks, redundant);
}

static void step_forces_unknown(perp_step_forces *forces)
{
  const double nan = (double)NAN;
  for (int joint = 0; joint < forces->joints; joint++) {
    double *x = (double *)&forces->joint[joint];
    for (size_t k = 0; k < sizeof(perp_reaction) / sizeof(double); k++) x[k] = nan;
    forces->unique[joint] = false;
  }
  for (int drive = 0; drive < forces->drives; drive++) forces->drive[drive] = nan;
  forces->joints_known = forces->drives_known = forces->contacts_known = false;
  forces->n_pairs = 0;
}

/* lambda of least norm with M a = f + J' lambda, J a = c into work->lambda, the rest in work->a. */
static bool step_forces_solve(perp_ctx *ctx, scratch *work, const perp_blocks *blocks)
{
  perp_stats stats = { 0 };
  if (work->kkt_desc == NULL) return false;
  if (work->kkt_desc->factor(ctx, work->kkt, blocks, &stats) != PERP_OK || stats.reason < 0)
    return false;
  memset(work->lambda, 0, (size_t)blocks->m * sizeof *work->lambda);
  return work->kkt_desc->solve(ctx, work->kkt, blocks, work->f, work->c, work->a, work->lambda,
                               &stats) == PERP_OK &&
         stats.reason >= 0;
}

perp_status perp_step_forces_state(perp_ctx *ctx, perp_step_forces *forces, double t,
                                   const double *q, const double *v, const double *lambda,
                                   int redundant)
{
  perp_model *model = forces->model;
  scratch *s = forces->scratch;
  step_forces_unknown(forces);
  if (model->m == 0) forces->joints_known = true;
  if (model->m > 0 && lambda != NULL && !isnan(lambda[0])) {
    step_forces_joints(forces, t, q, lambda, redundant);
  } else if (model->m > 0 && s->kkt_desc != NULL) {
    const perp_blocks *blocks = perp_model_assemble(model, t, q);
    perp_model_forces(model, t, q, v, s->f);
    perp_model_jdotv(model, t, q, v, s->c);
    for (int i = 0; i < model->m; i++) s->c[i] = -s->c[i];
    if (!step_forces_solve(ctx, s, blocks)) return PERP_OK;
    for (int i = 0; i < model->n_joints; i++)
      perp_model_reaction(model, q, blocks, i, s->lambda, &forces->joint[i]);
    forces->joints_known = true;
    step_forces_unique(forces, blocks, redundant);
  }
  return PERP_OK;
}

/* ---- contacts ---- */

static int step_forces_pair(perp_step_forces *forces, int a, int b)
{
  for (int pair = 0; pair < forces->n_pairs; pair++)
    if (forces->pair[pair].a == a && forces->pair[pair].b == b) return pair;
  return -1;
}

static perp_status step_forces_contacts(perp_ctx *ctx, perp_step_forces *forces, double h,
                                        const perp_step_info *info)
{
  forces->n_pairs = 0;
  forces->contacts_known = !(info->untold && info->impulse == NULL);
  if (info->impulse == NULL) return PERP_OK;
  /* forces and their first moments, then torques about the weighted mean */
  for (int pass = 0; pass < 2; pass++) {
    for (int c = 0; c < info->n_contacts; c++) {
      const perp_contact *contact = &info->contacts[c];
      const bool turned = contact->body[0] > contact->body[1];
      const int a = contact->body[turned], b = contact->body[!turned];
      int at = step_forces_pair(forces, a, b);
      if (at < 0) {
        if (forces->n_pairs == forces->scratch->room) {
          const int room = 2 * forces->scratch->room + 16;
          perp_pair_force *pair = realloc(forces->pair, (size_t)room * sizeof *pair);
          if (pair == NULL)
            return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for forces of contacts");
          forces->pair = pair;
          forces->scratch->room = room;
        }
        at = forces->n_pairs++;
        forces->pair[at] = (perp_pair_force){ .a = a, .b = b };
      }
      perp_pair_force *pair = &forces->pair[at];
      double F[3] = { 0 }, p[3] = { 0 }, arm[3], moment[3];
      perp_contact_middle(contact, p);
      for (int k = forces->model->dim; k < 3; k++) p[k] = 0;
      for (int k = 0; k < forces->model->dim; k++)
        F[k] = (turned ? -1 : 1) * info->impulse[3 * c + k] / h;
      if (pass == 0) {
        const double weight = fabs(perp_dot(forces->model->dim, contact->n, F));
        for (int k = 0; k < 3; k++) pair->force[k] += F[k], pair->point[k] += weight * p[k];
        pair->weight += weight;
        continue;
      }
      for (int k = 0; k < 3; k++) arm[k] = p[k] - pair->point[k];
      perp_cross(arm, F, moment);
      for (int k = 0; k < 3; k++) pair->torque[k] += moment[k];
    }
    for (int i = 0; i < forces->n_pairs && pass == 0; i++)
      for (int k = 0; k < 3; k++)
        forces->pair[i].point[k] = forces->pair[i].weight > 0
                                       ? forces->pair[i].point[k] / forces->pair[i].weight
                                       : 0;
  }
  return PERP_OK;
}

/* ---- steps in joint coordinates ---- */

/* f += generalized force of (force at the point) on a body */
static void step_forces_push(const perp_model *model, const double *q, int body, const double F[3],
                             const double point[3], double sign, double *f)
{
  double x[3], R[9], arm[3], moment[3], own[3];
  const double origin[3] = { 0 };
  if (body < 0) return;
  double *fb = f + (ptrdiff_t)model->nvb * body;
  perp_model_point(model, q, body, origin, x);
  for (int k = 0; k < 3; k++) arm[k] = point[k] - x[k];
  perp_cross(arm, F, moment);
  for (int k = 0; k < model->dim; k++) fb[k] += sign * F[k];
  if (model->dim == 2) {
    fb[2] += sign * moment[2];
    return;
  }
  perp_model_rotation(model, q, body, R);
  perp_turn_back(3, R, moment, own);
  for (int k = 0; k < 3; k++) fb[3 + k] += sign * own[k];
}

/* What the joints have to give: work->f = -(M (v1 - v0) / h - f - drives - contacts), at the start.
 */
static perp_status step_forces_balance(perp_ctx *ctx, perp_step_forces *forces,
                                       const perp_step_span *span)
{
  perp_model *model = forces->model;
  scratch *work = forces->scratch;
  const perp_step_info *info = span->info;
  const double h = span->t1 - span->t0;
  const perp_blocks *blocks = perp_model_assemble(model, span->t0, span->q0);
  perp_model_forces(model, span->t0, span->q0, span->v0, work->f);
  if (info->drive != NULL) /* which contains it */
    perp_model_compensation(model, span->t0, span->q0, -1, NULL, work->f);
  for (int i = 0; i < model->n_drives && info->drive != NULL; i++) {
    double Ja[6], Jb[6];
    perp_drive_row(model, &model->eval, i, Ja, Jb);
    perp_drive_push(model, i, Ja, Jb, info->drive[i], work->f);
  }
  for (int c = 0; c < info->n_contacts && info->impulse != NULL; c++) {
    double F[3] = { 0 }, p[3] = { 0 };
    const perp_contact *contact = &info->contacts[c];
    perp_contact_middle(contact, p);
    for (int k = model->dim; k < 3; k++) p[k] = 0;
    for (int k = 0; k < model->dim; k++) F[k] = info->impulse[3 * c + k] / h;
    step_forces_push(model, span->q0, contact->body[0], F, p, -1, work->f);
    step_forces_push(model, span->q0, contact->body[1], F, p, 1, work->f);
  }
  /* the accelerations that there were are those of these forces and of the joints: J a as it was */
  for (int i = 0; i < model->nv; i++) work->a[i] = (span->v1[i] - span->v0[i]) / h;
  memset(work->c, 0, (size_t)model->m * sizeof *work->c);
  perp_blocks_J(blocks, 1, work->a, work->c);
  if (!step_forces_solve(ctx, work, blocks)) return PERP_OK;
  for (int joint = 0; joint < model->n_joints; joint++)
    perp_model_reaction(model, span->q0, blocks, joint, work->lambda, &forces->joint[joint]);
  forces->joints_known = true;
  step_forces_unique(forces, blocks, -1);
  return PERP_OK;
}

/* Forces at the end of a step that says them. */
static perp_status step_forces_end(perp_ctx *ctx, perp_step_forces *forces,
                                   const perp_step_span *span, int redundant)
{
  const perp_step_info *info = span->info;
  perp_step_info end = *info;
  end.n_contacts = info->n_contacts_end;
  end.contacts = end.n_contacts > 0 ? info->contacts_end : NULL;
  end.impulse = end.n_contacts > 0 ? info->impulse_end : NULL;
  PERP_TRY(step_forces_contacts(ctx, forces, info->h_end, &end));
  for (int i = 0; i < forces->drives && info->drive_end != NULL; i++)
    forces->drive[i] = info->drive_end[i];
  forces->drives_known = forces->drives == 0 || info->drive_end != NULL;
  forces->joints_known = forces->model->m == 0;
  if (forces->model->m > 0 && !isnan(info->lambda_end[0])) /* known: equivalent.h */
    step_forces_joints(forces, span->t1, span->q1, info->lambda_end, redundant);
  return PERP_OK;
}

perp_status perp_step_forces_at(perp_ctx *ctx, perp_step_forces *forces, const perp_step_span *span,
                                int redundant)
{
  perp_model *model = forces->model;
  scratch *s = forces->scratch;
  const perp_step_info *info = span->info;
  const double h = span->t1 - span->t0;
  if (forces->time == PERP_FORCES_AT_STATE)
    return perp_step_forces_state(ctx, forces, span->t1, span->q1, span->v1, NULL, -1);
  step_forces_unknown(forces);
  if (!(h > 0)) return PERP_OK;
  if (info->lambda_end != NULL) return step_forces_end(ctx, forces, span, redundant);
  PERP_TRY(step_forces_contacts(ctx, forces, h, info));
  if (info->drive != NULL || model->n_drives == 0) {
    if (model->n_drives > 0)
      memcpy(forces->drive, info->drive, (size_t)model->n_drives * sizeof *info->drive);
    forces->drives_known = true;
  }
  if (model->m == 0) {
    forces->joints_known = true;
    return PERP_OK;
  }
  if (s->coordinates) return step_forces_balance(ctx, forces, span);
  if (info->lambda == NULL) return PERP_OK;
  const double *q = span->q0;
  double t = span->t0;
  if (forces->time == PERP_FORCES_MEAN_MIDDLE) {
    perp_model_difference(model, span->q0, span->q1, s->dq);
    for (int i = 0; i < model->nv; i++) s->dq[i] /= 2;
    perp_model_retract(model, span->q0, s->dq, s->q);
    q = s->q;
    t += h / 2;
  }
  step_forces_joints(forces, t, q, info->lambda, redundant);
  return PERP_OK;
}
