/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every force of the registry owes: what it declares of energy, momentum, velocities and time,
 * and a gradient that is the derivative of the force.  Those of perp and those of plug-ins meet the
 * same checks, through models. */
#include "models/multibody/model_private.h"
#include "tests/contract/elements.h"

/* Options under which a force of perp does something; its bodies. */
static const struct {
  const char *name, *options;
} asked[] = {
  { "point", "anchor_a_x=0.3,anchor_a_y=0.2,value_x=3,value_y=-2,value_z=1" },
  { "torque", "value_x=0.4,value_y=-1,value_z=2" },
  { "spring", "stiffness=30,length=0.7,anchor_a_x=0.2,anchor_b_y=-0.3" },
  { "spring", "stiffness=30,length=0.7,damping=2,anchor_a_z=0.2,anchor_b_y=-0.3" },
  { "drag", "linear=2,quadratic=0.5,angular=0.3" },
  { "pairs", "law=gravity,strength=2" },
  { "pairs", "law=lennard-jones,strength=0.1,length=0.9,cutoff=2.5" },
  { "pairs", "law=repulsion,strength=3,length=0.4" },
};

static const perp_force_desc *desc_of(const element *x)
{
  return (const perp_force_desc *)(const void *)x->d;
}

static perp_status build(element *x, bool isotropic, double spin)
{
  perp_force_def def;
  element_begin(x, isotropic, 0, spin);
  perp_status status = perp_force_define(&ctx, desc_of(x), x->spec.opts, x->n, x->body, &def);
  if (status == PERP_OK) status = perp_model_add_force(&ctx, x->model, &def);
  return element_finish(x, status);
}

static void force_at(const element *x, double t, const double *q, const double *v, double *f)
{
  perp_model_forces(x->model, t, q, v, f);
}

static unsigned promises(const element *x)
{
  return perp_force_promises(perp_model_force_element(x->model, 0));
}

static double potential(const element *x, double t, const double *q)
{
  const double still[NV] = { 0 };
  double T, V;
  perp_model_energy(x->model, t, q, still, &T, &V);
  return V;
}

/* ---- what is declared ---- */

static void check_reads(const element *x)
{
  double q[NQ], v[NV], v2[NV], f[NV], f2[NV], by_v = 0, by_t = 0, size = 0;
  for (int k = 0; k < 5; k++) {
    element_state(x, 0.2, q, v);
    for (int i = 0; i < x->nv; i++) v2[i] = perp_rng_uniform(rng, -3, 3);
    force_at(x, 0.3, q, v, f);
    force_at(x, 0.3, q, v2, f2);
    by_v = fmax(by_v, farthest(x->nv, f, f2));
    size = fmax(size, largest(x->nv, f));
    for (int i = 0; i < 4; i++) {
      force_at(x, 0.3 + 0.37 * (i + 1), q, v, f2);
      by_t = fmax(by_t, farthest(x->nv, f, f2));
    }
  }
  const unsigned caps = promises(x);
  if (!(caps & PERP_FORCE_NEEDS_VELOCITY)) /* 1e-13: the gyroscopic torque of isotropic bodies */
    below(by_v, 1e-13 * (1 + size), "%s: does not depend on velocities: %.2g of %.2g", x->name,
          by_v, size);
  if (!(caps & PERP_FORCE_NEEDS_TIME))
    ok(by_t == 0, "%s: does not depend on time: %.2g of %.2g", x->name, by_t, size);
  ok(perp_model_forces_need_velocity(x->model) == !!(caps & PERP_FORCE_NEEDS_VELOCITY) &&
         perp_model_depends_on_time(x->model) == !!(caps & PERP_FORCE_NEEDS_TIME),
     "%s: the model knows what it reads", x->name);
}

/* Sum of forces and of their moments about the origin. */
static void check_internal(const element *x)
{
  double q[NQ], v[NV], f[NV], worst = 0, size = 0;
  if (!(promises(x) & PERP_FORCE_INTERNAL) || x->world) return;
  for (int k = 0; k < 5; k++) {
    double sum[6] = { 0 };
    element_state(x, 0.2, q, v);
    force_at(x, 0.2, q, v, f);
    for (int b = 0; b < x->n; b++) {
      const double *fb = f + b * (x->dim == 3 ? 6 : 3), *c = q + b * (x->dim == 3 ? 7 : 3);
      double F[3] = { fb[0], fb[1], x->dim == 3 ? fb[2] : 0 }, p[3] = { c[0], c[1] }, R[9], M[3];
      if (x->dim == 3) p[2] = c[2];
      perp_cross(p, F, M);
      if (x->dim == 3) {
        double tau[3];
        perp_quat_matrix(c + 3, R);
        perp_turn(3, R, fb + 3, tau);
        for (int i = 0; i < 3; i++) M[i] += tau[i];
      } else {
        M[2] += fb[2];
      }
      for (int i = 0; i < 3; i++) sum[i] += F[i], sum[3 + i] += M[i];
    }
    worst = fmax(worst, largest(6, sum));
    size = fmax(size, largest(x->nv, f));
  }
  below(worst, 1e-12 * (1 + size * x->n),
        "%s: internal: forces and moments together are zero: %.2g of %.2g", x->name, worst, size);
}

