/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links that touch each other (Vondrak 2005, section 9.1.3: segments that can collide): the tree
 * starts without overlap, its links touch in the run, stay apart, hold, and make no energy.  Boxes
 * are judged by the separating axes of two boxes, computed here: 3 + 3 normals of faces and 9
 * products of edges (Gottschalk, Lin, Manocha 1996, OBBTree, section 5); the separation along the
 * best axis is minus the depth of boxes that overlap, and at most the distance of those that do
 * not. */
#include "models/geometry/kinematics.h"
#include "models/scenes/scene.h"
#include "tests/run_model.h"

#include <math.h>

static perp_ctx ctx;

typedef struct box {
  double x[3], axis[3][3], half[3];
} box;

static double dot(const double *a, const double *b)
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double along(const box *a, const box *b, const double n[3])
{
  double length = sqrt(dot(n, n)), d[3], reach = 0;
  if (length < 1e-9) return -HUGE_VAL; /* parallel edges: the normals of faces decide */
  for (int k = 0; k < 3; k++) {
    d[k] = b->x[k] - a->x[k];
    reach += a->half[k] * fabs(dot(a->axis[k], n)) + b->half[k] * fabs(dot(b->axis[k], n));
  }
  return (fabs(dot(d, n)) - reach) / length;
}

static double separation(const box *a, const box *b)
{
  double most = -HUGE_VAL;
  for (int i = 0; i < 3; i++) {
    most = fmax(most, fmax(along(a, b, a->axis[i]), along(a, b, b->axis[i])));
    for (int j = 0; j < 3; j++) {
      const double *u = a->axis[i], *v = b->axis[j];
      const double n[3] = { u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2],
                            u[0] * v[1] - u[1] * v[0] };
      most = fmax(most, along(a, b, n));
    }
  }
  return most;
}

/* The boxes of 25 mm from the middle of a link on, 5 mm thick; whole: the link, 20 mm thick. */
static box tree_box(const double *q, bool whole)
{
  perp_pose pose;
  perp_pose_of(3, q, &pose);
  box b = { .half = { whole ? 0.05 : 0.025, whole ? 0.01 : 0.0025, whole ? 0.01 : 0.0025 } };
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < 3; i++) b.axis[i][k] = pose.R[k + 3 * i];
    b.x[k] = pose.x[k] + (whole ? 0 : 0.025) * b.axis[0][k];
  }
  return b;
}

typedef struct nearest {
  double siblings, others; /* m, signed */
} nearest;

/* Over all pairs of links of a tree of n that no joint joins. */
static nearest tree_nearest(int n, const double *q, bool whole)
{
  static box b[127];
  nearest least = { HUGE_VAL, HUGE_VAL };
  for (int i = 0; i < n; i++) b[i] = tree_box(q + 7 * i, whole);
  for (int i = 1; i < n; i++) {
    for (int j = 0; j < i; j++) {
      if (j == (i - 1) / 2) continue;
      double d[3], far = 2 * sqrt(dot(b[i].half, b[i].half)) + 0.01;
      for (int k = 0; k < 3; k++) d[k] = b[i].x[k] - b[j].x[k];
      if (dot(d, d) > far * far) continue;
      double *x = j > 0 && (i - 1) / 2 == (j - 1) / 2 ? &least.siblings : &least.others;
      *x = fmin(*x, separation(&b[i], &b[j]));
    }
  }
  return least;
}

static void open_scene(const char *text, perp_scene *scene)
{
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, scene) != PERP_OK)
    bail("%s: %s", text, ctx.msg);
  perp_spec_free(&spec);
}

static void tree_starts(void)
{
  perp_scene s;
  open_scene("tree:collide=true", &s);
  const double *q = perp_model_q0(s.model);
  ok(perp_model_shapes(s.model) == 127, "tree: each of 127 links has a shape");
  bool as_here = true;
  for (int i = 0; i < perp_model_shapes(s.model); i++) {
    const perp_shape_def *d = perp_model_shape(s.model, i);
    as_here = as_here && d->kind == PERP_SHAPE_BOX && d->body == i && !d->collide_joined &&
              d->group == 0 && fabs(d->x[0] - 0.025) < 1e-15 && fabs(d->half[0] - 0.025) < 1e-15 &&
              fabs(d->half[1] - 0.0025) < 1e-15 && fabs(d->half[2] - 0.0025) < 1e-15;
  }
  ok(as_here, "tree: the outer half of the link, 5 mm thick, and siblings touch");
  const nearest inset = tree_nearest(127, q, false), whole = tree_nearest(127, q, true);
  ok(inset.siblings > 3.4e-3 && inset.siblings < 3.5e-3, "tree: siblings start %.2g mm apart",
     1e3 * inset.siblings);
  ok(inset.others > 0.01, "tree: others start more than 10 mm apart");
  ok(whole.siblings < -0.02 && whole.others > 0.01,
     "tree: whole links would overlap, by %.2g mm, siblings alone", -1e3 * whole.siblings);
  perp_scene_destroy(&s);
}

