/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows on velocities, G(q) v = g(t), that are no derivative of rows on positions: a joint without a
 * C.
 *
 * A term is the velocity of a point along a direction, n . pdot, or a part of turning, n . omega,
 * with n = R u fixed in some body.  Without accelerations its derivative is
 *
 *      ndot . pdot + n . (omega x (omega x r))      and      ndot . omega
 *
 * (Neimark and Fufaev, Dynamics of Nonholonomic Systems, chapter III: linear constraints of the
 * first order; the multipliers are as those of other rows.) */
#include "models/multibody/model_private.h"

#include <string.h>

/* Options, and a row ready for evaluation: bodies of terms by their place in the list of the joint.
 * Options alone are one term, of the first body in the frame of the second one, or in its own. */
typedef struct nonholonomic_row {
  double at[3], along[3], about[3], value;
  int n_terms;
  perp_rate_term term[PERP_RATE_TERMS];
  const perp_signal *signal; /* NULL: none */
} nonholonomic_row;

static int nonholonomic_terms(const nonholonomic_row *row)
{
  return row->n_terms > 0 ? row->n_terms : 1;
}

static perp_rate_term nonholonomic_term_of(const nonholonomic_row *row, int i, int n)
{
  if (row->n_terms > 0) return row->term[i];
  perp_rate_term term = { .body = 0, .frame = n > 1 ? 1 : 0 };
  memcpy(term.at, row->at, sizeof term.at);
  memcpy(term.along, row->along, sizeof term.along);
  memcpy(term.about, row->about, sizeof term.about);
  return term;
}

static int nonholonomic_rows(const void *opts, int dim, int n, unsigned *angles)
{
  (void)opts, (void)dim, (void)n;
  *angles = 0;
  return 1;
}

/* along and about in the world */
static void nonholonomic_directions(const perp_rate_term *term, const perp_body_state *body,
                                    double along[3], double about[3])
{
  memcpy(along, term->along, 3 * sizeof *along);
  memcpy(about, term->about, 3 * sizeof *about);
  if (term->frame < 0) return;
  perp_body_direction(&body[term->frame], term->along, along);
  perp_body_direction(&body[term->frame], term->about, about);
}

static void nonholonomic_evaluate(const void *opts, int dim, int n, const perp_body_state *body,
                                  double *C, double *J)
{
  const nonholonomic_row *row = opts;
  double along[3], about[3];
  (void)dim;
  C[0] = 0;
  for (int i = 0; i < nonholonomic_terms(row) && J != NULL; i++) {
    const perp_rate_term term = nonholonomic_term_of(row, i, n);
    const perp_body_state *state = &body[term.body];
    nonholonomic_directions(&term, body, along, about);
    perp_body_row(state, term.at, along, 1, 1, J + 6 * term.body);
    for (int k = 0; k < 3; k++) J[6 * term.body + 3 + k] += perp_dot(3, state->R + 3 * k, about);
  }
}

static void nonholonomic_bias(const void *opts, int dim, int n, const perp_body_state *body,
                              double *gamma)
{
  const nonholonomic_row *row = opts;
  double along[3], about[3], r[3], spin[3], inner[3], p[3], w[3];
  (void)dim;
  gamma[0] = 0;
  for (int i = 0; i < nonholonomic_terms(row); i++) {
    const perp_rate_term term = nonholonomic_term_of(row, i, n);
    const perp_body_state *state = &body[term.body];
    double along_rate[3] = { 0 }, about_rate[3] = { 0 };
    nonholonomic_directions(&term, body, along, about);
    if (term.frame >= 0) {
      perp_body_spin(&body[term.frame], term.along, along_rate);
      perp_body_spin(&body[term.frame], term.about, about_rate);
    }
    perp_body_direction(state, state->w, w);
    perp_body_direction(state, term.at, r);
    perp_cross(w, r, spin);
    perp_cross(w, spin, inner);
    for (int k = 0; k < 3; k++) p[k] = state->v[k] + spin[k];
    gamma[0] += perp_dot(3, along_rate, p) + perp_dot(3, along, inner) + perp_dot(3, about_rate, w);
  }
}

static void nonholonomic_prescribed(const void *opts, double t, double *g, double *gdot)
{
  const nonholonomic_row *row = opts;
  double y[3] = { 0 };
  if (row->signal != NULL) perp_signal_at(row->signal, t, y);
  g[0] = row->value + y[0];
  gdot[0] = y[1];
}

static perp_status nonholonomic_check(perp_ctx *ctx, const void *opts, int dim, int n);

static const perp_opt options[] = {
  PERP_VECTOR(nonholonomic_row, at, "at", 0, 0, 0, "m",
              "Position of the point, in the frame of its body."),
  PERP_VECTOR(nonholonomic_row, along, "along", 0, 0, 0, "",
              "Direction of the constrained velocity component of the point."),
  PERP_VECTOR(nonholonomic_row, about, "about", 0, 0, 0, "m",
              "Axis of the constrained rotation, times a lever arm."),
  PERP_REAL(nonholonomic_row, value, 0, -HUGE_VAL, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "m/s",
            "Prescribed value g of the row. In scene files it may depend on t, and a row may have "
            "several terms."),
  PERP_OPTIONS_END
};

