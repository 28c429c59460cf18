/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every joint of the registry owes: J is the derivative of C, Jdot v that of J v, and what it
 * declares.  Those of perp and those of plug-ins meet the same checks, through models. */
#include "models/multibody/model_private.h"
#include "tests/contract/elements.h"

#include <lapacke.h>

#define PLACES "anchor_a_x=0.3,anchor_a_y=-0.1,anchor_b_x=-0.4,anchor_b_y=0.2"
#define AXES   ",axis_a_x=0.3,axis_a_z=1,axis_b_y=0.5,axis_b_z=1"
static const struct {
  const char *name, *options;
} asked[] = {
  { "ball", PLACES },
  { "hinge", PLACES AXES },
  { "universal", PLACES ",axis_a_x=0.3,axis_a_z=1,axis_b_x=1,axis_b_y=0.5" },
  { "slider", PLACES ",axis_a_x=1,axis_a_y=0.4" },
  { "fixed", PLACES },
  { "distance", PLACES ",length=0.8" },
  { "line", PLACES ",axis_a_x=1,axis_a_y=0.4" },
  { "wheel", PLACES ",axis_a_x=0.3,axis_a_z=1,axis_b_x=1,axis_b_y=0.5" },
  { "curve", PLACES ",axis_a_x=1,axis_b_y=1,curve.kind=circle,curve.radius=0.6" },
  { "curve", PLACES ",axis_a_x=1,axis_b_y=1,curve.kind=line" },
  { "planar", PLACES AXES },
  { "cylindrical", PLACES AXES },
  { "rectangular", PLACES ",axis_a_x=0.3,axis_a_y=0.2,axis_b_x=-0.4,axis_b_y=1" },
  { "cartesian", PLACES AXES ",axis_c_x=1" },
  { "skew-hinges", PLACES AXES },
  { "pin-slot", PLACES AXES },
  { "pin-slot", PLACES AXES ",first=hinge" },
  { "chain", "a_along_z=1,a_at_x=0.3,b_kind=slide,b_along_x=1,b_along_y=0.2,c_along_y=1,"
             "c_along_z=0.4,c_at_x=-0.2,c_at_y=0.3" },
  { "chain", "n_axes=4,a_along_z=1,a_at_x=0.3,b_kind=slide,b_along_x=1,b_along_y=0.2,c_along_y=1,"
             "c_along_z=0.4,c_at_x=-0.2,c_at_y=0.3,d_along_x=1,d_at_z=0.5" },
  { "chain", "n_axes=5,a_kind=slide,a_along_x=1,b_kind=slide,b_along_y=1,c_kind=slide,c_along_z=1,"
             "d_along_x=0.3,d_along_y=1,e_along_z=1,e_at_x=0.3" },
  { "nonholonomic", "at_x=0.3,at_y=-0.1,along_x=0.4,along_y=1,about_z=0.2" },
};

static const perp_joint_desc *desc_of(const element *x)
{
  return (const perp_joint_desc *)(const void *)x->d;
}

/* v: velocities at the start; NULL: at rest */
static perp_status build(element *x, perp_joint_start start, const double *v)
{
  perp_joint_def def;
  element_begin(x, false, 9.81, 0);
  for (int b = 0; b < perp_model_bodies(x->model) && v != NULL; b++) {
    perp_body_def *body = &x->model->body_def[b];
    memcpy(body->v, v, (size_t)x->dim * sizeof *v);
    v += x->dim;
    memcpy(body->w + (x->dim == 3 ? 0 : 2), v, (x->dim == 3 ? 3 : 1) * sizeof *v);
    v += x->dim == 3 ? 3 : 1;
  }
  perp_status status = perp_joint_define(&ctx, desc_of(x), x->spec.opts, x->n, x->body, &def);
  def.start = start;
  if (status == PERP_OK) status = perp_model_add_joint(&ctx, x->model, &def, NULL);
  return element_finish(x, status);
}

static double now =
    0.3; /* s, where rows are looked at that depend on time; other times where derivatives are */

static bool timed(const element *x)
{
  return desc_of(x)->at_time != NULL;
}

/* C, and J v + C_t in Cdot unless that is NULL */
static void rows_at(const element *x, double t, const double *q, const double *v, double *C,
                    double *Cdot)
{
  perp_model_error(x->model, t, q, C);
  if (Cdot != NULL) perp_model_rate(x->model, t, q, v, Cdot);
}

/* ---- derivatives ---- */

