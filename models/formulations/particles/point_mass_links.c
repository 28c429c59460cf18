/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The constraints of point-mass: links between points of two bodies, and the rigidity of each; eq.
 * numbers of van Overveld and Barenbrug 1995. */
#include "models/formulations/particles/point_mass.h"

#include <string.h>

perp_status perp_point_mass_links(perp_ctx *ctx, workspace *work)
{
  const perp_model *model = work->model;
  bool breaks = false;
  work->n_links = 0;
  work->reports = true;
  for (int joint = 0; joint < model->n_joints; joint++) {
    const perp_joint_def *def = &model->joint_def[joint];
    const bool hinge = def->kind == PERP_JOINT_HINGE && model->dim == 3;
    if (def->kind == PERP_JOINT_CURVE) work->reports = false;
    breaks |= def->strength > 0;
    if (def->kind != PERP_JOINT_BALL && def->kind != PERP_JOINT_HINGE &&
        def->kind != PERP_JOINT_DISTANCE && def->kind != PERP_JOINT_CURVE)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation point-mass supports ball, hinge, distance and curve joints "
                       "only: joint %d is a %s joint",
                       joint, perp_joint_name(def));
    for (int n = 0; n < (hinge ? 2 : 1); n++) {
      link *k = &work->link[work->n_links++];
      *k = (link){ .a = def->a,
                   .b = def->b,
                   .joint = joint,
                   .curve = model->curve[joint],
                   .distance = def->kind == PERP_JOINT_DISTANCE,
                   .second = n == 1,
                   .length = def->length };
      for (int side = 0; side < 2; side++) {
        const int index = side == 0 ? def->a : def->b;
        const double *anchor = side == 0 ? def->anchor_a : def->anchor_b;
        const double *axis = side == 0 ? def->axis_a : def->axis_b;
        double *rho = side == 0 ? k->rho_a : k->rho_b, s[3] = { 0 };
        const double arm = hinge
                               ? (n == 0 ? 0.5 : -0.5) * model->size / sqrt(perp_dot(3, axis, axis))
                               : 0;
        for (int c = 0; c < model->dim; c++) s[c] = anchor[c] + arm * axis[c];
        memcpy(rho, s, sizeof s);
        for (int j = 0; index >= 0 && j < model->dim; j++)
          rho[j] = perp_dot(3, work->body[index].axes + 3 * j, s) /
                   sqrt(work->body[index].gamma[j]);
      }
    }
  }
  if (breaks && !work->reports)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "formulation point-mass does not support joints that break beside curve "
                     "joints, whose forces it "
                     "does not report: use --formulation velocity or acceleration");
  return PERP_OK;
}

void perp_point_mass_point(const workspace *work, const coordinates *x, int index,
                           const double rho[3], double p[3])
{
  memcpy(p, rho, 3 * sizeof *p);
  if (index < 0) return;
  for (int i = 0; i < 3; i++) {
    p[i] = x[index].c[i];
    for (int j = 0; j < work->body[index].n; j++) p[i] += rho[j] * x[index].B[i + 3 * j];
  }
}

void perp_point_mass_move(const workspace *work, int i, const double force[3],
                          const double torque[3], double scale, coordinates *to)
{
  const body *b = &work->body[i];
  double P[9], turn[3], dB[3];
  frame(b, &work->x[i], P);
  turn_by(b, P, torque, turn);
  for (int k = 0; k < 3; k++) to->c[k] += scale * force[k] / b->mass;
  for (int j = 0; j < b->n; j++) {
    perp_cross(turn, work->x[i].B + 3 * j, dB);
    for (int k = 0; k < 3; k++) to->B[k + 3 * j] += scale * dB[k];
  }
}

/* K += displacement of the point at r by unit forces there */
static void add_mobility(const workspace *work, int i, const double r[3], double K[9])
{
  if (i < 0) return;
  const body *b = &work->body[i];
  double P[9];
  frame(b, &work->x[i], P);
  for (int j = 0; j < 3; j++) {
    double F[3] = { 0 }, torque[3], turn[3], d[3];
    F[j] = 1;
    perp_cross(r, F, torque);
    turn_by(b, P, torque, turn);
    perp_cross(turn, r, d);
    for (int k = 0; k < 3; k++) K[k + 3 * j] += d[k] + F[k] / b->mass;
  }
}

static void point_mass_links_invert3(const double A[9], double B[9])
{
  double c[9];
  perp_cross(A + 3, A + 6, c);
  perp_cross(A + 6, A, c + 3);
  perp_cross(A, A + 3, c + 6);
  const double det = perp_dot(3, A, c);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) B[i + 3 * j] = c[j + 3 * i] / det;
}

