/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sweeps of si-baumgarte over contacts, against Gauss-Seidel written row by row from the formulas
 * of scheme.h: rows in the world with any tangents, every velocity changed at once.  Between the
 * two are rounding errors alone, as friction does not depend on the tangents.  Both orders of
 * pairs. */
#include "models/collision/collision.h"
#include "models/geometry/kinematics.h"
#include "tests/run_model.h"

static perp_ctx ctx;

enum { BODIES = 100, SWEEPS = 7, COLOURS = 64 };
static const double H = 0.01;

/* World velocity and M^-1 of the bodies; [0] is the world. */
typedef struct plain_body {
  double v[6], mass, I[9], R[9], x[3];
} plain_body;
static plain_body plain[BODIES + 1];

typedef struct plain_row {
  int body[2];
  double J[2][6], bias, p;
} plain_row;

static double plain_dot(const double a[6], const double b[6])
{
  return perp_dot(3, a, b) + perp_dot(3, a + 3, b + 3);
}

/* y = M^-1 J' of a side */
static void plain_weigh(const plain_row *row, int side, double y[6])
{
  const plain_body *b = &plain[row->body[side]];
  for (int i = 0; i < 6; i++) y[i] = 0;
  if (row->body[side] == 0) return;
  for (int i = 0; i < 3; i++) {
    y[i] = row->J[side][i] / b->mass;
    for (int k = 0; k < 3; k++) y[3 + i] += b->I[i + 3 * k] * row->J[side][3 + k];
  }
}

static double plain_between(const plain_row *x, const plain_row *y)
{
  double sum = 0, W[6];
  for (int side = 0; side < 2; side++) {
    plain_weigh(y, side, W);
    sum += plain_dot(x->J[side], W);
  }
  return sum;
}

static double plain_speed(const plain_row *row)
{
  return plain_dot(row->J[0], plain[row->body[0]].v) + plain_dot(row->J[1], plain[row->body[1]].v) +
         row->bias;
}

static void plain_set(plain_row *row, double p)
{
  double W[6];
  for (int side = 0; side < 2; side++) {
    plain_weigh(row, side, W);
    for (int i = 0; i < 6; i++) plain[row->body[side]].v[i] += W[i] * (p - row->p);
  }
  row->p = p;
}

static void plain_normal(plain_row *row)
{
  plain_set(row, fmax(0, row->p - plain_speed(row) / plain_between(row, row)));
}

static bool plain_friction(plain_row *x, plain_row *y, double bound)
{
  const double xx = plain_between(x, x), xy = plain_between(x, y), yy = plain_between(y, y),
               det = xx * yy - xy * xy, wx = plain_speed(x), wy = plain_speed(y);
  double p[2] = { x->p - (yy * wx - xy * wy) / det, y->p - (xx * wy - xy * wx) / det };
  const bool slides = hypot(p[0], p[1]) > bound;
  if (slides) {
    const double most = 0.5 * (xx + yy) + hypot(0.5 * (xx - yy), xy);
    p[0] = x->p - wx / most, p[1] = y->p - wy / most;
    const double size = hypot(p[0], p[1]);
    if (size > bound) p[0] *= bound / size, p[1] *= bound / size;
  }
  plain_set(x, p[0]);
  plain_set(y, p[1]);
  return slides;
}

/* v in the world, and what a body weighs there.  The plane is z = 0, with one turn about z. */
static void plain_start(const perp_model *model, const double *q, const double *v)
{
  const int dim = perp_model_dim(model);
  memset(plain, 0, sizeof plain);
  for (int i = 0; i < perp_model_bodies(model); i++) {
    plain_body *b = &plain[i + 1];
    const perp_mass *mass = &perp_model_body(model, i)->mass;
    perp_pose pose;
    perp_pose_of(dim, q + (dim == 3 ? 7 : 3) * i, &pose);
    memcpy(b->x, pose.x, (size_t)dim * sizeof *b->x);
    b->mass = mass->mass;
    memcpy(b->v, v + 3 * (dim - 1) * i, (size_t)dim * sizeof *v);
    b->v[dim - 1] -= H * 9.81;
    if (dim == 2) {
      b->R[0] = b->R[4] = b->R[8] = 1;
      b->v[5] = v[3 * i + 2];
      b->I[8] = 1 / mass->inertia[8];
      continue;
    }
    memcpy(b->R, pose.R, sizeof b->R);
    perp_turn(3, pose.R, v + 6 * i + 3, b->v + 3);
    for (int k = 0; k < 3; k++) /* bricks: principal axes */
      for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
          b->I[r + 3 * c] += pose.R[r + 3 * k] * pose.R[c + 3 * k] / mass->inertia[4 * k];
  }
}

