/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Incremental potential contact: derivatives of its distances against differences, closed forms of
 * what rests, slides, sticks and strikes, distances after each step by perp's own collision
 * detection, the order of free flight and joints, and another formulation on a stack. */
#include "experiments/scenes/scene_file.h"
#include "models/collision/collision.h"
#include "models/formulations/schemes/ipc_touch.h"
#include "models/geometry/shapes_private.h"
#include "tests/run_model.h"

static perp_ctx ctx;
static const double G = 9.81;

static uint64_t seed = 1;
static double uniform(double lo, double hi)
{
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return lo + (hi - lo) * (double)(seed >> 11) / 9007199254740992.0;
}

/* ---- derivatives ---- */

static const double TETRAHEDRON[] = { 0.3, 0, 0, -0.1, 0.25, 0, -0.1, -0.2, 0.1, 0, 0, 0.35 };

static perp_shape_def shape_of(perp_shape_kind kind, int body, double size)
{
  perp_shape_def def = { .kind = kind,
                         .body = body,
                         .radius = size,
                         .length = 2 * size,
                         .half = { size, 0.8 * size, 0.6 * size } };
  if (kind == PERP_SHAPE_POLYTOPE) def.vertices = TETRAHEDRON, def.n_vertices = 4;
  return def;
}

static perp_model *pair_of(int dim, perp_shape_kind a, perp_shape_kind b)
{
  perp_model *m = run_model(&ctx, dim);
  const bool plane = a == PERP_SHAPE_PLANE;
  for (int i = plane ? 1 : 0; i < 2; i++)
    run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, 1, 1, 1), .x = { 3.0 * i } });
  const perp_shape_def first = shape_of(a, plane ? PERP_WORLD : 0, 0.3),
                       second = shape_of(b, plane ? 0 : 1, 0.25);
  run_shape(&ctx, m, first);
  run_shape(&ctx, m, second);
  return run_finish(&ctx, m);
}

enum { TOUCHES = 400, DOFS = PERP_IPC_DOFS };
typedef struct found {
  perp_ipc_touch touch[TOUCHES];
  int n;
} found;

static void keep(void *user, const perp_ipc_touch *touch)
{
  found *f = user;
  if (f->n < TOUCHES) f->touch[f->n++] = *touch;
}

static void moved(const perp_pose in[2], int dof, double by, perp_pose out[2])
{
  out[0] = in[0], out[1] = in[1];
  perp_pose *pose = &out[dof / 6];
  const int k = dof % 6;
  if (k < 3) {
    pose->x[k] += by;
    return;
  }
  double q[4], turn[3] = { 0 };
  perp_matrix_quat(pose->R, q);
  turn[k - 3] = by;
  perp_quat_retract(q, turn, q);
  perp_quat_matrix(q, pose->R);
}

static const perp_ipc_touch *same(const found *f, const perp_ipc_touch *like)
{
  for (int i = 0; i < f->n; i++)
    if (f->touch[i].feature == like->feature && f->touch[i].slides == like->slides)
      return &f->touch[i];
  return NULL;
}