void perp_point_mass_curve_gap(const workspace *work, const link *k, const coordinates *x,
                               const double p[3], double gap[3], double tangent[3])
{
  double P[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, R[9], r[3], local[3], g[3], t[3];
  memcpy(R, P, sizeof R);
  memcpy(r, p, sizeof r);
  if (k->a >= 0) {
    const body *b = &work->body[k->a];
    frame(b, &x[k->a], P);
    rotation(b, P, R);
    for (int i = 0; i < 3; i++) r[i] -= x[k->a].c[i];
  }
  perp_turn_back(3, R, r, local);
  const double *anchor = work->model->joint_def[k->joint].anchor_a;
  for (int i = 0; i < 3; i++) local[i] -= i < work->model->dim ? anchor[i] : 0;
  perp_curve_gap(k->curve, local, g, t);
  perp_turn(3, R, g, gap);
  perp_turn(3, R, t, tangent);
}

/* K becomes the stiffness across the tangent: (T + N' M N)^-1 with T along it */
static void prepare_curve(workspace *work, link *k, const double p[3], double K[9])
{
  double gap[3], t[3], across[9], KN[9] = { 0 };
  perp_point_mass_curve_gap(work, k, work->x, p, gap, t);
  for (int i = 0; i < 3; i++) k->ra[i] = k->a < 0 ? 0 : p[i] - work->x[k->a].c[i];
  add_mobility(work, k->a, k->ra, K);
  add_mobility(work, k->b, k->rb, K);
  const double scale = K[0] + K[4] + K[8], along = perp_dot(3, k->F, t);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) across[i + 3 * j] = (i == j) - t[i] * t[j];
  /* N K N + scale t t' is regular, its inverse maps gaps across the tangent to forces across it */
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      for (int l = 0; l < 9; l++)
        KN[i + 3 * j] += across[i + 3 * (l % 3)] * K[l % 3 + 3 * (l / 3)] * across[l / 3 + 3 * j];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) KN[i + 3 * j] += scale * t[i] * t[j];
  point_mass_links_invert3(KN, k->K);
  for (int i = 0; i < 3; i++) {
    k->F[i] -= along * t[i];
    k->n[i] = t[i];
  }
}

bool perp_point_mass_released(const workspace *work, const link *k)
{
  return work->model->sim.released != NULL && work->model->sim.released[k->joint];
}

void perp_point_mass_prepare(workspace *work)
{
  for (int l = 0; l < work->n_links; l++) {
    link *k = &work->link[l];
    double pa[3], pb[3], K[9] = { 0 };
    if (perp_point_mass_released(work, k)) continue;
    const double tension = perp_dot(3, k->F, k->n); /* of a distance; it turns with it */
    perp_point_mass_point(work, work->x, k->a, k->rho_a, pa);
    perp_point_mass_point(work, work->x, k->b, k->rho_b, pb);
    for (int i = 0; i < 3; i++) {
      k->ra[i] = k->a < 0 ? 0 : pa[i] - work->x[k->a].c[i];
      k->rb[i] = k->b < 0 ? 0 : pb[i] - work->x[k->b].c[i];
      k->n[i] = pb[i] - pa[i];
    }
    if (k->curve != NULL) { /* the force acts at p_b on both */
      prepare_curve(work, k, pb, K);
      continue;
    }
    add_mobility(work, k->a, k->ra, K);
    add_mobility(work, k->b, k->rb, K);
    if (k->distance) {
      const double length = sqrt(perp_dot(3, k->n, k->n));
      for (int i = 0; i < 3; i++) {
        k->n[i] /= length;
        k->F[i] = tension * k->n[i];
      }
      double Kn[3];
      perp_turn(3, K, k->n, Kn);
      memset(k->K, 0, sizeof k->K);
      k->K[0] = 1 / perp_dot(3, k->n, Kn);
    } else {
      point_mass_links_invert3(K, k->K);
    }
  }
}

/* F on body a and -F on body b move work->x1 */
static void point_mass_links_apply(workspace *work, const link *k, const double F[3], double scale)
{
  const double minus[3] = { -F[0], -F[1], -F[2] };
  double torque[3];
  if (k->a >= 0) {
    perp_cross(k->ra, F, torque);
    perp_point_mass_move(work, k->a, F, torque, scale, &work->x1[k->a]);
  }
  if (k->b >= 0) {
    perp_cross(k->rb, minus, torque);
    perp_point_mass_move(work, k->b, minus, torque, scale, &work->x1[k->b]);
  }
}

/* eq. 23: both forces of a hinge have the same component along its axis */
static void remove_null(link *first, link *second)
{
  double e[3];
  for (int i = 0; i < 3; i++) e[i] = second->ra[i] - first->ra[i];
  if (first->a < 0)
    for (int i = 0; i < 3; i++) e[i] = second->rb[i] - first->rb[i];
  double along = 0;
  for (int i = 0; i < 3; i++) along += (second->F[i] - first->F[i]) * e[i];
  along /= 2 * perp_dot(3, e, e);
  for (int i = 0; i < 3; i++) {
    first->F[i] += along * e[i];
    second->F[i] -= along * e[i];
  }
}