/* Row of a contact along d */
static plain_row plain_make(const perp_contact *contact, const double d[3])
{
  plain_row row = { .bias = 0 };
  double middle[3], arm[3];
  perp_contact_middle(contact, middle);
  for (int side = 0; side < 2; side++) {
    row.body[side] = contact->body[side] + 1;
    const plain_body *b = &plain[row.body[side]];
    if (row.body[side] == 0) continue;
    for (int k = 0; k < 3; k++) {
      arm[k] = middle[k] - b->x[k];
      row.J[side][k] = side == 0 ? -d[k] : d[k];
    }
    perp_cross(arm, row.J[side], row.J[side] + 3);
  }
  return row;
}

static int plain_end(const perp_contact *contact, int n, int i)
{
  const perp_contact *first = &contact[i];
  while (i < n && perp_contact_pair(contact[i].id) == perp_contact_pair(first->id) &&
         memcmp(contact[i].n, first->n, sizeof first->n) == 0)
    i++;
  return i;
}

/* order [n]: the first contacts of the pairs as they are swept.  By colours: each pair has the
 * first colour that none before on its bodies has, and pairs of a colour may come in any order. */
static int plain_order(const perp_contact *contact, int n, bool coloured, int *order)
{
  static bool used[BODIES + 1][COLOURS];
  int pairs = 0, colour[8 * BODIES];
  memset(used, 0, sizeof used);
  for (int i = 0; i < n; i = plain_end(contact, n, i)) {
    const int a = contact[i].body[0] + 1, b = contact[i].body[1] + 1;
    int k = 0;
    while (coloured && k < COLOURS - 1 && ((a > 0 && used[a][k]) || (b > 0 && used[b][k]))) k++;
    used[a][k] = used[b][k] = true;
    colour[pairs] = k;
    order[pairs++] = i;
  }
  for (int i = 1; i < pairs; i++) /* the last of a colour first */
    for (int j = i; j > 0 && (colour[j] < colour[j - 1] ||
                              (coloured && colour[j] == colour[j - 1] && colour[j] < COLOURS - 1));
         j--) {
      const int at = order[j], c = colour[j];
      order[j] = order[j - 1], colour[j] = colour[j - 1];
      order[j - 1] = at, colour[j - 1] = c;
    }
  return pairs;
}

/* q of the scene, in space turned about the vertical, with overlaps that differ; v slides and turns
 * about the vertical, so that there is no gyroscopic torque */
static void state_of(const perp_model *model, double speed, double *q, double *v)
{
  const int dim = perp_model_dim(model), nq = dim == 3 ? 7 : 3, nv = 3 * (dim - 1);
  const double turn[4] = { cos(0.2), 0, 0, sin(0.2) };
  double R[9];
  perp_quat_matrix(turn, R);
  for (int i = 0; i < perp_model_bodies(model); i++) {
    const double *from = perp_model_q0(model) + nq * i;
    memcpy(q + nq * i, from, (size_t)nq * sizeof *q);
    if (dim == 3) perp_turn(3, R, from, q + nq * i);
    if (dim == 3) perp_quat_product(turn, from + 3, q + nq * i + 3);
    q[nq * i + dim - 1] -= 0.0004 * i;
    for (int k = 0; k < dim; k++)
      v[nv * i + k] = speed * sin(1 + 3 * i + k) * (k < dim - 1 ? 1 : 0.1);
    v[nv * i + nv - 1] = speed * cos(2 + 5 * i);
  }
}

static int open; /* contacts that do not press, of all scenes */

