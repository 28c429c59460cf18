/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sweeps of si-baumgarte over contacts, against Gauss-Seidel written row by row from the formulas
 * of scheme.h: rows in the world with any tangents, every velocity changed at once.  Between the
 * two are rounding errors alone, as friction does not depend on the tangents. */
#include "models/collision/collision.h"
#include "models/geometry/kinematics.h"
#include "tests/run_model.h"

static perp_ctx ctx;

enum { BODIES = 64, SWEEPS = 7 };
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
static void compare(const char *text, double speed)
{
  perp_scene scene = run_open(&ctx, text);
  const perp_model *model = scene.model;
  const int bodies = perp_model_bodies(model), dim = perp_model_dim(model);
  double q[7 * BODIES], v[6 * BODIES] = { 0 }, t;
  const double *at, *rate;
  state_of(model, speed, q, v);
  perp_sim *sim = run_start(&ctx, scene.model, (run_parts){ "si-baumgarte:iterations=7" }, H);
  perp_step_info info;
  if (perp_sim_restart(&ctx, sim, 0, q, v) != PERP_OK ||
      perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
    bail("%s", ctx.msg);
  perp_sim_state(sim, &t, &at, &rate);

  plain_start(model, q, v);
  const int n = info.n_contacts;
  plain_row(*row)[3] = calloc((size_t)n, sizeof *row);
  double *mu = calloc((size_t)n, sizeof *mu);
  int slid = 0, stuck = 0;
  if (row == NULL || mu == NULL) bail("no memory");
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
    for (int i = 0, end; i < n; i = end) {
      end = plain_end(info.contacts, n, i);
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
     "%s: impulses off by %.1e of %.1e N s, velocities by %.1e", text, impulse, largest, velocity);
  ok(slid > 0 && stuck > 0, "%s: of %d contacts %d slide, %d stick", text, n, slid, stuck);
  free(row);
  free(mu);
  perp_sim_destroy(sim);
  perp_scene_destroy(&scene);
}

int main(void)
{
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  compare("wall:rows=4,columns=3,mu=0.3", 0.3);
  compare("stack:boxes=5", 0.1);
  compare("pyramid:rows=4", 0.02);
  compare("wall:rows=4,columns=3,mu=0.3,dim=2", 0.3);
  ok(open > 0, "%d contacts do not press", open);
  return tap_done();
}