/* rigidity of one body at t + h, its multipliers added to sum [6]; returns the violation before,
 * relative */
static double point_mass_links_rigidity(const body *b, const coordinates *x, coordinates *x1,
                                        double sum[6])
{
  double worst = 0, correction[9] = { 0 };
  for (int j = 0; j < b->n; j++) {
    const double *B1 = x1->B + 3 * j;
    const double stretch = perp_dot(3, B1, B1) - b->gamma[j];
    const double lambda = -stretch / (2 * b->gamma[j]);
    worst = fmax(worst, fabs(stretch) / b->gamma[j]);
    sum[j] += lambda;
    for (int i = 0; i < 3; i++) correction[i + 3 * j] += lambda * x->B[i + 3 * j];
    for (int k = 0; k < j; k++) {
      const double skew = perp_dot(3, B1, x1->B + 3 * k);
      const double Lambda = -skew / (b->gamma[j] + b->gamma[k]);
      worst = fmax(worst, fabs(skew) / sqrt(b->gamma[j] * b->gamma[k]));
      sum[6 - j - k] += Lambda;
      for (int i = 0; i < 3; i++) {
        correction[i + 3 * j] += Lambda * x->B[i + 3 * k];
        correction[i + 3 * k] += Lambda * x->B[i + 3 * j];
      }
    }
  }
  for (int i = 0; i < 3 * b->n; i++) x1->B[i] += correction[i];
  return isnan(worst) || !isfinite(x1->B[0]) ? (double)NAN : worst;
}

void perp_point_mass_push(workspace *work, double scale)
{
  for (int l = 0; l < work->n_links; l++)
    point_mass_links_apply(work, &work->link[l], work->link[l].F, scale);
}

static double point_mass_links_all_rigid(workspace *work)
{
  double worst = 0;
  for (int i = 0; i < work->model->n_bodies; i++)
    for (int pass = 0; pass < work->o.rigidity; pass++) {
      const double e = point_mass_links_rigidity(&work->body[i], &work->x[i], &work->x1[i],
                                                 work->rigid + 6 * i);
      if (isnan(e)) return e;
      if (pass == 0) worst = fmax(worst, e);
    }
  return worst;
}

static double point_mass_links_all_coupled(workspace *work, double scale)
{
  double worst = 0;
  for (int l = 0; l < work->n_links; l++) {
    if (perp_point_mass_released(work, &work->link[l])) continue;
    /* one link at t + h; returns its violation before */
    link *k = &work->link[l];
    double pa[3], pb[3], gap[3], F[3], error;
    perp_point_mass_point(work, work->x1, k->a, k->rho_a, pa);
    perp_point_mass_point(work, work->x1, k->b, k->rho_b, pb);
    for (int i = 0; i < 3; i++) gap[i] = pb[i] - pa[i];
    if (k->distance) {
      error = sqrt(perp_dot(3, gap, gap)) - k->length;
      for (int i = 0; i < 3; i++) F[i] = k->K[0] * error / scale * k->n[i];
    } else {
      double tangent[3];
      if (k->curve != NULL) perp_point_mass_curve_gap(work, k, work->x1, pb, gap, tangent);
      error = perp_worst(3, gap);
      /* without the part along the tangent of t: no friction */
      const double along = k->curve != NULL ? perp_dot(3, gap, k->n) : 0;
      for (int i = 0; i < 3 && k->curve != NULL; i++) gap[i] -= along * k->n[i];
      perp_turn(3, k->K, gap, F);
      for (int i = 0; i < 3; i++) F[i] /= scale;
    }
    for (int i = 0; i < 3; i++) k->F[i] += F[i];
    point_mass_links_apply(work, k, F, scale);
    const double e = fabs(error);
    if (isnan(e)) return e;
    worst = fmax(worst, e / work->model->size);
    if (work->link[l].second) remove_null(&work->link[l - 1], &work->link[l]);
  }
  return worst;
}

double perp_point_mass_sweep(workspace *work, double scale)
{
  double worst[2]; /* of rigidity, of joints */
  const int first = work->o.order == POINT_MASS_JOINTS_FIRST;
  for (int k = 0; k < 2; k++) {
    const int what = k == 0 ? first : 1 - first;
    worst[what] = what == 0 ? point_mass_links_all_rigid(work)
                            : point_mass_links_all_coupled(work, scale);
    if (isnan(worst[what])) return worst[what];
  }
  return fmax(worst[0], worst[1]);
}