/* One step of a scene: largest difference of an impulse and of a velocity */
static void compare(const char *text, perp_model *model, double speed, bool coloured)
{
  const int bodies = perp_model_bodies(model), dim = perp_model_dim(model);
  double q[7 * BODIES], v[6 * BODIES] = { 0 }, t;
  const double *at, *rate;
  state_of(model, speed, q, v);
  const char *formulation = coloured ? "si-baumgarte:iterations=7,order=coloured"
                                     : "si-baumgarte:iterations=7";
  perp_sim *sim = run_start(&ctx, model, (run_parts){ formulation }, H);
  perp_step_info info;
  if (perp_sim_restart(&ctx, sim, 0, q, v) != PERP_OK ||
      perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
    bail("%s", ctx.msg);
  perp_sim_state(sim, &t, &at, &rate);

  plain_start(model, q, v);
  const int n = info.n_contacts;
  plain_row(*row)[3] = calloc((size_t)n, sizeof *row);
  double *mu = calloc((size_t)n, sizeof *mu);
  int *order = calloc((size_t)n, sizeof *order), slid = 0, stuck = 0;
  if (row == NULL || mu == NULL || order == NULL || n > 8 * BODIES) bail("no memory");
  const int pairs = plain_order(info.contacts, n, coloured, order);
  for (int i = 0; i < n; i++) {
    const perp_contact *contact = &info.contacts[i];
    const double *normal = contact->n;
    const double axis[3] = { dim == 3 && fabs(normal[0]) < 0.5, dim == 3 && fabs(normal[0]) >= 0.5,
                             dim == 2 };
    double x[3], y[3];
    perp_cross(normal, axis, x);
    const double size = sqrt(perp_dot(3, x, x));
    for (int k = 0; k < 3; k++) x[k] /= size;
    perp_cross(normal, x, y);
    row[i][0] = plain_make(contact, normal);
    row[i][1] = plain_make(contact, x);
    row[i][2] = plain_make(contact, y);
    row[i][0].bias = contact->gap > 0 ? contact->gap / H : 0.2 * fmin(0, contact->gap + 0.005) / H;
    mu[i] = hypot(plain_speed(&row[i][1]), plain_speed(&row[i][2])) > 1e-5 ? contact->mu_dynamic
                                                                           : contact->mu;
  }
  for (int sweep = 0; sweep < SWEEPS; sweep++)
    for (int pair = 0; pair < pairs; pair++) {
      const int i = order[pair], end = plain_end(info.contacts, n, i);
      for (int k = i; k < end; k++) plain_normal(&row[k][0]);
      for (int k = i; k < end; k++) {
        const bool slides = plain_friction(&row[k][1], &row[k][2], mu[k] * row[k][0].p);
        if (sweep + 1 < SWEEPS) continue;
        open += row[k][0].p == 0;
        slid += slides && row[k][0].p > 0;
        stuck += !slides;
      }
    }
  double impulse = 0, velocity = 0, largest = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 3; k++) {
      double p = 0;
      for (int d = 0; d < 3; d++) p += row[i][d].p * row[i][d].J[1][k];
      if (info.contacts[i].body[1] < 0)
        for (int d = 0; d < 3; d++) p -= row[i][d].p * row[i][d].J[0][k];
      largest = fmax(largest, fabs(p));
      impulse = fmax(impulse, fabs(p - info.impulse[3 * i + k]));
    }
  for (int i = 0; i < bodies; i++) {
    double w[3];
    perp_turn_back(3, plain[i + 1].R, plain[i + 1].v + 3, w);
    for (int k = 0; k < dim; k++)
      velocity = fmax(velocity, fabs(rate[3 * (dim - 1) * i + k] - plain[i + 1].v[k]));
    for (int k = dim == 3 ? 0 : 2; k < 3; k++)
      velocity = fmax(velocity, fabs(rate[3 * (dim - 1) * i + (dim == 3 ? 3 + k : 2)] - w[k]));
  }
  ok(impulse < 1e-12 * largest && velocity < 1e-12 * (1 + speed),
     "%s, %s: impulses off by %.1e of %.1e N s, velocities by %.1e", text, formulation, impulse,
     largest, velocity);
  ok(slid > 0 && stuck > 0, "%s: of %d contacts %d slide, %d stick", text, n, slid, stuck);
  free(row);
  free(mu);
  free(order);
  perp_sim_destroy(sim);
}

static void compare_scene(const char *text, double speed, bool coloured)
{
  perp_scene scene = run_open(&ctx, text);
  compare(text, scene.model, speed, coloured);
  perp_scene_destroy(&scene);
}

/* More balls on a tray than there are colours */
static void compare_tray(bool coloured)
{
  enum { SIDE = 9 };
  const double size = 5, radius = 0.2;
  perp_model *model = run_model(&ctx, 3);
  perp_shape_def tray = { .kind = PERP_SHAPE_BOX, .half = { size, size, 0.1 } };
  perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE, .radius = radius };
  tray.surface.mu = tray.surface.mu_dynamic = ball.surface.mu = ball.surface.mu_dynamic = 0.8;
  tray.body = run_body(&ctx, model,
                       (perp_body_def){ .mass = perp_mass_box(3, 2 * size, 2 * size, 0.2) });
  if (perp_model_add_shape(&ctx, model, &tray, NULL) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < SIDE * SIDE; i++) {
    perp_body_def def = { .mass = perp_mass_sphere(1, radius) };
    const double at[3] = { i % SIDE - SIDE / 2, i / SIDE - SIDE / 2, 0.1 + radius + 0.0002 * i };
    memcpy(def.x, at, sizeof at);
    ball.body = run_body(&ctx, model, def);
    if (perp_model_add_shape(&ctx, model, &ball, NULL) != PERP_OK) bail("%s", ctx.msg);
  }
  run_finish(&ctx, model);
  compare("81 balls on a tray", model, 0.05, coloured);
  perp_model_destroy(model);
}

int main(void)
{
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (int coloured = 0; coloured < 2; coloured++) {
    compare_scene("wall:rows=4,columns=3,mu=0.3", 0.3, coloured);
    compare_scene("stack:boxes=5", 0.1, coloured);
    compare_scene("pyramid:rows=4", 0.05, coloured);
    compare_scene("wall:rows=4,columns=3,mu=0.3,dim=2", 0.3, coloured);
    compare_tray(coloured);
  }
  ok(open > 0, "%d contacts do not press", open);
  return tap_done();
}