typedef struct run_seen {
  perp_reason reason;
  double depth, siblings, others, gain, range, drift; /* m, m, m, J, J, m */
} run_seen;

/* A run in steps of 1 ms, judged after each one. */
static run_seen tree_run(const char *scene, int n, const char *stab, double t_end)
{
  perp_scene s;
  open_scene(scene, &s);
  const bool collide = perp_model_shapes(s.model) > 0;
  run_parts parts = { "velocity", "symplectic-euler", "tree", stab, collide ? "auto" : "", "" };
  perp_sim *sim = run_start(&ctx, s.model, parts, 1e-3);
  run_seen r = { .siblings = HUGE_VAL, .others = HUGE_VAL, .depth = -HUGE_VAL };
  double t = 0, T, V, least = HUGE_VAL, first = 0;
  static double C[3 * 127];
  perp_step_info info = { .reason = PERP_EXACT };
  for (int step = 0; t < t_end - 1e-9 && info.reason >= 0; step++) {
    const double *q, *v;
    if (perp_sim_step(&ctx, sim, t_end, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    const nearest x = tree_nearest(n, q, false);
    r.depth = fmax(r.depth, -fmin(x.siblings, x.others));
    r.siblings = fmin(r.siblings, x.siblings);
    r.others = fmin(r.others, x.others);
    perp_model_energy(s.model, t, q, v, &T, &V);
    if (step == 0) first = T + V;
    least = fmin(least, T + V);
    r.gain = fmax(r.gain, T + V - least);
    r.range = fmax(r.range, first - (T + V));
    perp_model_error(s.model, t, q, C);
    for (int i = 0; i < perp_model_m(s.model); i++) r.drift = fmax(r.drift, fabs(C[i]));
  }
  r.reason = info.reason;
  perp_sim_destroy(sim);
  perp_scene_destroy(&s);
  return r;
}

static void tree_runs(void)
{
  static const struct {
    const char *scene, *free;
    int n;
    double t_end;
  } runs[] = { { "tree:collide=true", "tree:truth=none", 127, 0.35 },
               { "tree:collide=true,bodies=31", "tree:bodies=31,truth=none", 31, 2.5 } };
  for (int i = 0; i < 2; i++) {
    const char *scene = runs[i].scene;
    const run_seen r = tree_run(scene, runs[i].n, "", runs[i].t_end),
                   through = tree_run(runs[i].free, runs[i].n, "", runs[i].t_end),
                   plain = tree_run(scene, runs[i].n, "none", runs[i].t_end);
    printf("# %s: depth %.3g m, nearest %.3g m (siblings), %.3g m (others), joints %.3g m, energy "
           "gains %.3g of %.3g J; plain: "
           "gain %.3g J, depth "
           "%.3g m; without contacts: depth %.3g m\n",
           scene, r.depth, r.siblings, r.others, r.drift, r.gain, r.range, plain.gain, plain.depth,
           through.depth);
    ok(r.reason >= 0 && plain.reason >= 0, "%s: reaches its end", scene);
    ok(r.siblings < 1e-6 && r.others < 1e-6, "%s: links touch, siblings and others", scene);
    below(r.depth, 1e-6, "%s: links stay apart", scene);
    ok(through.depth > 1e-3, "%s: without contacts they go through each other", scene);
    below(r.drift, 1e-3, "%s: joints hold", scene);
    below(plain.gain, 1e-12, "%s: contacts and joints make no energy", scene);
    below(r.gain, 2e-3 * r.range, "%s: the correction makes less than 0.2 %% of what falls", scene);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  tree_starts();
  tree_runs();
  return tap_done();
}