/* d/ds along q [+] s v, at now + s, of C, or of its rate: central differences, of order 2 or 6. */
static void differenced(const element *x, const double *q, const double *v, bool rate, bool six,
                        double h, double *d)
{
  static const double order2[3] = { 0.5, 0, 0 }, order6[3] = { 0.75, -0.15, 1.0 / 60 };
  const double *weight = six ? order6 : order2;
  const int m = perp_model_m(x->model);
  double q1[NQ], C[PERP_JOINT_ROWS], Cdot[PERP_JOINT_ROWS];
  for (int k = 0; k < m; k++) d[k] = 0;
  for (int i = -3; i <= 3; i++) {
    const double w = i == 0 ? 0 : weight[abs(i) - 1];
    if (w == 0) continue;
    element_along(x, q, v, i * h, q1);
    rows_at(x, now + i * h, q1, v, C, Cdot);
    for (int k = 0; k < m; k++) d[k] += (i < 0 ? -w : w) / h * (rate ? Cdot[k] : C[k]);
  }
}

static void check_derivative(const element *x, bool rate)
{
  const char *what = rate ? "Jdot v is the derivative of J v" : "J v is the derivative of C";
  const int m = perp_model_m(x->model);
  double worst = 0, size = 0, coarse = 0, fine = 0;
  for (int k = 0; k < 6; k++) {
    double q[NQ], v[NV], C[PERP_JOINT_ROWS], said[PERP_JOINT_ROWS], d[PERP_JOINT_ROWS];
    element_state(x, 0.1, q, v);
    now = 0.3 + 0.37 * k;
    rows_at(x, now, q, v, C, said);
    if (rate) perp_model_jdotv(x->model, now, q, v, said);
    differenced(x, q, v, rate, true, 5e-3, d);
    worst = fmax(worst, farthest(m, said, d));
    size = fmax(size, largest(m, said));
    differenced(x, q, v, rate, false, 8e-3, d);
    coarse = fmax(coarse, farthest(m, said, d));
    differenced(x, q, v, rate, false, 4e-3, d);
    fine = fmax(fine, farthest(m, said, d));
  }
  now = 0.3;
  below(worst, 1e-9 * (1 + size), "%s: %s: off by %.2g of %.2g", x->name, what, worst, size);
  ok(fine < 1e-10 * (1 + size) || (coarse > 3 * fine && coarse < 5 * fine),
     "%s: %s: differences of order 2 come to it as h^2: %.2g, %.2g", x->name, what, coarse, fine);
}

/* Of rows on velocities C is 0, and something moves with J. */
static void check_no_positions(const element *x)
{
  const int m = perp_model_m(x->model);
  double worst = 0, rate = 0;
  for (int k = 0; k < 6; k++) {
    double q[NQ], v[NV], C[PERP_JOINT_ROWS], Cdot[PERP_JOINT_ROWS];
    element_state(x, 0.1, q, v);
    rows_at(x, now, q, v, C, Cdot);
    worst = fmax(worst, largest(m, C));
    rate = fmax(rate, largest(m, Cdot));
  }
  ok(worst == 0 && rate > 0, "%s: rows on velocities have no C: it is %.2g", x->name, worst);
}

/* ---- what is declared ---- */

static void check_rows(const element *x)
{
  const int m = perp_model_m(x->model);
  double q[NQ], q1[NQ], v[NV], C[PERP_JOINT_ROWS], C1[PERP_JOINT_ROWS], Cdot[PERP_JOINT_ROWS],
      gamma[PERP_JOINT_ROWS];
  bool finite = true;
  for (int k = 0; k < 3; k++) {
    element_state(x, 0.3, q, v);
    rows_at(x, now, q, v, C, Cdot);
    perp_model_jdotv(x->model, now, q, v, gamma);
    finite = finite && watch_finite(m, C) && watch_finite(m, Cdot) && watch_finite(m, gamma);
  }
  ok(finite, "%s: C, J v and Jdot v of its %d row(s) are finite", x->name, m);
  element_state(x, 0.1, q, v);
  const unsigned caps = x->d->caps;
  if (caps & PERP_JOINT_INVARIANT && !x->world) {
    rows_at(x, now, q, v, C, NULL);
    element_rigid(x, q, q1);
    rows_at(x, now, q1, v, C1, NULL);
    below(farthest(m, C, C1), 1e-12, "%s: moves with its bodies: C stays, off by %.2g", x->name,
          farthest(m, C, C1));
  }
  if (caps & PERP_JOINT_AT_CENTRES && desc_of(x)->own == 0) {
    double dq[NV] = { 0 }, rest[NV] = { 0 }, Ct[PERP_JOINT_ROWS];
    const int per = x->dim == 3 ? 6 : 3;
    for (int i = 0; i < x->nv; i++)
      if (i % per >= x->dim) dq[i] = perp_rng_uniform(rng, -1, 1);
    perp_model_retract(x->model, q, dq, q1);
    rows_at(x, now, q, dq, C, Cdot);
    rows_at(x, now, q1, dq, C1, NULL);
    perp_model_rate(x->model, now, q, rest, Ct);
    below(fmax(farthest(m, C, C1), farthest(m, Cdot, Ct)), 1e-13,
          "%s: acts at centres: no orientation is read, nothing turns", x->name);
  }
}