/* Work along the motion q [+] s v, s = 0 ... 1, by Gauss-Legendre on 40 parts, against the
 * difference of energy. */
static void check_work(const element *x)
{
  static const double node[2] = { 0.339981043584856265, 0.861136311594052575 },
                      weight[2] = { 0.652145154862546143, 0.347854845137453857 };
  enum { PARTS = 40 };
  if (!(promises(x) & PERP_FORCE_CONSERVATIVE)) return;
  double worst = 0, size = 0;
  for (int k = 0; k < 4; k++) {
    double q[NQ], q1[NQ], v[NV], f[NV], work = 0;
    element_state(x, 0.2, q, v);
    for (int i = 0; i < x->nv; i++) v[i] *= 0.4;
    for (int part = 0; part < PARTS; part++)
      for (int i = 0; i < 4; i++) {
        const double s = (part + 0.5 + 0.5 * (i < 2 ? node[i] : -node[i - 2])) / PARTS;
        element_along(x, q, v, s, q1);
        force_at(x, 0.4, q1, v, f);
        for (int j = 0; j < x->nv; j++) work += 0.5 / PARTS * weight[i % 2] * f[j] * v[j];
        size = fmax(size, largest(x->nv, f));
      }
    element_along(x, q, v, 1, q1);
    const double lost = potential(x, 0.4, q) - potential(x, 0.4, q1);
    worst = fmax(worst, fabs(work - lost));
  }
  below(worst, 1e-9 * (1 + size), "%s: conservative: work is the energy lost: off by %.2g J",
        x->name, worst);
}

/* Largest change of energy and momenta in a simulation with steps h. */
static bool simulated(const element *x, double h, double *energy, double *momentum)
{
  perp_parts parts = { 0 };
  perp_sim *sim;
  perp_step_info info = { 0 };
  double t, T, V, first = 0, P[3], L[3], P0[3], L0[3];
  const double *q, *v;
  *energy = *momentum = 0;
  if (perp_spec_parse(&ctx, PERP_KIND_formulation, "acceleration", &parts.formulation) != PERP_OK ||
      perp_spec_parse(&ctx, PERP_KIND_ode, "rk4", &parts.ode) != PERP_OK ||
      perp_sim_create(&ctx, x->model, &parts, h, &sim) != PERP_OK)
    bail("%s", ctx.msg);
  bool good = true;
  for (bool begun = false; good; begun = true) {
    perp_sim_state(sim, &t, &q, &v);
    perp_model_energy(x->model, t, q, v, &T, &V);
    perp_model_momentum(x->model, q, v, P, L);
    if (!begun) {
      first = T + V;
      memcpy(P0, P, sizeof P);
      memcpy(L0, L, sizeof L);
    }
    *energy = fmax(*energy, fabs(T + V - first));
    *momentum = fmax(*momentum, fmax(farthest(3, P, P0), farthest(3, L, L0)));
    if (t >= 0.25 - 1e-9) break;
    good = perp_sim_step(&ctx, sim, 0.25, &info) == PERP_OK && info.reason >= 0;
  }
  perp_sim_destroy(sim);
  perp_parts_free(&parts);
  return good;
}

static void check_simulation(const element *like)
{
  element x = *like;
  double energy[2], momentum[2];
  if (build(&x, false, 1) != PERP_OK) bail("%s", ctx.msg);
  const unsigned caps = promises(&x);
  const bool good = simulated(&x, 1.0 / 256, &energy[0], &momentum[0]) &&
                    simulated(&x, 1.0 / 512, &energy[1], &momentum[1]);
  ok(good, "%s: a simulation comes to its end", x.name);
  if (good && caps & PERP_FORCE_CONSERVATIVE)
    ok(energy[1] < 1e-9 || energy[0] > 10 * energy[1],
       "%s: energy is kept in a simulation at the order of the method, 4: %.2g, %.2g J", x.name,
       energy[0], energy[1]);
  if (good && caps & PERP_FORCE_INTERNAL && !x.world)
    ok(momentum[1] < 1e-9 || momentum[0] > 10 * momentum[1],
       "%s: momenta are kept in a simulation: %.2g, %.2g", x.name, momentum[0], momentum[1]);
  element_end(&x);
}