/* Largest errors of g, m and H over random poses of a pair; their number. */
static int differences(const perp_model *m, perp_shape_kind a, double off[4])
{
  static found f, up, down;
  const double step = 1e-6, reach = 0.2;
  int count = 0;
  off[0] = off[1] = off[2] = off[3] = 0;
  for (int trial = 0; trial < 60; trial++) {
    perp_pose pose[2];
    double n[3];
    for (int i = 0; i < 2; i++) {
      double q[7] = { 0, 0, 0, uniform(-1, 1), uniform(-1, 1), uniform(-1, 1), uniform(-1, 1) };
      for (int k = 0; k < 3 && i == 1; k++) q[k] = uniform(-1, 1);
      if (m->dim == 2) q[2] = uniform(-3, 3);
      if (i == 1 && trial % 3 == 0 && m->dim == 3) { /* nearly parallel edges */
        perp_matrix_quat(pose[0].R, q + 3);
        for (int k = 3; k < 7; k++) q[k] += uniform(-0.01, 0.01);
      }
      if (i == 0 && a == PERP_SHAPE_PLANE) memset(q, 0, sizeof q), q[3] = 1;
      perp_pose flat;
      perp_pose_of(m->dim, q, &flat);
      perp_lift(m->dim, &flat, &pose[i]);
    }
    perp_pose low[2] = { pose[0], pose[1] };
    if (m->dim == 2)
      for (int i = 0; i < 2; i++) low[i].R[2] = pose[i].R[3], low[i].R[3] = pose[i].R[4];
    const double d = perp_shape_distance(m, 0, &low[0], 1, &low[1], NULL, NULL, n);
    if (!(d > 0.01) || d > reach) continue;
    f.n = 0;
    ok(perp_ipc_touches(m, 0, &pose[0], 1, &pose[1], n, reach, keep, &f),
       "apart as the distance says");
    double least = HUGE_VAL;
    for (int i = 0; i < f.n; i++) least = fmin(least, f.touch[i].d);
    near(least, d, 1e-9, 1e-3, "the least distance of features is that of the shapes");
    for (int i = 0; i < f.n; i++) {
      const perp_ipc_touch *t = &f.touch[i];
      double g[DOFS], w[DOFS] = { 0 }, H[DOFS * DOFS], gu[DOFS], gd[DOFS], wu[DOFS] = { 0 },
                      wd[DOFS] = { 0 }, W[DOFS * DOFS] = { 0 }, none[DOFS * DOFS];
      perp_ipc_gradient(t, pose, g);
      if (t->w < 1) perp_ipc_mollifier(t, pose, w, W);
      perp_ipc_hessian(t, pose, H);
      if (t->slides == 2 && t->w < 0.01) continue; /* nearly parallel: huge derivatives */
      for (int k = 0; k < DOFS; k++) {
        if (m->dim == 2 && (k % 6 == 2 || k % 6 == 3 || k % 6 == 4)) continue;
        if (a == PERP_SHAPE_PLANE && k < 6) continue;
        perp_pose pu[2], pd[2];
        moved(pose, k, step, pu);
        moved(pose, k, -step, pd);
        up.n = down.n = 0;
        perp_ipc_touches(m, 0, &pu[0], 1, &pu[1], n, reach, keep, &up);
        perp_ipc_touches(m, 0, &pd[0], 1, &pd[1], n, reach, keep, &down);
        const perp_ipc_touch *u = same(&up, t), *l = same(&down, t);
        if (u == NULL || l == NULL) continue;
        off[0] = fmax(off[0], fabs((u->d - l->d) / (2 * step) - g[k]));
        off[1] = fmax(off[1], fabs((u->w - l->w) / (2 * step) - w[k]) / (1 + fabs(w[k])));
        perp_ipc_gradient(u, pu, gu);
        perp_ipc_gradient(l, pd, gd);
        if (u->w < 1) perp_ipc_mollifier(u, pu, wu, none);
        if (l->w < 1) perp_ipc_mollifier(l, pd, wd, none);
        const bool edges = t->w < 1 && u->w < 1 && l->w < 1;
        for (int j = 0; j < DOFS; j++) {
          if (m->dim == 2 && (j % 6 == 2 || j % 6 == 3 || j % 6 == 4)) continue;
          if (a == PERP_SHAPE_PLANE && j < 6) continue;
          /* the frame of a turned body turns on: half of the commutator */
          double want = (gu[j] - gd[j]) / (2 * step), second = (wu[j] - wd[j]) / (2 * step);
          if (j / 6 == k / 6 && j % 6 >= 3 && k % 6 >= 3 && j != k) {
            const int rest = 6 * (j / 6) + 3 + (3 - (j % 6 - 3) - (k % 6 - 3));
            const double sign = (k - j + 3) % 3 == 1 ? 0.5 : -0.5; /* e_j x e_k = +- e_rest */
            want += sign * g[rest];
            second += sign * w[rest];
          }
          if (edges) off[3] = fmax(off[3], fabs(second - W[j + DOFS * k]) / (1 + fabs(second)));
          off[2] = fmax(off[2], fabs(want - H[j + DOFS * k]) / (1 + fabs(want)));
        }
        count++;
      }
    }
  }
  return count;
}