#define NONHOLONOMIC(g)                                                                            \
  {                                                                                                \
    .d = { .name = "nonholonomic",                                                                 \
           .summary = "Constraint on velocities of points and on rotation rates, not on "          \
                      "positions; 1 row",                                                          \
           .reference = "Neimark & Fufaev 1972, chapter I",                                        \
           .equation = "sum of along . pdot + about . omega = g(t)",                               \
           PERP_OPTIONS(options, nonholonomic_row),                                                \
           .caps = PERP_JOINT_IN_SPACE | PERP_JOINT_IN_PLANE | PERP_JOINT_NONHOLONOMIC },          \
    .bodies_min = 1, .bodies_max = PERP_ELEMENT_BODIES, .rows = nonholonomic_rows,                 \
    .check = nonholonomic_check, .evaluate = nonholonomic_evaluate, .bias = nonholonomic_bias,     \
    .prescribed = g                                                                                \
  }
extern const perp_joint_desc perp_joint_nonholonomic;
const perp_joint_desc perp_joint_nonholonomic = NONHOLONOMIC(nonholonomic_prescribed);
/* g = 0: nothing brings energy in */
static const perp_joint_desc nonholonomic_still = NONHOLONOMIC(NULL);

/* ---- building ---- */

/* Where a body stands in the list of the joint, where it is put if need be. */
static int nonholonomic_body(int body, int *list, int *n)
{
  for (int i = 0; i < *n; i++)
    if (list[i] == body) return i;
  list[*n] = body;
  return (*n)++;
}

static bool nonholonomic_some(const double x[3])
{
  return x[0] != 0 || x[1] != 0 || x[2] != 0;
}

static perp_status nonholonomic_check(perp_ctx *ctx, const void *opts, int dim, int n)
{
  const nonholonomic_row *row = opts;
  (void)dim;
  if (row->n_terms > 0) return PERP_OK; /* they have been checked */
  if (n > 2)
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "needs one body, and optionally a second one whose frame defines the directions");
  if (!nonholonomic_some(row->along) && !nonholonomic_some(row->about))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "needs a direction: along or about");
  return PERP_OK;
}

static perp_status nonholonomic_term(perp_ctx *ctx, const perp_model *model,
                                     const perp_rate_term *term, const char *who)
{
  if (term->body < 0 || term->body >= model->n_bodies || term->frame < PERP_WORLD ||
      term->frame >= model->n_bodies)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: body %d does not exist (there are %d)", who,
                     term->body < 0 || term->body >= model->n_bodies ? term->body : term->frame,
                     model->n_bodies);
  for (int k = 0; k < 3; k++)
    if (!isfinite(term->at[k]) || !isfinite(term->along[k]) || !isfinite(term->about[k]))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: a term is not finite", who);
  if (model->dim == 2 && (term->about[0] != 0 || term->about[1] != 0 || term->along[2] != 0))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: in the plane rotation is about z, and velocities have no z component",
                     who);
  if (!nonholonomic_some(term->along) && !nonholonomic_some(term->about))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: a term needs a direction: along or about", who);
  return PERP_OK;
}

perp_status perp_model_add_rate(perp_ctx *ctx, perp_model *model, const perp_rate_def *def,
                                int *index)
{
  char buf[PERP_LABEL_MAX];
  const char *who = perp_model_label(buf, "joint", model->n_joints, def->name);
  nonholonomic_row row = { .n_terms = def->n_terms, .value = def->value };
  int list[2 * PERP_RATE_TERMS], n = 0;
  PERP_TRY(perp_model_building(ctx, model));
  if (def->n_terms < 1 || def->n_terms > PERP_RATE_TERMS)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the number of terms must be from 1 to %d: got %d", who,
                     PERP_RATE_TERMS, def->n_terms);
  if (!isfinite(def->value)) return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: g is not finite", who);
  PERP_TRY(perp_model_check_signal(ctx, model, def->value_signal, who));
  if (def->value_signal != 0) {
    row.signal = perp_model_signal(model, def->value_signal);
    if (perp_signal_definition(row.signal)->kind == PERP_SIGNAL_TABLE)
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: the derivative of a table is discontinuous: use a spline for g", who);
  }
  for (int i = 0; i < def->n_terms; i++) {
    const perp_rate_term *term = &def->term[i];
    PERP_TRY(nonholonomic_term(ctx, model, term, who));
    row.term[i] = *term;
    row.term[i].body = nonholonomic_body(term->body, list, &n);
    row.term[i].frame = term->frame < 0 ? -1 : nonholonomic_body(term->frame, list, &n);
  }
  const perp_joint_def joint = {
    .name = def->name,
    .kind = PERP_JOINT_PLUGIN,
    .plugin = def->value == 0 && def->value_signal == 0 ? &nonholonomic_still
                                                        : &perp_joint_nonholonomic,
    .opts = &row,
    .body = list,
    .n_bodies = n,
    .collide = true,
  };
  return perp_model_add_joint(ctx, model, &joint, index);
}

bool perp_model_rate_of(const perp_model *model, int i, perp_rate_def *def)
{
  const perp_joint_def *joint = &model->joint_def[i];
  if (joint->plugin != &nonholonomic_still && joint->plugin != &perp_joint_nonholonomic)
    return false;
  const nonholonomic_row *row = joint->opts;
  *def = (perp_rate_def){ .name = joint->name,
                          .n_terms = nonholonomic_terms(row),
                          .value = row->value };
  for (int signal = 1; row->signal != NULL && signal <= model->signals.n; signal++)
    if (model->signals.list[signal - 1] == row->signal) def->value_signal = signal;
  for (int k = 0; k < def->n_terms; k++) {
    perp_rate_term *term = &def->term[k];
    *term = nonholonomic_term_of(row, k, joint->n_bodies);
    term->body = joint->body[term->body];
    term->frame = term->frame < 0 ? PERP_WORLD : joint->body[term->frame];
  }
  return true;
}