/* Differences of the force, of order 2. */
static double gradient_error(const element *x, const double *q, const double *v, double h,
                             const double *dq, const double *dv, int N)
{
  double worst = 0;
  for (int k = 0; k < 2 * N; k++) {
    double q1[NQ], v1[NV], f[2][NV], d[NV];
    for (int side = 0; side < 2; side++) {
      double step[NV] = { 0 };
      memcpy(v1, v, (size_t)x->nv * sizeof *v);
      step[k % N] = (side == 0 ? -1 : 1) * (k < N ? h : 0);
      if (k >= N) v1[k % N] += side == 0 ? -h : h;
      perp_model_retract(x->model, q, step, q1);
      force_at(x, 0.1, q1, v1, f[side]);
    }
    for (int i = 0; i < N; i++) d[i] = (f[1][i] - f[0][i]) / (2 * h);
    worst = fmax(worst, farthest(N, d, (k < N ? dq : dv) + (size_t)(k % N) * (size_t)N));
  }
  return worst;
}

static void check_gradient(const element *x)
{
  if (desc_of(x)->own != 0) return; /* the formulations that are implicit have that of their own */
  int body[MOST_BODIES];
  double *dq = calloc(2 * NV * NV, sizeof *dq), *dv = dq + NV * NV, q[NQ], v[NV];
  double coarse = 0, fine = 0, size = 0;
  int n = 0;
  for (int k = 0; k < 3; k++) {
    element_state(x, 0.2, q, v);
    n = perp_model_force_gradient(x->model, 0, 0.1, q, v, body, dq, dv);
    coarse = fmax(coarse, gradient_error(x, q, v, 2e-3, dq, dv, x->nv));
    fine = fmax(fine, gradient_error(x, q, v, 1e-3, dq, dv, x->nv));
    size = fmax(size, fmax(largest(x->nv * x->nv, dq), largest(x->nv * x->nv, dv)));
  }
  ok(n == perp_model_bodies(x->model), "%s: its gradient is that of its bodies", x->name);
  ok(fine < 1e-7 * (1 + size) || (coarse > 3 * fine && fine < 1e-2 * (1 + size)),
     "%s: %s is the derivative of the force: differences of order 2 are off by %.2g, %.2g of %.2g",
     x->name, desc_of(x)->gradient != NULL ? "its gradient" : "what stands for its gradient",
     coarse, fine, size);
  free(dq);
}

static void check_centres(const element *x)
{
  if (!(promises(x) & PERP_FORCE_AT_CENTRES)) return;
  double q[NQ], q1[NQ], v[NV], f[NV], f1[NV], dq[NV] = { 0 }, torque = 0;
  const int per = x->dim == 3 ? 6 : 3;
  element_state(x, 0.2, q, v);
  for (int i = 0; i < x->nv; i++)
    if (i % per >= x->dim) dq[i] = perp_rng_uniform(rng, -1, 1);
  perp_model_retract(x->model, q, dq, q1);
  force_at(x, 0, q, v, f);
  force_at(x, 0, q1, v, f1);
  for (int i = 0; i < x->nv; i++)
    if (i % per >= x->dim) torque = fmax(torque, fabs(f[i]));
  below(fmax(torque, farthest(x->nv, f, f1)), 1e-13 * (1 + largest(x->nv, f)),
        "%s: acts at centres: no torque, no orientation is read", x->name);
}

/* ---- what no plug-in may do ---- */