static void derivatives(void)
{
  static const perp_shape_kind kinds[] = { PERP_SHAPE_PLANE, PERP_SHAPE_SPHERE, PERP_SHAPE_CAPSULE,
                                           PERP_SHAPE_BOX, PERP_SHAPE_POLYTOPE };
  static const char *const names[] = { "plane", "sphere", "capsule", "box", "polytope" };
  for (int dim = 2; dim <= 3; dim++)
    for (int i = 0; i < 5; i++)
      for (int j = i > 1 ? i : 1; j < (dim == 2 ? 4 : 5); j++) {
        if (dim == 2 && i == 4) continue;
        perp_model *m = pair_of(dim, kinds[i], kinds[j]);
        double off[4];
        const int n = differences(m, kinds[i], off);
        ok(n > 5 && off[0] < 1e-7 && off[1] < 1e-5 && off[2] < 1e-4 && off[3] < 1e-4,
           "%d D, %s and %s: first and second derivatives within %.2g, %.2g, of the mollifier "
           "%.2g, %.2g of %d differences",
           dim, names[i], names[j], off[0], off[2], off[1], off[3], n);
        perp_model_destroy(m);
      }
}

/* ---- one body on a plane ---- */

/* d with n K |b'(d)| = m g h^2, K = m. */
static double rest_gap(int n, double dhat, double h)
{
  double lo = 1e-12, hi = dhat;
  for (int i = 0; i < 200; i++) {
    const double mid = 0.5 * (lo + hi);
    if (n * (2 * (mid - dhat) * log(mid / dhat) + (mid - dhat) * (mid - dhat) / mid) > G * h * h)
      lo = mid;
    else
      hi = mid;
  }
  return lo;
}

static perp_model *on_plane(int dim, perp_shape_def shape, double height, double mu)
{
  perp_model *m = run_model(&ctx, dim);
  perp_body_def body = { .mass = perp_mass_box(2, 0.4, 0.4, 0.4) };
  body.x[dim - 1] = height;
  run_body(&ctx, m, body);
  const perp_shape_def plane = { .kind = PERP_SHAPE_PLANE,
                                 .body = PERP_WORLD,
                                 .surface = { .mu = mu, .mu_dynamic = (double)NAN } };
  shape.surface = plane.surface;
  perp_model_gravity(m, G);
  run_shape(&ctx, m, plane);
  run_shape(&ctx, m, shape);
  return run_finish(&ctx, m);
}