/* The least velocities with J v = - C_t at the start: where rows move, bodies at rest contradict
 * them. */
static void start_moving(const element *x, double *v)
{
  const int m = perp_model_m(x->model);
  const double *q = perp_model_q0(x->model);
  double A[PERP_JOINT_ROWS * NV], s[PERP_JOINT_ROWS], Ct[PERP_JOINT_ROWS], unit[NV] = { 0 };
  lapack_int rank;
  perp_model_rate(x->model, 0, q, unit, Ct);
  for (int i = 0; i < x->nv; i++) {
    unit[i] = 1;
    perp_model_rate(x->model, 0, q, unit, A + (size_t)i * (size_t)m);
    unit[i] = 0;
    for (int k = 0; k < m; k++) A[k + i * m] -= Ct[k];
  }
  for (int i = 0; i < x->nv || i < m; i++) v[i] = i < m ? -Ct[i] : 0;
  if (LAPACKE_dgelss(LAPACK_COL_MAJOR, m, x->nv, 1, A, m, v, x->nv > m ? x->nv : m, s, 1e-9,
                     &rank) != 0)
    bail("dgelss");
}

/* Held from its zero on, without stabilization: the error of a simulation is that of the method,
 * and no energy is lost by rows that do not depend on time. */
static void check_simulation(const element *like)
{
  element x = *like;
  double drift[2] = { 0 }, energy[2] = { 0 }, speed = 1;
  if (desc_of(&x)->own == 0 && desc_of(&x)->zero == NULL) {
    skip("it has no zero", "%s: holds in a simulation", x.name);
    return;
  }
  bool good = true;
  double v0[NV];
  if (timed(&x)) { /* the same one, anywhere, tells them */
    if (build(&x, PERP_START_VIOLATES, NULL) != PERP_OK) bail("%s", ctx.msg);
    start_moving(&x, v0);
    element_end(&x);
  }
  if (!ok(build(&x, PERP_START_ZERO, timed(&x) ? v0 : NULL) == PERP_OK,
          "%s: takes its zero from the initial state", x.name)) {
    printf("# %s\n", ctx.msg);
    element_end(&x);
    return;
  }
  double C[PERP_JOINT_ROWS];
  rows_at(&x, 0, perp_model_q0(x.model), NULL, C, NULL);
  below(largest(perp_model_m(x.model), C), 1e-13, "%s: C = 0 there", x.name);
  for (int run = 0; run < 2; run++) {
    perp_parts parts = { 0 };
    perp_sim *sim;
    perp_step_info info = { 0 };
    double t, T, V, first = 0;
    const double *q, *v;
    if (perp_spec_parse(&ctx, PERP_KIND_formulation, "acceleration", &parts.formulation) !=
            PERP_OK ||
        perp_spec_parse(&ctx, PERP_KIND_ode, "rk4", &parts.ode) != PERP_OK ||
        perp_spec_parse(&ctx, PERP_KIND_stab, "none", &parts.stab) != PERP_OK ||
        perp_sim_create(&ctx, x.model, &parts, run == 0 ? 1.0 / 128 : 1.0 / 256, &sim) != PERP_OK)
      bail("%s", ctx.msg);
    for (bool begun = false; good; begun = true) {
      perp_sim_state(sim, &t, &q, &v);
      perp_model_energy(x.model, t, q, v, &T, &V);
      if (!begun) first = T + V;
      speed = fmax(speed, T);
      rows_at(&x, t, q, v, C, NULL);
      energy[run] = fmax(energy[run], fabs(T + V - first));
      drift[run] = fmax(drift[run], largest(perp_model_m(x.model), C));
      if (t >= 0.25 - 1e-9) break;
      good = perp_sim_step(&ctx, sim, 0.25, &info) == PERP_OK && info.reason >= 0;
    }
    perp_sim_destroy(sim);
    perp_parts_free(&parts);
  }
  ok(good, "%s: a simulation comes to its end", x.name);
  ok(drift[1] < 1e-9 || drift[0] > 8 * drift[1],
     "%s: holds in a simulation at the order of the method, 4: %.2g, %.2g", x.name, drift[0],
     drift[1]);
  if (!timed(&x)) /* what moves does work */
    ok(energy[1] < 1e-9 * speed || energy[0] > 8 * energy[1],
       "%s: takes no energy in a simulation: %.2g, %.2g J", x.name, energy[0], energy[1]);
  element_end(&x);
}