static void check_calls(const element *x)
{
  const perp_force_desc *d = desc_of(x);
  double q[NQ], v[NV], f[NV], f1[NV], f2[NV], V[2];
  bool finite = true;
  for (int k = 0; k < 3; k++) {
    element_state(x, 0.3, q, v);
    force_at(x, 0.3, q, v, f);
    V[0] = potential(x, 0.3, q);
    finite = finite && watch_finite(x->nv, f) && isfinite(V[0]);
  }
  ok(finite, "%s: forces and energy are finite", x->name);
  element_state(x, 0.3, q, v);
  force_at(x, 0.3, q, v, f);
  V[0] = potential(x, 0.3, q);
  double q1[NQ], v1[NV];
  element_state(x, 0.3, q1, v1);
  force_at(x, 0.8, q1, v1, f1);
  force_at(x, 0.3, q, v, f2);
  V[1] = potential(x, 0.3, q);
  ok(memcmp(f, f2, (size_t)x->nv * sizeof *f) == 0 && memcmp(V, V + 1, sizeof *V) == 0,
     "%s: the same state gives identical bits", x->name);
  const long before = count_malloc;
  watch_begin();
  force_at(x, 0.3, q, v, f2);
  V[1] = potential(x, 0.3, q);
  watch_end();
  if (COUNTS_MALLOC)
    ok(count_malloc == before, "%s: allocates nothing", x->name);
  else
    skip("not counted", "%s: allocates nothing", x->name);
  if (d->own != 0) return;
  static walled wall;
  perp_body_state body[MOST_BODIES];
  perp_eval e = x->model->eval;
  perp_eval_poses(&e, x->model, 0.3, q);
  perp_element_states(x->model, &e, v, x->n, x->body, body);
  wall_set(&wall, 6 * x->n, 0);
  const perp_force_def *def = perp_model_force_element(x->model, 0);
  const uint64_t read = watch_hash(watch_hash(1, def->opts, d->d.opts_size), body,
                                   sizeof *body * (size_t)x->n);
  watch_begin();
  d->force(def->opts, x->dim, x->n, body, 0.3, wall.x);
  if (d->energy != NULL) d->energy(def->opts, x->dim, x->n, body, 0.3);
  watch_end();
  ok(wall_stands(&wall), "%s: writes nothing beside its forces", x->name);
  ok(watch_hash(watch_hash(1, def->opts, d->d.opts_size), body, sizeof *body * (size_t)x->n) ==
         read,
     "%s: only reads options and states", x->name);
}

static void life(void *user)
{
  element x = *(const element *)user;
  double q[NQ], v[NV], f[NV];
  if (build(&x, false, 1) == PERP_OK) {
    element_state(&x, 0.1, q, v);
    force_at(&x, 0, q, v, f);
  }
  element_end(&x);
}

static void check_one(const perp_desc *d, const char *options, int dim, int n, bool world)
{
  element x = { .d = d, .options = options, .dim = dim, .n = n, .world = world };
  element_name(&x);
  const perp_status status = build(&x, true, 0);
  if (status != PERP_OK && world) { /* not every force takes the world */
    element_end(&x);
    return;
  }
  if (!ok(status == PERP_OK, "%s: is added to a model", x.name)) {
    printf("# %s\n", ctx.msg);
    element_end(&x);
    return;
  }
  check_calls(&x);
  check_reads(&x);
  check_internal(&x);
  check_work(&x);
  check_gradient(&x);
  check_centres(&x);
  element_end(&x);
  if (!world) check_simulation(&x);
  watch_begin();
  life(&x);
  watch_end();
  watch_memory(x.name, life, &x);
}

static void check_with(const perp_desc *d, const char *options)
{
  const perp_force_desc *force = (const perp_force_desc *)(const void *)d;
  const int least = force->bodies_min, more = force->bodies_max > least ? least + 1 : least;
  for (int dim = 2; dim <= 3; dim++) {
    if (!(d->caps & (dim == 3 ? PERP_FORCE_IN_SPACE : PERP_FORCE_IN_PLANE))) continue;
    for (int n = least; n <= more; n++) {
      check_one(d, options, dim, n, false);
      if (n > 1) check_one(d, options, dim, n, true);
    }
  }
}

static void check(const perp_desc *d)
{
  const perp_force_desc *force = (const perp_force_desc *)(const void *)d;
  element_description(PERP_KIND_force, d);
  ok(force->bodies_min >= 1 && force->bodies_max >= force->bodies_min &&
         (force->own != 0 || force->bodies_max <= PERP_ELEMENT_BODIES),
     "%s: says how many bodies it takes", d->name);
  perp_force_def def;
  int body[1] = { 0 };
  ok(perp_force_define(&ctx, force, NULL, force->bodies_min - 1, body, &def) == PERP_ERR_ARG,
     "%s: one body less is refused", d->name);
  bool known = false;
  for (size_t i = 0; i < sizeof asked / sizeof *asked && force->own != 0; i++) {
    if (strcmp(asked[i].name, d->name) != 0) continue;
    known = true;
    check_with(d, asked[i].options);
  }
  if (force->own == 0) check_with(d, "");
  ok(known || force->own == 0, "%s: is asked here", d->name);
  watch_silent(d->name);
}

int main(void)
{
  perp_ctx_init(&ctx);
  rng = perp_rng_create(20260501);
  if (perp_register_models(&ctx) != PERP_OK || rng == NULL) bail("%s", ctx.msg);
  register_under_test(&ctx);
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_force, i)) != NULL; i++)
    if (under_test(d)) check(d);
  perp_rng_destroy(rng);
  return tap_done();
}