static void rests(int dim, perp_shape_kind kind, int points, double half)
{
  const double h = 0.01, dhat = 2e-3;
  perp_shape_def shape = {
    .kind = kind, .radius = half, .length = 0.3, .half = { half, half, half }
  };
  perp_model *m = on_plane(dim, shape, half + 1.5e-3, 0.5);
  perp_sim *sim = run_start(&ctx, m, (run_parts){ "ipc:dhat=2e-3,tol=1e-11" }, h);
  perp_step_info info;
  const double *q, *v;
  double t = 0, least = HUGE_VAL, force = 0;
  while (t < 4) {
    if (perp_sim_step(&ctx, sim, 4, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    if (info.reason < 0) break;
    least = fmin(least, q[dim - 1] - half);
  }
  for (int i = 0; i < info.n_contacts; i++) force += info.impulse[3 * i + dim - 1] / h;
  const double gap = q[dim - 1] - half, want = rest_gap(points, dhat, h);
  ok(info.n_contacts == points && least > 0 && gap < dhat,
     "%d D: %d contacts, gap %.4g in (0, dhat)", dim, info.n_contacts, gap);
  near(gap, want, 1e-9, 0, "%d D: the gap is that at which %d barriers carry m g", dim, points);
  near(force, 2 * G, 0, 1e-7, "%d D: the contact forces are m g", dim);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* Dropped from 0.5 m: no restitution where h u is large beside dhat, and never below the plane. */
static void falls(void)
{
  const perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE, .radius = 0.2 };
  perp_model *m = on_plane(3, ball, 0.7, 0);
  perp_sim *sim = run_start(&ctx, m, (run_parts){ "ipc:dhat=1e-3" }, 0.01);
  double t = 0, least = HUGE_VAL, back = 0;
  bool struck = false;
  while (t < 1) {
    perp_step_info info;
    const double *q, *v;
    if (perp_sim_step(&ctx, sim, 1, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    if (info.reason < 0) break;
    struck = struck || info.n_contacts > 0;
    least = fmin(least, q[2] - 0.2);
    if (struck) back = fmax(back, v[2]);
  }
  ok(t >= 1 && struck && least > 0,
     "a ball that falls stays above the plane: least distance %.3g m", least);
  below(back, 0.03 * sqrt(2 * G * 0.5),
        "a ball that strikes at 3.1 m/s does not come back: %.3g m/s", back);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* ---- friction ---- */

/* The speed down the slope at the end of 1 s. */
static double slope_speed(const char *scene, const char *formulation, double h)
{
  perp_scene s = run_open(&ctx, scene);
  double q[7], v[6];
  const perp_reason reason = run_fresh(&ctx, s.model, (run_parts){ formulation }, h, 1, q, v);
  perp_scene_destroy(&s);
  return reason < 0 ? (double)NAN : sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static void friction(void)
{
  double off[3];
  for (int i = 0; i < 3; i++)
    off[i] = fabs(slope_speed("incline:theta=30deg,mu=0.3", "ipc:inset=1", 8e-3 / (1 << (2 * i))) -
                  G * (sin(M_PI / 6) - 0.3 * cos(M_PI / 6)));
  ok(off[1] < 0.3 * off[0] && off[2] < 0.3 * off[1] && off[2] < 2e-3,
     "a box slides with g (sin - mu cos): off by %.2g, %.2g, %.2g m/s at 8, 2, 0.5 ms", off[0],
     off[1], off[2]);
  static const double eps[2] = { 1e-3, 1e-5 };
  for (int i = 0; i < 2; i++) {
    char text[64];
    snprintf(text, sizeof text, "ipc:inset=1,tol=1e-10,eps_v=%g", eps[i]);
    /* mu f'(u) = tan theta */
    const double want = eps[i] * (1 - sqrt(1 - tan(M_PI / 9) / 0.5));
    near(slope_speed("incline:theta=20deg,mu=0.5", text, 4e-3), want, 0, 1e-4,
         "a box that sticks slides as f' says, below eps_v = %g m/s", eps[i]);
  }
}

/* ---- no contact is ever passed ---- */

/* The least distance of all shapes after each step, by perp_collision_deepest. */
static double least_distance(perp_model *m, const char *formulation, double h, double t_end,
                             perp_reason *reason)
{
  perp_sim *sim = run_start(&ctx, m, (run_parts){ formulation }, h);
  perp_collision *collision;
  perp_pose pose[64];
  double t = 0, least = HUGE_VAL;
  if (perp_collision_create(&ctx, m, 0.1, &collision) != PERP_OK) bail("%s", ctx.msg);
  perp_pose_or_world(m->dim, NULL, &pose[0]);
  *reason = PERP_EXACT;
  while (t < t_end && *reason >= 0) {
    perp_step_info info;
    const double *q, *v;
    if (perp_sim_step(&ctx, sim, t_end, &info) != PERP_OK) bail("%s", ctx.msg);
    *reason = info.reason;
    perp_sim_state(sim, &t, &q, &v);
    for (int b = 0; b < m->n_bodies; b++) perp_pose_of(m->dim, q + m->nqb * b, &pose[b + 1]);
    least = fmin(least, perp_collision_deepest(&ctx, collision, pose + 1));
  }
  perp_collision_destroy(collision);
  perp_sim_destroy(sim);
  return least;
}

/* Balls, capsules, boxes and tetrahedra, thrown at each other and at a floor. */
static perp_model *heap(int dim, int n, double speed)
{
  static const perp_shape_kind kinds[] = { PERP_SHAPE_BOX, PERP_SHAPE_SPHERE, PERP_SHAPE_CAPSULE,
                                           PERP_SHAPE_POLYTOPE };
  const perp_surface surface = { .mu = 0.4, .mu_dynamic = 0.4 };
  perp_model *m = run_model(&ctx, dim);
  perp_model_gravity(m, G);
  for (int i = 0; i < n; i++) {
    perp_body_def body = { .mass = perp_mass_sphere(1, 0.3) };
    body.x[0] = 1.2 * (i % 2) + 0.05 * i;
    body.x[dim - 1] = 0.8 + 1.1 * (i / 2);
    body.v[dim - 1] = -speed;
    body.v[0] = i % 2 == 0 ? speed : -speed;
    for (int k = 0; k < 3; k++) body.w[k] = uniform(-3, 3);
    perp_shape_def shape = shape_of(kinds[i % (dim == 2 ? 3 : 4)], run_body(&ctx, m, body), 0.25);
    shape.surface = surface;
    run_shape(&ctx, m, shape);
  }
  perp_shape_def floor = shape_of(PERP_SHAPE_PLANE, PERP_WORLD, 0);
  floor.surface = surface;
  run_shape(&ctx, m, floor);
  return run_finish(&ctx, m);
}

static void apart(void)
{
  perp_reason reason = PERP_EXACT;
  for (int dim = 2; dim <= 3; dim++)
    for (int fast = 0; fast < 2; fast++) {
      double least = HUGE_VAL;
      for (int i = 0; i < 2 && reason > 0; i++) {
        perp_model *m = heap(dim, 12, fast ? 15 : 4);
        least = fmin(least, least_distance(m, "ipc", fast ? 0.02 : 0.01, 1, &reason));
        perp_model_destroy(m);
      }
      ok(reason > 0 && least > 0, "%d D: twelve shapes at %d m/s stay apart in heaps: %.3g m (%s)",
         dim, fast ? 15 : 4, least, perp_reason_name(reason));
    }
  /* a ball through a plate of 10 mm within a step */
  perp_model *m = run_model(&ctx, 3);
  run_body(&ctx, m,
           (perp_body_def){
               .mass = perp_mass_sphere(1, 0.05), .x = { 0, 0, 1.2 }, .v = { 0, 0, -200 } });
  const perp_shape_def plate = { .kind = PERP_SHAPE_BOX,
                                 .body = PERP_WORLD,
                                 .half = { 1, 1, 0.005 } },
                       ball = { .kind = PERP_SHAPE_SPHERE, .radius = 0.05 };
  run_shape(&ctx, m, plate);
  run_shape(&ctx, m, ball);
  run_finish(&ctx, m);
  double q[7];
  const double least = least_distance(m, "ipc", 0.01, 0.1, &reason);
  run_fresh(&ctx, m, (run_parts){ "ipc" }, 0.01, 0.1, q, NULL);
  ok(reason > 0 && least > 0 && q[2] > 0,
     "a ball of 200 m/s does not pass a plate of 10 mm: %.3g m", least);
  perp_model_destroy(m);
}

/* ---- order, momentum, forces of joints ---- */

static double scene_error(const char *text, double h, double t_end)
{
  perp_scene s = run_open(&ctx, text);
  perp_sim *sim = run_start(&ctx, s.model, (run_parts){ "ipc" }, h);
  double want[64], rate[64], t = 0, off = 0;
  const double *q, *v;
  if (run_to(&ctx, sim, t_end) < 0) return HUGE_VAL;
  perp_sim_state(sim, &t, &q, &v);
  if (s.truth[0].state(s.truth[0].user, &ctx, t, want, rate) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < perp_model_nq(s.model); i++) off = fmax(off, fabs(q[i] - want[i]));
  perp_sim_destroy(sim);
  perp_scene_destroy(&s);
  return off;
}

static void orders(void)
{
  static const char *const scenes[] = { "projectile", "pendulum", "chain:links=3,dim=3",
                                        "four-bar" };
  for (int i = 0; i < 4; i++) {
    double off[3];
    for (int k = 0; k < 3; k++) off[k] = scene_error(scenes[i], 1e-3 / (1 << k), 0.3);
    ok(off[0] / off[1] > 1.8 && off[1] / off[2] > 1.8 && off[0] / off[2] < 4.6,
       "order 1 on %s: %.3g, %.3g, %.3g", scenes[i], off[0], off[1], off[2]);
  }
}

/* Three links in space, one of them struck by a ball: nothing from outside acts. */
static void momentum(void)
{
  perp_model *m = run_model(&ctx, 3);
  perp_model_gravity(m, 0);
  for (int i = 0; i < 3; i++)
    run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, 0.5, 0.1, 0.1), .x = { 0.6 * i } });
  run_body(&ctx, m,
           (perp_body_def){
               .mass = perp_mass_sphere(2, 0.2), .x = { 0.1, 0.03, 1 }, .v = { 0.2, 0, -5 } });
  for (int i = 0; i < 2; i++)
    run_joint(&ctx, m,
              (perp_joint_def){ .kind = PERP_JOINT_BALL,
                                .a = i,
                                .b = i + 1,
                                .anchor_a = { 0.3 },
                                .anchor_b = { -0.3 } });
  for (int i = 0; i < 4; i++) {
    const perp_shape_def shape = { .kind = i < 3 ? PERP_SHAPE_BOX : PERP_SHAPE_SPHERE,
                                   .body = i,
                                   .radius = 0.2,
                                   .half = { 0.25, 0.05, 0.05 },
                                   .surface = { .mu = 0.5, .mu_dynamic = 0.5 } };
    run_shape(&ctx, m, shape);
  }
  run_finish(&ctx, m);
  double q[28], v[24], P[3] = { 0 };
  const perp_reason reason = run_fresh(&ctx, m, (run_parts){ "ipc:tol=1e-10" }, 2e-3, 0.4, q, v);
  for (int k = 0; k < 3; k++) P[k] = v[k] + v[6 + k] + v[12 + k] + 2 * v[18 + k];
  ok(reason > 0 && fabs(v[20] + 5) > 1 && hypot(hypot(P[0] - 0.4, P[1]), P[2] + 10) < 1e-7,
     "joints and a contact keep linear momentum: off by %.2g of 10",
     hypot(hypot(P[0] - 0.4, P[1]), P[2] + 10));
  perp_model_destroy(m);
}

static void joint_force(void)
{
  perp_model *m = run_model(&ctx, 3);
  perp_model_gravity(m, G);
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_sphere(3, 0.1), .x = { 0, 0, -1 } });
  run_joint(&ctx, m,
            (perp_joint_def){
                .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = 0, .anchor_b = { 0, 0, 1 } });
  /* the same joint once more: redundant rows */
  run_joint(&ctx, m,
            (perp_joint_def){
                .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = 0, .anchor_b = { 0, 0, 1 } });
  run_finish(&ctx, m);
  perp_sim *sim = run_start(&ctx, m, (run_parts){ "ipc" }, 1e-3);
  perp_step_info info;
  for (int i = 0; i < 20; i++)
    if (perp_sim_step(&ctx, sim, 1, &info) != PERP_OK) bail("%s", ctx.msg);
  ok(info.reason > 0, "redundant joints are served: %s", perp_reason_name(info.reason));
  near(fabs(info.lambda[2] + info.lambda[5]), 3 * G, 0, 1e-7,
       "a weight hangs on its joints with m g");
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* ---- beside the velocity level ---- */

/* Vertical forces between neighbours of a stack of three boxes at rest. */
static void stack_forces(const char *formulation, double h, double force[3], double *top)
{
  perp_scene s = run_open(&ctx, "stack:boxes=3");
  perp_sim *sim = run_start(&ctx, s.model, (run_parts){ formulation }, h);
  perp_step_info info = { .reason = PERP_EXACT };
  const double *q, *v;
  const int z = perp_model_dim(s.model) - 1;
  double off = 0, t = force[0] = force[1] = force[2] = 0;
  while (t < 2 && info.reason >= 0) {
    if (perp_sim_step(&ctx, sim, 2, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
  }
  for (int i = 0; i < info.n_contacts && info.reason >= 0; i++) {
    const int upper = info.contacts[i].body[1] > info.contacts[i].body[0]
                          ? info.contacts[i].body[1]
                          : info.contacts[i].body[0];
    const double sign = info.contacts[i].body[1] == upper ? 1 : -1;
    force[upper] += sign * info.impulse[3 * i + z] / h;
    for (int side = 0; side < 2; side++) {
      const int b = info.contacts[i].body[side];
      const double at = info.contacts[i].p[side][z];
      off = fmax(off,
                 b < 0 ? fabs(at) : fabs(fabs(at - q[perp_model_nq(s.model) / 3 * b + z]) - 0.5));
    }
  }
  below(off, 1e-6, "%s: points of contacts lie on the shapes", formulation);
  *top = q[perp_model_nq(s.model) / 3 * 2 + z];
  perp_sim_destroy(sim);
  perp_scene_destroy(&s);
}

static void stacks(void)
{
  double ours[3], theirs[3], top[2];
  stack_forces("ipc:inset=1", 4e-3, ours, &top[0]);
  stack_forces("velocity", 4e-3, theirs, &top[1]);
  for (int i = 0; i < 3; i++)
    near(ours[i], theirs[i], 0, 1e-3, "stack: the force under box %d is that of the velocity level",
         i);
  /* the model is of 3 m: dhat 3 mm */
  ok(top[0] < top[1] && top[0] > top[1] - 3 * 3.1e-3,
     "stack: the top is lower by %.2g m, less than dhat a contact", top[1] - top[0]);
}

/* ---- what it refuses, and how it fails ---- */

static void refusals(void)
{
  const perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE, .radius = 0.2 };
  perp_shape_def shape = ball;
  perp_model *m = on_plane(3, ball, 0.2, 0);
  run_refused(&ctx, m, (run_parts){ "ipc" }, "inset=1");
  perp_model_destroy(m);
  m = on_plane(3, ball, 0.3, 0);
  run_refused(&ctx, m, (run_parts){ "ipc:inset=1e6" }, "leave nothing");
  perp_model_destroy(m);
  shape = (perp_shape_def){ .kind = PERP_SHAPE_CYLINDER, .radius = 0.2, .length = 0.2 };
  m = on_plane(3, shape, 0.4, 0);
  run_refused(&ctx, m, (run_parts){ "ipc" }, "vertices, edges and faces");
  perp_model_destroy(m);
  static const struct {
    const char *scene, *word;
  } others[] = { { "bouncing-ball", "restitution" },
                 { "motor", "limits and motors" },
                 { "anisotropic-slide", "anisotropic" },
                 { "gears", "polytope" } };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    perp_scene s = run_open(&ctx, others[i].scene);
    run_refused(&ctx, s.model, (run_parts){ "ipc:inset=1" }, others[i].word);
    perp_scene_destroy(&s);
  }
  m = run_model(&ctx, 3);
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_sphere(1, 0.2), .x = { 0, 0, 1 } });
  for (int i = 0; i < 2; i++) {
    shape = (perp_shape_def){ .kind = i == 0 ? PERP_SHAPE_PLANE : PERP_SHAPE_SPHERE,
                              .body = i - 1,
                              .radius = 0.2,
                              .surface = { .mu = 0.5, .mu_dynamic = 0.4 } };
    run_shape(&ctx, m, shape);
  }
  run_finish(&ctx, m);
  run_refused(&ctx, m, (run_parts){ "ipc" }, "mu_dynamic");
  perp_model_destroy(m);

  perp_scene s = run_open(&ctx, "chain:links=3,dim=3");
  perp_sim *sim = run_start(&ctx, s.model, (run_parts){ "ipc:max_iter=1" }, 1e-3);
  perp_step_info info;
  const double *q, *v;
  double t;
  if (perp_sim_step(&ctx, sim, 1, &info) != PERP_OK) bail("%s", ctx.msg);
  perp_sim_state(sim, &t, &q, &v);
  ok(info.reason == PERP_MAX_ITER && info.cause != NULL && strstr(info.cause, "max_iter") != NULL &&
         t == 0 &&
         memcmp(q, perp_model_q0(s.model), (size_t)perp_model_nq(s.model) * sizeof *q) == 0,
     "Newton's limit fails the step, and the state stays: %s", info.cause);
  perp_sim_destroy(sim);
  perp_scene_destroy(&s);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  derivatives();
  rests(2, PERP_SHAPE_BOX, 2, 0.2);
  rests(3, PERP_SHAPE_BOX, 4, 0.2);
  rests(3, PERP_SHAPE_SPHERE, 1, 0.2);
  rests(3, PERP_SHAPE_CAPSULE, 2, 0.2);
  falls();
  friction();
  apart();
  orders();
  momentum();
  joint_force();
  stacks();
  refusals();
  return tap_done();
}