/* ---- what no plug-in may do ---- */

/* at_time in all ways in which it is asked: gamma with velocities, the rest without; C is the same
 * in each. */
static bool called_in_time(const element *x, const void *opts, const perp_body_state *moving,
                           walled *C, walled *J, walled *Ct, walled *gamma)
{
  const perp_joint_desc *d = desc_of(x);
  const int m = perp_model_m(x->model);
  perp_body_state body[MOST_BODIES];
  double first[PERP_JOINT_ROWS];
  bool same = true;
  memcpy(body, moving, sizeof *body * (size_t)x->n);
  for (int i = 0; i < x->n; i++)
    for (int k = 0; k < 3; k++) body[i].v[k] = body[i].w[k] = 0;
  for (int way = 0; way < 5; way++) {
    for (int k = 0; k < m; k++) C->x[k] = 0;
    for (int k = 0; k < J->n; k++) J->x[k] = 0;
    d->at_time(opts, x->dim, x->n, way == 1 ? moving : body, now, C->x, way > 2 ? J->x : NULL,
               way == 2 || way == 4 ? Ct->x : NULL, way == 1 ? gamma->x : NULL);
    if (way == 0) memcpy(first, C->x, sizeof *first * (size_t)m);
    same = same && memcmp(first, C->x, sizeof *first * (size_t)m) == 0;
  }
  return same;
}

static void check_calls(const element *x)
{
  const perp_joint_desc *d = desc_of(x);
  const int m = perp_model_m(x->model);
  double q[NQ], v[NV], q1[NQ], v1[NV], C[2][PERP_JOINT_ROWS], rate[2][PERP_JOINT_ROWS],
      gamma[2][PERP_JOINT_ROWS];
  memset(C, 0, sizeof C), memset(rate, 0, sizeof rate), memset(gamma, 0, sizeof gamma);
  element_state(x, 0.1, q, v);
  rows_at(x, now, q, v, C[0], rate[0]);
  perp_model_jdotv(x->model, now, q, v, gamma[0]);
  element_state(x, 0.1, q1, v1);
  rows_at(x, now, q1, v1, C[1], rate[1]);
  perp_model_jdotv(x->model, now, q1, v1, gamma[1]);
  const long before = count_malloc;
  watch_begin();
  rows_at(x, now, q, v, C[1], rate[1]);
  perp_model_jdotv(x->model, now, q, v, gamma[1]);
  watch_end();
  if (COUNTS_MALLOC)
    ok(count_malloc == before, "%s: allocates nothing", x->name);
  else
    skip("not counted", "%s: allocates nothing", x->name);
  ok(memcmp(C[0], C[1], sizeof *C) == 0 && memcmp(rate[0], rate[1], sizeof *C) == 0 &&
         memcmp(gamma[0], gamma[1], sizeof *C) == 0,
     "%s: the same state gives identical bits", x->name);
  if (d->own != 0) return;
  static walled wC, wJ, wCt, wg;
  bool same = true;
  perp_body_state body[MOST_BODIES];
  perp_eval e = x->model->eval;
  const perp_joint_def *def = perp_model_joint(x->model, 0);
  perp_eval_poses(&e, x->model, 0, q);
  perp_element_states(x->model, &e, v, x->n, x->body, body);
  wall_set(&wC, m, 0);
  wall_set(&wg, m, 0);
  wall_set(&wCt, m, 0);
  wall_set(&wJ, 6 * m * x->n < WALLED ? 6 * m * x->n : WALLED, 0);
  const uint64_t read = watch_hash(watch_hash(1, def->opts, d->d.opts_size), body,
                                   sizeof *body * (size_t)x->n);
  unsigned angles = 0;
  watch_begin();
  const int rows = d->rows(def->opts, x->dim, x->n, &angles);
  if (timed(x))
    same = called_in_time(x, def->opts, body, &wC, &wJ, &wCt, &wg);
  else {
    d->evaluate(def->opts, x->dim, x->n, body, wC.x, wJ.x);
    d->evaluate(def->opts, x->dim, x->n, body, wC.x, NULL);
    if (d->bias != NULL) d->bias(def->opts, x->dim, x->n, body, wg.x);
  }
  watch_end();
  if (timed(x)) {
    ok(same, "%s: C is the same whatever else is asked for", x->name);
    ok(wall_stands(&wCt), "%s: writes nothing beside C_t", x->name);
  }
  ok(rows == m && angles >> m == 0, "%s: says its rows, and which of them are angles", x->name);
  ok(wall_stands(&wC) && wall_stands(&wJ) && wall_stands(&wg), "%s: writes nothing beside its rows",
     x->name);
  ok(watch_hash(watch_hash(1, def->opts, d->d.opts_size), body, sizeof *body * (size_t)x->n) ==
         read,
     "%s: only reads options and states", x->name);
}

static void life(void *user)
{
  element x = *(const element *)user;
  double q[NQ], v[NV], C[PERP_JOINT_ROWS], Cdot[PERP_JOINT_ROWS];
  if (build(&x, PERP_START_VIOLATES, NULL) == PERP_OK) {
    element_state(&x, 0.1, q, v);
    rows_at(&x, now, q, v, C, Cdot);
  }
  element_end(&x);
}

static void check_one(const perp_desc *d, const char *options, int dim, int n, bool world)
{
  element x = { .d = d, .options = options, .dim = dim, .n = n, .world = world };
  element_name(&x);
  const perp_status status = build(&x, PERP_START_VIOLATES, NULL);
  if (status == PERP_ERR_UNSUPPORTED && desc_of(&x)->own != 0) { /* not in the plane */
    ok(!(d->caps & (dim == 3 ? PERP_JOINT_IN_SPACE : PERP_JOINT_IN_PLANE)),
       "%s: refused, as it declares", x.name);
    element_end(&x);
    return;
  }
  if (!ok(status == PERP_OK, "%s: is added to a model", x.name)) {
    printf("# %s\n", ctx.msg);
    element_end(&x);
    return;
  }
  check_calls(&x);
  check_rows(&x);
  if (d->caps & PERP_JOINT_NONHOLONOMIC)
    check_no_positions(&x);
  else
    check_derivative(&x, false);
  check_derivative(&x, true);
  element_end(&x);
  check_simulation(&x);
  watch_begin();
  life(&x);
  watch_end();
  watch_memory(x.name, life, &x);
}

static void check_with(const perp_desc *d, const char *options)
{
  const perp_joint_desc *joint = (const perp_joint_desc *)(const void *)d;
  const int least = joint->bodies_min, more = joint->bodies_max > least ? least + 1 : least;
  for (int dim = 2; dim <= 3; dim++) {
    if (joint->own == 0 && !(d->caps & (dim == 3 ? PERP_JOINT_IN_SPACE : PERP_JOINT_IN_PLANE)))
      continue;
    for (int n = least; n <= more; n++) {
      check_one(d, options, dim, n, false);
      if (n > 1) check_one(d, options, dim, n, true);
    }
  }
}

static void check(const perp_desc *d)
{
  const perp_joint_desc *joint = (const perp_joint_desc *)(const void *)d;
  element_description(PERP_KIND_joint, d);
  ok(joint->bodies_min >= 1 && joint->bodies_max >= joint->bodies_min &&
         joint->bodies_max <= PERP_ELEMENT_BODIES,
     "%s: says how many bodies it takes", d->name);
  perp_joint_def def;
  int body[1] = { 0 };
  ok(perp_joint_define(&ctx, joint, NULL, joint->bodies_min - 1, body, &def) == PERP_ERR_ARG,
     "%s: one body less is refused", d->name);
  bool known = false;
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
    if (strcmp(asked[i].name, d->name) != 0) continue;
    known = true;
    check_with(d, asked[i].options);
  }
  /* terms of axes of other joints are no options: tests/unit/axes.c */
  if (!known && joint->own == 0 && strcmp(d->name, "coupling") != 0) check_with(d, "");
  ok(known || joint->own == 0, "%s: is asked here", d->name);
  watch_silent(d->name);
}

int main(void)
{
  perp_ctx_init(&ctx);
  rng = perp_rng_create(20260502);
  if (perp_register_models(&ctx) != PERP_OK || rng == NULL) bail("%s", ctx.msg);
  register_under_test(&ctx);
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_joint, i)) != NULL; i++)
    if (under_test(d)) check(d);
  perp_rng_destroy(rng);
  return tap_done();
}
